import Foundation

/// A line that a program printed as a JSON object.
struct Event: @unchecked Sendable, CustomStringConvertible {
    private let object: [String: Any]
    let description: String

    init(_ line: String) throws {
        guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
            throw Malformed(line: line)
        }
        (self.object, description) = (object, line)
    }

    struct Malformed: Error {
        let line: String
    }

    /// All that it says, to be compared.
    var values: NSDictionary { NSDictionary(dictionary: object) }

    /// What kind of event it is.
    var name: String? { text("event") }

    var keys: Set<String> { Set(object.keys) }

    func text(_ key: String) -> String? { object[key] as? String }

    func texts(_ key: String) -> [String: String]? { object[key] as? [String: String] }

    func list(_ key: String) -> [String]? { object[key] as? [String] }

    func number(_ key: String) -> Double? { object[key] as? Double }

    subscript(key: String) -> Int? { object[key] as? Int }
}

extension Event: Equatable {
    static func == (one: Event, other: Event) -> Bool { one.values == other.values }
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
