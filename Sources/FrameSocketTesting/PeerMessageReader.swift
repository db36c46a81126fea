internal import FrameTransport

/// Reads the messages that a program writes, from a peer's socket, for one task at a time.
public actor PeerMessageReader {
    /// The longest header that it waits for the end of.
    private static let maximumHeaderBytes = 1 << 16

    private let socket: PeerSocket
    private var bytes: [UInt8] = []

    /// Creates a reader of everything that arrives at `socket` from now on.
    public init(_ socket: PeerSocket) {
        self.socket = socket
    }

    /// Returns the next message, or nil if the program ends between two messages.
    ///
    /// - Throws: `ended` if the program ends within a message; `malformed` if what it writes is not a message.
    public func next() async throws(PeerError) -> PeerMessage? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let start = bytes.firstRange(of: end)?.upperBound { return try await message(from: start) }
            guard bytes.count <= Self.maximumHeaderBytes else {
                throw PeerError(.malformed, "no empty line ends the header within \(bytes.count) bytes")
            }
            guard try await readMore() else {
                if bytes.isEmpty { return nil }
                throw PeerError(.ended, "the program ended after \(bytes.count) bytes of a header")
            }
        }
    }

    private func message(from start: Int) async throws(PeerError) -> PeerMessage {
        let bare = PeerMessage(header: String(decoding: bytes[..<start], as: UTF8.self))
        let stated = bare.field("Content-Length")
        guard let length = stated.map({ Int($0) }) ?? 0, length >= 0, length <= Int.max - start else {
            throw PeerError(.malformed, "invalid Content-Length '\(stated ?? "")' in the header")
        }
        while bytes.count - start < length {
            guard try await readMore() else {
                throw PeerError(.ended, "the program ended after \(bytes.count - start) of \(length) bytes of a body")
            }
        }
        let message = PeerMessage(header: bare.header, body: Array(bytes[start..<start + length]))
        bytes.removeFirst(start + length)
        return message
    }

    /// Returns the next message that meets a condition, or nil if the program ends first.
    public func next(where condition: @Sendable (PeerMessage) -> Bool) async throws(PeerError) -> PeerMessage? {
        while let message = try await next() { if condition(message) { return message } }
        return nil
    }

    /// Returns the next frame, or nil if the program ends first.
    public func nextFrame() async throws(PeerError) -> PeerMessage? {
        try await next { $0.isFrame }
    }

    /// Returns the messages before the answer to a ping, or all of them if the program ends first.
    public func messages(beforePong number: UInt64) async throws(PeerError) -> [PeerMessage] {
        var messages: [PeerMessage] = []
        while let message = try await next(), message.pong != number { messages.append(message) }
        return messages
    }

    /// Returns all messages up to the program's end.
    public func rest() async throws(PeerError) -> [PeerMessage] {
        var messages: [PeerMessage] = []
        while let message = try await next() { messages.append(message) }
        return messages
    }

    /// Returns the next `count` bytes, or fewer if the program ends first; whatever follows them is left in the
    /// socket.
    public func bytes(_ count: Int) async throws(PeerError) -> [UInt8] {
        let count = max(0, count)
        while bytes.count < count { guard try await readMore(upTo: count - bytes.count) else { break } }
        let read = Array(bytes.prefix(count))
        bytes.removeFirst(read.count)
        return read
    }

    private func readMore(upTo limit: Int = .max) async throws(PeerError) -> Bool {
        let more: [UInt8]
        do {
            more = try await socket.readSome(upTo: min(limit, 1 << 16))
        } catch {
            // How an end looks that left bytes unread.
            guard error.underlyingErrno == Errno.reset.rawValue else { throw error }
            return false
        }
        bytes += more
        return !more.isEmpty
    }
}
