import FrameSocket
import Locking

/// The connection of a sending command, made again for as long as the server turns it away.
///
/// A server without a free slot, or one that does not admit this user, accepts a connection and closes it without
/// reading a byte, and cannot say why. The first frame is therefore sent again, over a new connection, until a server
/// has started reading it.
final class ServerLink: Sendable {
    private struct State {
        var connection: SocketConnection?
        var start: ContinuousClock.Instant?
        var pauses = Backoff(first: .milliseconds(50), longest: .milliseconds(500))
        var isAdmitted = false
        var isClosed = false
    }

    let endpoint: SocketEndpoint
    private let settings: SocketConnection.Configuration
    private let wait: Double
    private let state = Locked(State())

    /// Creates a link, which does nothing until it is opened.
    ///
    /// - Parameters:
    ///   - endpoint: Where the server listens.
    ///   - wait: For how many seconds to look for a server that has a place.
    ///   - settings: How to connect; whether to reopen is ignored.
    init(to endpoint: SocketEndpoint, wait: Double, _ settings: SocketConnection.Configuration) {
        self.endpoint = endpoint
        self.wait = wait
        var settings = settings
        settings.reopens = false
        settings.sendTimeout = TimeLimit.of(settings.sendTimeout)
        self.settings = settings
    }

    /// Checks that no other file is where the server's socket should be.
    ///
    /// A path that does not exist is waited for, but no server replaces such a file.
    static func checkIsSocket(_ endpoint: SocketEndpoint) throws(CommandFailure) {
        guard case .path(let path) = endpoint, let status = Files.status(of: path), status.kind != S_IFSOCK else {
            return
        }
        throw CommandFailure(
            .cannotCreate,
            "\(path): the file at this path is not a socket; name the path of a server, and then the file to send"
        )
    }

    /// Connects to a server, within the remaining time.
    func open() async throws(CommandFailure) -> SocketConnection {
        let connection = SocketConnection(to: endpoint, configuration: settings)
        let (isClosed, start) = state.withLock { state in
            let start = state.start ?? .now
            (state.start, state.connection) = (start, connection)
            return (state.isClosed, start)
        }
        if isClosed { connection.close() }
        do throws(TransportError) {
            try await connection.open(within: .seconds(min(wait, 1e9)), since: start)
            return connection
        } catch {
            let hint = error.code == .tokenRejected ? "; does --token-file name the same token at both ends?" : ""
            throw CommandFailure(ExitCode(error), error.description + hint)
        }
    }

    /// Closes the connection, and makes no other.
    func close() async {
        let connection = state.withLock { state in
            state.isClosed = true
            return state.connection
        }
        connection?.close()
        _ = try? await connection?.closed()
    }

    // MARK: Whether the server reads

    /// Whether a server has started reading.
    var isAdmitted: Bool { state.withLock { $0.isAdmitted } }

    /// Waits until the server has started reading what was sent first.
    ///
    /// - Parameters:
    ///   - connection: The connection that was opened last.
    ///   - isSent: Whether the system has accepted a whole frame.
    /// - Returns: Whether it has; if not, it has turned this side away, and there is time for another attempt.
    /// - Throws: A failure if there is no time left, or if the connection has failed.
    func isAdmitted(_ connection: SocketConnection, isSent: Bool) async throws(CommandFailure) -> Bool {
        if isAdmitted { return true }
        let hasRead: Bool
        do {
            hasRead = try await connection.hasBegunReading()
        } catch {
            // A command that is cancelled makes no further attempt.
            guard error.code == .cancelled else { throw failure(error) }
            hasRead = true
        }
        try checkEnd(of: connection)
        // An orderly end after a whole frame: if the frame had not been read, the end would be a reset.
        let isOrderly = connection.closeReason.map { $0.error == nil } ?? false
        if try await hasStopped(connection) || hasRead || (isOrderly && isSent) {
            state.withLock { $0.isAdmitted = true }
            return true
        }
        if let error = connection.closeReason?.error, error.code != .connectionLost { throw failure(error) }
        try await pause()
        return false
    }

    /// Gives the next attempts the whole time to wait, since the server ended a connection before there was anything to send.
    ///
    /// - Throws: A failure if it has ended it for a reason that holds for every other.
    func startOver(after connection: SocketConnection) throws(CommandFailure) {
        try checkEnd(of: connection)
        if let error = connection.closeReason?.error, error.code != .connectionLost { throw failure(error) }
        state.withLock { $0.start = .now }
    }

    /// Waits until the server has read everything, or has ended.
    ///
    /// - Throws: A failure if it has lost any of it.
    func deliver(_ connection: SocketConnection) async throws(CommandFailure) {
        do {
            try await connection.delivered()
        } catch {
            // An interrupt cancels the command, or closes the connection.
            guard error.code != .cancelled, error.code != .closed else { return }
            try checkEnd(of: connection)
            throw failure(error)
        }
        if try await hasStopped(connection) || connection.isOpen { return }
        _ = try? await connection.closed()
        try checkEnd(of: connection)
        if let error = connection.closeReason?.error { throw failure(error) }
    }

    /// Whether the server has asked this side to stop: it has what it wanted.
    ///
    /// - Throws: A failure if it has asked because another sender has this one's place.
    func hasStopped(_ connection: SocketConnection) async throws(CommandFailure) -> Bool {
        guard connection.wasAskedToStop else { return false }
        _ = try? await connection.closed()
        try checkEnd(of: connection)
        return true
    }

    /// Checks that the server has not reported something that kept it from accepting frames.
    ///
    /// - Throws: A failure that says what it was, and how to fix it.
    func checkEnd(of connection: SocketConnection) throws(CommandFailure) {
        guard case .closedByPeer(let reason)? = connection.closeReason else { return }
        switch reason {
        case .stoppedByUser, .requestedByHost, .callEnded, .suspended:
            return
        case .superseded:
            throw failure("the server has taken another sender instead; end that one, or send to another path")
        case .tokenRejected:
            throw failure("\(reason) It expects a token; name its file with --token-file.")
        case .versionMismatch:
            let own = ControlRequest.Hello.currentVersion
            let other = connection.receiver.hello.map { "supports version \($0.version), and " } ?? ""
            throw failure(
                "\(reason) The receiver \(other)accepts no sender with version \(own) of the control channel, the highest "
                    + "that this program supports; update the sender"
            )
        case .disconnected, .noHost, .error:
            throw failure("\(reason)")
        }
    }

    /// Waits before the next attempt.
    ///
    /// - Throws: A failure if there is no time for one.
    private func pause() async throws(CommandFailure) {
        let next: Duration? = state.withLock { state in
            let pause = state.pauses.next()
            let isOver = state.start.map { .now - $0 + pause >= .seconds(min(wait, 1e9)) } ?? true
            return isOver || state.isClosed ? nil : pause
        }
        guard let next else {
            // The server closes every connection at once.
            throw failure(
                "for \(Format.seconds(wait)) the server closed every connection before accepting a frame; it has no free "
                    + "slot (wait longer with --wait), does not admit this user, or rejects the frame"
            )
        }
        try? await Task.sleep(for: next)
    }

    private func failure(_ message: String) -> CommandFailure {
        CommandFailure(.unavailable, "\(endpoint): \(message)")
    }

    /// The failure of a command whose connection has ended with `error`.
    func failure(_ error: TransportError) -> CommandFailure {
        // Some errors name the path themselves.
        CommandFailure(ExitCode(error), error.path == nil ? "\(endpoint): \(error)" : error.description)
    }
}
