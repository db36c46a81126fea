/// What both ends show each other before the first frame.
///
/// The sender writes its token's bytes, the server answers with its own; each side reads exactly as many bytes as it
/// expects, and compares them all, whatever the first of them are. A sender with a wrong token gets no answer. Frames that
/// are handed in before both have agreed are dropped.
public struct HandshakeTokens: Sendable, Hashable {
    /// The most bytes that a token may have.
    public static let maximumByteCount = 1024

    /// What this side shows: 1 to 1,024 bytes.
    public var own: [UInt8]

    /// What the other side has to show: 1 to 1,024 bytes.
    public var expected: [UInt8]

    /// Two tokens, one for each side.
    public init(own: [UInt8], expected: [UInt8]) {
        self.own = own
        self.expected = expected
    }

    /// One token, which both sides show.
    public init(shared token: [UInt8]) {
        self.init(own: token, expected: token)
    }

    /// Checks both lengths.
    ///
    /// - Throws: `invalidToken`.
    func check() throws(TransportError) {
        let range = 1...Self.maximumByteCount
        guard range ~= own.count, range ~= expected.count else {
            throw TransportError(
                .invalidToken,
                "a token has 1 to \(Self.maximumByteCount) bytes, and these have \(own.count) and \(expected.count)"
            )
        }
    }
}

extension HandshakeTokens {
    /// Writes this side's token, which a new connection always has room for.
    func show(to socket: Int32) throws(TransportError) {
        var own = own
        let nothing = unsafe MemoryRun(start: nil, count: 0)
        let sent = unsafe own.withUnsafeMutableBytes { own in
            Result { () throws(Errno) in try unsafe Syscalls.send(to: socket, own, nothing, nothing) }
        }
        do throws(Errno) {
            guard case .bytes(own.count, _) = try sent.get() else { throw Errno.again }
        } catch {
            throw .lost(error)
        }
    }
}

/// Takes the other side's token, byte for byte, and compares it in a time that does not tell how much of it is right.
package struct TokenReader: Sendable {
    private let expected: [UInt8]
    private var count = 0
    private var difference: UInt8 = 0

    /// How a message begins.
    private static let messageStart = Array("HTTP/1.1".utf8)
    private var beginsAsMessage = true

    /// Whether a message has come in place of a token: its sender knows of none.
    package var hasMessage: Bool { beginsAsMessage && count >= 4 }

    package init(expecting expected: [UInt8]) {
        self.expected = expected
    }

    /// How many bytes are still to come.
    ///
    /// No more than these must be read: the next ones are a frame's.
    package var remaining: Int { expected.count - count }

    /// Whether what has come is the token.
    ///
    /// Only to be asked when all of it has come.
    package var isRight: Bool { remaining == 0 && difference == 0 }

    /// Takes bytes, at most ``remaining``.
    package mutating func take(_ bytes: UnsafeRawBufferPointer) {
        for index in 0..<min(bytes.count, remaining) {
            unsafe take(bytes[index])
        }
    }

    /// Takes bytes, at most ``remaining``.
    package mutating func take(_ bytes: Span<UInt8>) {
        for index in 0..<min(bytes.count, remaining) {
            take(bytes[index])
        }
    }

    private mutating func take(_ byte: UInt8) {
        difference |= byte ^ expected[count]
        if count < Self.messageStart.count, byte != Self.messageStart[count] { beginsAsMessage = false }
        count += 1
    }
}
