/// The address at which a server listens and to which a sender connects.
public enum SocketEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// A Unix-domain socket at a path.
    case path(String)

    /// A TCP port on the loopback address 127.0.0.1, with `TCP_NODELAY`.
    ///
    /// Any user of the machine may connect to it, so both ends must have ``HandshakeTokens``. A server that listens at
    /// port 0 gets a free port.
    case loopback(port: UInt16)

    /// The path, or address and port.
    public var description: String {
        switch self {
        case .path(let path): path
        case .loopback(let port): "127.0.0.1:\(port)"
        }
    }

    /// Checks that required tokens are present and valid.
    ///
    /// - Throws: `tokenRequired` or `invalidToken`.
    func check(_ tokens: HandshakeTokens?) throws(TransportError) {
        if let tokens { return try tokens.check() }
        guard case .loopback = self else { return }
        throw TransportError(
            .tokenRequired,
            path: description,
            "any user of this machine can connect to a port; set tokens at both ends"
        )
    }
}
