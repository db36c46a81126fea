import FrameSocket
import Locking

/// Where a sending command sends to: a connection that is made again whenever there is no receiver, for as long as `--wait` says.
///
/// A server without a free slot, or one that does not admit this user, accepts a connection and closes it without
/// reading a byte, and cannot say why. The first frame of each connection is therefore sent again, over another one, until a
/// server has started reading it.
final class Destination: Sendable {
    /// What has become of a connection over which something was sent.
    enum Standing {
        /// A receiver reads it.
        case accepted
        /// The receiver has asked this side to stop: it has what it wanted.
        case satisfied
        /// It ended before a receiver had read anything.
        case turnedAway
        /// The receiver has gone.
        case lost
    }

    private struct State {
        var connection: SocketConnection?
        /// Since when there has been no receiver.
        var start: ContinuousClock.Instant?
        var pauses = State.firstPauses
        /// Whether the server has started reading.
        var isAdmitted = false
        var isClosed = false

        static let firstPauses = Backoff(first: .milliseconds(50), longest: .milliseconds(500))
    }

    let endpoint: SocketEndpoint
    private let settings: SocketConnection.Configuration
    private let wait: Double
    private let state = Locked(State())

    /// Creates a destination; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - endpoint: Where the server listens.
    ///   - wait: For how many seconds to look for a server that has a place.
    ///   - settings: How to connect; whether to reopen is ignored.
    init(_ endpoint: SocketEndpoint, wait: Double, _ settings: SocketConnection.Configuration) {
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
            (state.start, state.connection, state.isAdmitted) = (start, connection, false)
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

    /// Whether a server has started reading.
    var isAdmitted: Bool { state.withLock { $0.isAdmitted } }

    /// Finds out what has become of a connection, which takes until the server reads or ends it.
    ///
    /// - Parameters:
    ///   - connection: The connection that was opened last.
    ///   - isSent: Whether the system has accepted a whole frame.
    /// - Returns: What has become of it.
    /// - Throws: A failure if there is no time left, or if the connection has failed for good.
    func standing(of connection: SocketConnection, isSent: Bool) async throws(CommandFailure) -> Standing {
        var hasRead = isAdmitted
        if !hasRead {
            do {
                hasRead = try await connection.hasBegunReading()
            } catch {
                // A command that is cancelled makes no further attempt.
                guard error.code == .cancelled else { throw failure(error) }
                hasRead = true
            }
        }
        // Before the request to stop is asked for: an end that is seen here had one already, or has none.
        let reason = connection.closeReason
        if try await hasStopped(connection) { return .satisfied }
        // An orderly end after a whole frame: if the frame had not been read, the end would be a reset.
        if hasRead || (isSent && reason != nil && reason?.error == nil) { state.withLock { $0.isAdmitted = true } }
        if let error = reason?.error, error.code != .connectionLost { throw failure(error) }
        guard isAdmitted else {
            try await pause()
            return .turnedAway
        }
        return reason == nil ? .accepted : .lost
    }

    /// Says that the receiver has gone, and that another one is waited for.
    ///
    /// - Returns: Whether it had read everything.
    /// - Throws: A failure if the end is this side's own, or holds for every other receiver.
    func leave(
        _ connection: SocketConnection,
        after frames: Int,
        _ reporter: Reporter
    ) async throws(CommandFailure) -> Bool {
        guard !state.withLock({ $0.isClosed }) else { throw CommandFailure(.interrupted, "") }
        let isWhole = (try? await connection.delivered()) != nil
        reporter.warn("\(end(after: frames)); waiting for another", code: "receiver.ended")
        try reporter.check()
        try startOver(after: connection)
        return isWhole
    }

    /// A sentence about the end of a connection.
    func end(after frames: Int) -> String {
        "\(endpoint): the receiver ended the connection after \(Format.count(frames, "frame"))"
    }

    /// The failure of a command that could send everything, but not only to receivers that read it.
    var loss: CommandFailure {
        failure("a receiver ended the connection before it had read everything that was sent")
    }

    /// Gives the next attempts the whole time to wait, since there has been a receiver until now.
    ///
    /// - Throws: A failure if it has ended the connection for a reason that holds for every other.
    func startOver(after connection: SocketConnection) throws(CommandFailure) {
        try checkEnd(of: connection)
        if let error = connection.closeReason?.error, error.code != .connectionLost { throw failure(error) }
        state.withLock { ($0.start, $0.pauses) = (.now, State.firstPauses) }
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
    /// - Throws: A failure if it has ended the connection for a reason that holds for every other.
    func hasStopped(_ connection: SocketConnection) async throws(CommandFailure) -> Bool {
        if connection.wasAskedToStop { _ = try? await connection.closed() }
        try checkEnd(of: connection)
        return connection.wasAskedToStop
    }

    /// Checks that the server has not reported something that kept it from accepting frames.
    ///
    /// - Throws: A failure that says what it was, and how to fix it.
    private func checkEnd(of connection: SocketConnection) throws(CommandFailure) {
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
    private func failure(_ error: TransportError) -> CommandFailure {
        // Some errors name the path themselves.
        CommandFailure(ExitCode(error), error.path == nil ? "\(endpoint): \(error)" : error.description)
    }
}
