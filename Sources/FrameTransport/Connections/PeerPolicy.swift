/// Which users may be the peer of a socket at a path.
///
/// The kernel identifies the peer: for a server, the user that connected; for a sender, the user that started to
/// listen. A peer that the kernel cannot identify is refused. The kernel identifies no peers of a port on the loopback
/// address; ``HandshakeTokens`` replace the policy there.
public struct PeerPolicy: Sendable, Hashable {
    /// The users; nil for the effective user of this process and root.
    private let userIDs: Set<UInt32>?

    /// The effective user of this process, and root.
    public static let sameUserOrRoot = PeerPolicy(userIDs: nil)

    /// Allows only these users; root only if it is among them.
    ///
    /// A server's socket still has mode 0600, and a user that the file's mode keeps out never gets as far as this
    /// check.
    public static func users(_ userIDs: Set<UInt32>) -> PeerPolicy {
        PeerPolicy(userIDs: userIDs)
    }

    /// Returns the peer of a socket at `path`.
    ///
    /// - Throws: `peerRefused` if it is another user or cannot be identified.
    @discardableResult
    package func admit(_ socket: Int32, at path: String) throws(TransportError) -> PeerPolicy.Credentials {
        let peer: PeerPolicy.Credentials
        do {
            peer = try Syscalls.peer(of: socket)
        } catch {
            throw TransportError(
                .peerRefused,
                path: path,
                underlyingErrno: error.rawValue,
                "the system does not report who owns the other end"
            )
        }
        let admitted = userIDs ?? [Syscalls.effectiveUserID, 0]
        guard admitted.contains(peer.userID) else {
            let names = admitted.sorted().map(String.init).joined(separator: " or ")
            throw TransportError(
                .peerRefused,
                path: path,
                "the other end belongs to user \(peer.userID), but only \(names) may own it",
                remedy: "run both ends as the same user, or check the path"
            )
        }
        return peer
    }
}

extension PeerPolicy {
    /// The identity of a connection's peer, as recorded by the kernel when the connection was made.
    ///
    /// For TCP the kernel records none; tokens replace credentials there.
    public struct Credentials: Sendable, Hashable {
        /// The peer's process ID.
        ///
        /// The process may have ended since, and its ID may have been reused. It is 0 if the system knows none: that of another
        /// PID namespace, or, on Apple systems, one that had left before it was accepted.
        public let processID: Int32

        /// The peer's effective user ID.
        public let userID: UInt32

        /// The peer's effective group ID.
        package let groupID: UInt32
    }
}

/// The tokens that both ends exchange before the first frame.
///
/// The sender writes its token, and the server answers with its own. Each side reads exactly as many bytes as it
/// expects and compares every one of them, in constant time. A sender with a wrong token gets no answer. No
/// frame is sent before the exchange is complete; a `SampleUploader` keeps the latest one until then.
public struct HandshakeTokens: Sendable, Hashable {
    /// The maximum length of a token in bytes.
    public static let maximumByteCount = 1024

    /// The token that this side sends: 1 to 1,024 bytes.
    public var own: [UInt8]

    /// The token that the other side must send: 1 to 1,024 bytes.
    public var expected: [UInt8]

    /// Creates a pair of different tokens.
    public init(own: [UInt8], expected: [UInt8]) {
        self.own = own
        self.expected = expected
    }

    /// Creates a pair of equal tokens.
    public init(shared token: [UInt8]) {
        self.init(own: token, expected: token)
    }

    /// Checks the length of both tokens.
    ///
    /// - Throws: `invalidToken`.
    func check() throws(TransportError) {
        let range = 1...Self.maximumByteCount
        guard range ~= own.count, range ~= expected.count else {
            throw TransportError(
                .invalidToken,
                "tokens must have 1 to \(Self.maximumByteCount) bytes; these have \(own.count) and \(expected.count)"
            )
        }
    }
}

/// Reads the other side's token and compares it in constant time.
package struct TokenReader: Sendable {
    private let expected: [UInt8]
    private var count = 0
    private var difference: UInt8 = 0

    /// The first bytes of a message.
    private static let messageStart = Array("HTTP/1.1".utf8)
    private var beginsAsMessage = true

    /// Whether a message has arrived instead of a token: its sender uses none.
    package var hasMessage: Bool { beginsAsMessage && count >= 4 }

    package init(expecting expected: [UInt8]) {
        self.expected = expected
    }

    /// The number of bytes still to read.
    ///
    /// Read no more than these: the bytes after them belong to a frame.
    package var remaining: Int { expected.count - count }

    /// Whether the received bytes are the token.
    ///
    /// Meaningful only once every byte has been received.
    package var isRight: Bool { remaining == 0 && difference == 0 }

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
