import FrameSocket

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
    /// Those that were there.
    private var given: Set<String> = []

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
        if words.count < count { given.formUnion(names) }
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
        if !values.isEmpty { given.insert(name) }
        return values
    }

    /// Whether any of these options, which have been taken, was given.
    func has(_ names: [String]) -> Bool { !given.isDisjoint(with: names) }

    /// Checks that at most one of these options was given.
    func exclude(_ names: String..., because reason: String? = nil) throws(UsageError) {
        guard given.intersection(names).count > 1, let last = names.last else { return }
        let list = names.dropLast().joined(separator: ", ") + " and " + last
        throw UsageError(message: "\(list) are mutually exclusive\(reason.map { ": " + $0 } ?? "")")
    }

    /// Checks that one of the others was given if an option was.
    func require(_ others: String..., for name: String) throws(UsageError) {
        guard given.contains(name), given.isDisjoint(with: others) else { return }
        throw UsageError(message: "\(name) requires \(others.joined(separator: " or "))")
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

extension Arguments {
    /// Takes the options for the tokens that both ends send each other before the first frame.
    ///
    /// - Returns: nil if no option asks for tokens.
    mutating func tokens() throws(UsageError) -> HandshakeTokenFiles? {
        let own = try path("--token-file")
        let peer = try path("--peer-token-file")
        try require("--token-file", for: "--peer-token-file")
        return own.map { HandshakeTokenFiles(own: $0, peer: peer ?? $0) }
    }

    /// Takes the values that this side states about itself.
    mutating func info() throws(UsageError) -> ControlRequest.SessionInfo {
        var info = ControlRequest.SessionInfo()
        for text in try values("--info") {
            guard let end = text.firstIndex(of: "=") else {
                throw UsageError(message: "invalid value '\(text)' for --info: expected KEY=VALUE")
            }
            let key = String(text[..<end])
            guard info[key] == nil else { throw UsageError(message: "--info: the key '\(key)' is given twice") }
            do {
                try info.set(String(text[text.index(after: end)...]), for: key)
            } catch {
                throw UsageError(message: "--info: \(error.detail)")
            }
        }
        return info
    }

    /// Parses where to listen or connect: a path, or `tcp:PORT` for a port of the loopback address.
    static func endpoint(_ text: String) throws(UsageError) -> SocketEndpoint {
        guard text.hasPrefix("tcp:") else { return .path(text) }
        guard let port = UInt16(text.dropFirst(4)) else {
            throw UsageError(message: "invalid endpoint '\(text)': expected a path, or tcp:0 to tcp:65535")
        }
        return .loopback(port: port)
    }

    /// Takes an option whose value is the size of images to be made.
    mutating func box(_ name: String) throws(UsageError) -> BufferSize? {
        let box = try size(name)
        if let box, max(box.width, box.height) > SampleUploader.OutputScale.Box.maximumSide {
            throw UsageError(message: "\(name): at most \(SampleUploader.OutputScale.Box.maximumSide) per side")
        }
        return box
    }

    /// Takes an option whose value is a size such as 1920x1080, with sides in `range`.
    mutating func size(_ name: String, in range: ClosedRange<Int> = 1...(.max)) throws(UsageError) -> BufferSize? {
        let expectation =
            range.upperBound == .max
            ? "a size such as 1920x1080"
            : "a size of \(range.lowerBound) to \(range.upperBound) pixels per side, such as 1920x1080"
        return try value(name, expectation) { text in
            let parts = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
            guard parts.count == 2, let width = parts[0], let height = parts[1],
                range.contains(width), range.contains(height)
            else { return nil }
            return BufferSize(width: width, height: height)
        }
    }
}

/// The files with this side's token and the other's; a line feed at their end is not part of the token.
struct HandshakeTokenFiles {
    static let help = """
          --token-file F   send the contents of F, 4 to 1024 bytes without a line feed
                           at their end, before the first frame, and expect them from
                           the other side; a file that others can read is refused
          --peer-token-file F
                           expect the contents of F instead
        """

    /// The minimum length of a token in bytes.
    ///
    /// By its first four bytes, a server recognizes a message from a sender that uses no token, and can tell it what is
    /// missing. A server with a shorter token closes after it has read that many: to such a sender, that is an orderly end.
    static let minimumByteCount = 4

    let own: String
    let peer: String

    func read() throws(CommandFailure) -> HandshakeTokens {
        HandshakeTokens(own: try Self.token(in: own), expected: try Self.token(in: peer))
    }

    private static func token(in path: String) throws(CommandFailure) -> [UInt8] {
        // Two more than a token may have: a line feed, and one by which an overlong file is recognized.
        var bytes = try Files.secret(in: path, limit: HandshakeTokens.maximumByteCount + 2)
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard bytes.count <= HandshakeTokens.maximumByteCount else {
            throw CommandFailure(
                .badData,
                "\(path): a token has at most \(HandshakeTokens.maximumByteCount) bytes, and this file has more"
            )
        }
        guard bytes.count >= minimumByteCount else {
            throw CommandFailure(
                .badData,
                "\(path): the token has \(Format.count(bytes.count, "byte")); --token-file and --peer-token-file "
                    + "require files with \(minimumByteCount) to \(HandshakeTokens.maximumByteCount) bytes"
            )
        }
        return bytes
    }
}

extension SocketEndpoint {
    /// Checks that memory can be shared there.
    func checkSharesMemory() throws(UsageError) {
        guard case .loopback = self else { return }
        throw UsageError(message: "--shared requires a path: no memory can be shared over tcp:")
    }
}
