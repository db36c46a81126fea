import Foundation

/// A line that a program printed as a JSON object.
struct Event: Sendable, Equatable, CustomStringConvertible {
    enum Value: Sendable, Equatable {
        case number(Int)
        case text(String)
        case fraction(Double)
        case texts([String: String])
        case list([String])
    }

    let values: [String: Value]
    let description: String

    init(_ line: String) throws {
        guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
            throw Malformed(line: line)
        }
        values = try object.mapValues { value in
            if let text = value as? String { return .text(text) }
            if let number = value as? Int { return .number(number) }
            if let number = value as? Double { return .fraction(number) }
            if let list = value as? [String] { return .list(list) }
            guard let texts = value as? [String: String] else { throw Malformed(line: line) }
            return .texts(texts)
        }
        description = line
    }

    struct Malformed: Error {
        let line: String
    }

    /// What kind of event it is.
    var name: String? { text("event") }

    var keys: Set<String> { Set(values.keys) }

    func text(_ key: String) -> String? {
        if case .text(let text) = values[key] { text } else { nil }
    }

    func texts(_ key: String) -> [String: String]? {
        if case .texts(let texts) = values[key] { texts } else { nil }
    }

    subscript(key: String) -> Int? {
        if case .number(let number) = values[key] { number } else { nil }
    }
}

extension Ending {
    /// What was printed, as events.
    var events: [Event] {
        get throws { try lines.map { try Event($0) } }
    }

    /// The events of one kind.
    func events(_ name: String) throws -> [Event] {
        try events.filter { $0.name == name }
    }
}

extension Event.Value: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    init(integerLiteral value: Int) { self = .number(value) }
    init(stringLiteral value: String) { self = .text(value) }
}
