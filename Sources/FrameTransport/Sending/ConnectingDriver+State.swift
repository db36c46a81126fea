extension ConnectingDriver {
    /// Where a connection stands, as its driver sees it.
    enum State {
        case idle
        /// Between two attempts to connect.
        case waiting
        /// The system makes the connection.
        case connecting(socket: Int32)
        /// The server is to show its token.
        case handshaking(socket: Int32)
        case open(socket: Int32)
        /// Ending in order: the message under way, and the server's own end, are waited for.
        case closing(socket: Int32, reason: CloseReason)
        case closed(CloseReason)

        var published: SocketConnection.State {
            switch self {
            case .idle: .idle
            case .waiting, .connecting: .started
            case .handshaking: .handshaking
            case .open, .closing: .connected
            case .closed(.failed(let error)): .failed(error)
            case .closed: .closed
            }
        }
    }
}
