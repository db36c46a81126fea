import FrameSocket

/// Watches whether a server reads what is sent to it.
struct StallWatch {
    /// How long a server may leave everything in the socket unread.
    static let limit: Duration = .seconds(10)

    private var backlog: SendBacklog?
    private var lastChange = ContinuousClock.now

    /// Returns whether nothing has been read for too long.
    mutating func isStalled(at backlog: SendBacklog?) -> Bool {
        if backlog != self.backlog { (self.backlog, lastChange) = (backlog, .now) }
        return ContinuousClock.now - lastChange >= Self.limit
    }

    /// The failure of a command whose server does not read.
    static func failure(at endpoint: SocketEndpoint) -> CommandFailure {
        CommandFailure(.timedOut, "\(endpoint): the server does not read what is sent")
    }
}
