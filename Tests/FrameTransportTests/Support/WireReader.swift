/// Reads the messages that a sender writes, from a plain socket and by code of its own.
actor WireReader {
    /// A message as it crossed the socket.
    struct Message: Sendable {
        let head: String
        let body: [UInt8]

        /// Returns the value of a field.
        func field(_ name: String) -> String? {
            for line in head.split(separator: "\r\n") where line.hasPrefix(name + ": ") {
                return String(line.dropFirst(name.count + 2))
            }
            return nil
        }

        /// Whether it is a frame, and neither audio nor a status.
        var isFrame: Bool { field("Message-Type") == nil }

        /// The presentation time that it states.
        var timestamp: UInt64? { field("Buffer-Presentation-Time").flatMap { UInt64($0) } }

        /// The number that it states.
        var sequence: UInt64? { field("Buffer-Sequence").flatMap { UInt64($0) } }

        /// The width that it states.
        var width: Int? { field("Buffer-Width").flatMap { Int($0) } }

        /// The number of the ping that it answers.
        var pong: UInt64? { field("Pong-Number").flatMap { UInt64($0) } }

        /// What the sender says that it does.
        var state: String? { field("Sender-State") }
    }

    private struct Cut: Error {}

    private let socket: RawSocket
    private var bytes: [UInt8] = []

    /// Creates a reader of everything that arrives at `socket` from now on.
    init(_ socket: RawSocket) {
        self.socket = socket
    }

    /// Returns the next message, or nil at an end between two messages.
    func next() async throws -> Message? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let start = bytes.firstRange(of: end)?.upperBound {
                let head = String(decoding: bytes[..<start], as: UTF8.self)
                let bare = Message(head: head, body: [])
                let length = bare.field("Content-Length").flatMap { Int($0) } ?? 0
                bytes.removeFirst(start)
                while bytes.count < length { guard try await read() else { throw Cut() } }
                let message = Message(head: head, body: Array(bytes[..<length]))
                bytes.removeFirst(length)
                return message
            }
            guard try await read() else {
                guard bytes.isEmpty else { throw Cut() }
                return nil
            }
        }
    }

    /// Returns the next message that fulfills a condition, or nil if the sender ends first.
    func next(where condition: @Sendable (Message) -> Bool) async throws -> Message? {
        while let message = try await next() { if condition(message) { return message } }
        return nil
    }

    /// Returns the next frame, or nil if the sender ends first.
    func nextFrame() async throws -> Message? {
        try await next { $0.isFrame }
    }

    /// Returns the messages before the answer to a ping, or all of them if the sender ends first.
    func messages(beforePong number: UInt64) async throws -> [Message] {
        var messages: [Message] = []
        while let message = try await next(), message.pong != number { messages.append(message) }
        return messages
    }

    /// Returns all messages up to the sender's end.
    func rest() async throws -> [Message] {
        var messages: [Message] = []
        while let message = try await next() { messages.append(message) }
        return messages
    }

    private func read() async throws -> Bool {
        let more = try await socket.read(1)
        guard !more.isEmpty else { return false }
        bytes += more
        // What else is there comes with it; waiting for it would wait for the next message.
        if !socket.isQuiet { bytes += (try? await socket.readSome(upTo: 1 << 18)) ?? [] }
        return true
    }
}
