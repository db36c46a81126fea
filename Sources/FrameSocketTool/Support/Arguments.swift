/// An error in how a command was typed.
struct UsageError: Error {
    let message: String
}

/// The arguments of a command: options are taken out by name, and the rest are operands.
struct Arguments {
    private var words: [String]
    /// The arguments after `--`, which are operands whatever they begin with.
    private let literal: [String]
    /// The options that have been asked for.
    private var names: [String] = []

    init(_ words: some Sequence<String>) {
        let words = Array(words)
        let end = words.firstIndex(of: "--") ?? words.endIndex
        self.words = Array(words[..<end])
        literal = Array(words[end...].dropFirst())
    }

    /// Takes an option that has no value.
    mutating func flag(_ names: String...) -> Bool {
        self.names += names
        let count = words.count
        words.removeAll { names.contains($0) }
        return words.count < count
    }

    /// Takes an option with its value, written `--name value` or `--name=value`; if it is repeated, the last one
    /// counts.
    mutating func value(_ name: String) throws(UsageError) -> String? { try values(name).last }

    /// Takes an option that may be repeated, with its values.
    mutating func values(_ name: String) throws(UsageError) -> [String] {
        names.append(name)
        var values: [String] = []
        while let index = words.firstIndex(where: { $0 == name || $0.hasPrefix(name + "=") }) {
            if words[index] != name {
                values.append(String(words.remove(at: index).dropFirst(name.count + 1)))
                continue
            }
            guard index + 1 < words.endIndex, !words[index + 1].hasPrefix("--") else {
                throw UsageError(message: "option '\(name)' requires a value")
            }
            values.append(words[index + 1])
            words.removeSubrange(index...(index + 1))
        }
        return values
    }

    /// Takes an option whose value `parse` accepts.
    mutating func value<Value>(
        _ name: String,
        _ expectation: String,
        _ parse: (String) -> Value?
    ) throws(UsageError) -> Value? {
        guard let text = try value(name) else { return nil }
        guard let value = parse(text) else {
            throw UsageError(message: "invalid value '\(text)' for \(name): expected \(expectation)")
        }
        return value
    }

    /// Takes an option whose value is the path of a file or a directory.
    mutating func path(_ name: String) throws(UsageError) -> String? {
        guard let path = try value(name) else { return nil }
        guard !path.isEmpty else { throw UsageError(message: "invalid value '' for \(name): expected a path") }
        return path
    }

    /// Takes an option whose value is a whole number in `range`.
    mutating func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        let expectation =
            range.upperBound == .max
            ? "a whole number from \(range.lowerBound)"
            : "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return try value(name, expectation) { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// The numbers that can be counted in nanoseconds, as seconds and as a rate.
    private static let numbers = 1e-6...1e9

    /// Takes an option whose value is a number of seconds, or any other number that may be a fraction.
    mutating func number(_ name: String, orZero: Bool = false) throws(UsageError) -> Double? {
        try value(name, "a number from \(orZero ? "0" : "0.000001") to 1000000000") { text in
            Double(text).flatMap { Self.numbers.contains($0) || (orZero && $0 == 0) ? $0 : nil }
        }
    }

    /// Returns the operands, once all options have been taken.
    func rest(acceptsEmpty: Bool = false) throws(UsageError) -> [String] {
        if let unknown = words.first(where: { $0.hasPrefix("-") && $0 != "-" }) {
            let name = String(unknown.prefix { $0 != "=" })
            throw UsageError(message: "unknown option '\(unknown)'\(name.suggestion(among: names))")
        }
        let operands = words + literal
        guard acceptsEmpty || !operands.contains("") else {
            throw UsageError(message: "an argument is empty; is a shell variable unset?")
        }
        return operands
    }
}
