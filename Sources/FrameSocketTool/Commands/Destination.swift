import FrameSocket
import Locking

/// What a command sends: items, one after another, and how each of them goes over a connection.
protocol Cargo: SendableMetatype {
    associatedtype Item

    /// Where it is sent to.
    var destination: Destination { get }

    /// How many items there are; nil if that is unknown.
    var count: Int? { get }

    /// Begins to send over another connection.
    mutating func begin(over connection: SocketConnection) -> Passage

    /// The next item, when it is due, once the last one need not be sent again; nil at the end.
    mutating func next() async throws(CommandFailure) -> Item?

    /// Hands over an item, and waits until it is sent. The item may be one that an earlier connection had.
    mutating func send(_ item: Item) async throws(CommandFailure) -> Handover

    /// What had gone over the connection before the last item was handed over.
    var sentBeforeLast: SentTotals { get }

    /// Sends what has been held back; returns false if it could not be sent.
    func finish() async -> Bool

    /// Ends what else goes over the connection; once everything `isOver`, after its own end. Returns false if that was cut short.
    func end(isOver: Bool) async -> Bool

    /// Checks that everything could be sent.
    func check() throws(CommandFailure)
}

/// What has become of an item that was handed over.
enum Handover {
    /// The system has taken all of it.
    case sent
    /// Pacing holds it back, the receiver wants none for now, or the connection has ended.
    case unsent
    /// It cannot be sent, but others can.
    case unfit
}

/// What has gone over a connection, for whoever cannot wait until the command's thread gets on.
struct Passage: Sendable {
    var sent: @Sendable () -> SentTotals
    /// Waits until nothing is added any more, once the connection is closed.
    var settle: @Sendable () async -> Void = {}
}

/// Where a command sends to: a connection that is made again whenever there is no receiver, for as long as `--wait` says.
///
/// A server without a free slot, or one that does not admit this user, accepts a connection and closes it without
/// reading a byte, and cannot say why. The first frame of each connection is therefore sent again, over another one, until a
/// server has started reading it.
final class Destination: Sendable {
    /// What has become of a connection.
    private enum Standing {
        /// A receiver reads it, or nothing has been sent yet.
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
        var passage: Passage?
        /// Of earlier connections.
        var former = SentTotals()
        /// Whether the command makes no further connection.
        var isClosed = false
        /// Since when there has been no receiver.
        var start: ContinuousClock.Instant?
        var pauses = State.firstPauses
        /// Whether the server has started reading.
        var isAdmitted = false
        /// Whether a receiver has gone before it had read everything.
        var isLossy = false

        static let firstPauses = Backoff(first: .milliseconds(50), longest: .milliseconds(500))

        var totals: SentTotals { passage.map { former.adding($0.sent()) } ?? former }
    }

    private let endpoint: SocketEndpoint
    private let settings: SocketConnection.Configuration
    private let wait: Double
    private let reporter: Reporter
    private let state = Locked(State())

    /// Creates a destination; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - endpoint: Where the server listens.
    ///   - wait: For how many seconds to look for a server that has a place.
    ///   - settings: How to connect; whether to reopen is ignored.
    ///   - reporter: Tells of receivers that go.
    init(_ endpoint: SocketEndpoint, wait: Double, _ settings: SocketConnection.Configuration, _ reporter: Reporter) {
        self.endpoint = endpoint
        self.wait = wait
        self.reporter = reporter
        var settings = settings
        settings.reopens = false
        settings.sendTimeout = TimeLimit.of(settings.sendTimeout)
        self.settings = settings
    }

    /// What was sent so far, over all connections.
    var totals: SentTotals { state.withLock { $0.totals } }

    /// Runs a command that sends, to its end or until a signal comes, and reports what was sent.
    ///
    /// - Parameters:
    ///   - endpoint: Where the server listens.
    ///   - reporter: Reports of the command.
    ///   - event: The event at the end.
    ///   - summary: What a person is told then; nil for nothing.
    ///   - load: Opens and reads what is to be sent, which may block.
    /// - Throws: Why not everything was sent.
    static func run<Goods: Cargo>(
        to endpoint: SocketEndpoint,
        _ reporter: Reporter,
        event: (SentTotals) -> JSONLine,
        summary: (SentTotals) -> String?,
        _ load: @escaping @Sendable () throws(CommandFailure) -> Goods
    ) async throws(CommandFailure) {
        let destination = Latch<Destination>()
        let result = await Signals.interrupting { () throws(CommandFailure) in
            try checkIsSocket(endpoint)
            var cargo = try load()
            destination.set(cargo.destination)
            try await cargo.destination.send(&cargo)
        }
        await destination.value?.close()
        // Of a command that was typed wrong, nothing else is reported.
        if case .failure(let failure)? = result, failure.code == .usage { throw failure }
        let totals = destination.value?.totals
        reporter.print(event(totals ?? SentTotals()))
        if !reporter.isQuiet, let sentence = totals.flatMap(summary) { Terminal.say(sentence) }
        guard let result else { throw CommandFailure(.interrupted, "") }
        try result.get()
        try reporter.check()
    }

    /// Checks that no other file is where the server's socket should be.
    ///
    /// A path that does not exist is waited for, but no server replaces such a file.
    private static func checkIsSocket(_ endpoint: SocketEndpoint) throws(CommandFailure) {
        guard case .path(let path) = endpoint, let status = Files.status(of: path), status.kind != S_IFSOCK else {
            return
        }
        throw CommandFailure(
            .cannotCreate,
            "\(path): the file at this path is not a socket; name the path of a server, and then the file to send"
        )
    }

    /// Closes the connection, and makes no other.
    private func close() async {
        let (connection, passage) = state.withLock { state in
            state.isClosed = true
            return (state.connection, state.passage)
        }
        connection?.close()
        _ = try? await connection?.closed()
        await passage?.settle()
    }

    // MARK: Sending

    /// Sends everything, over another connection whenever the receiver has gone.
    private func send<Goods: Cargo>(_ cargo: inout Goods) async throws(CommandFailure) {
        var again: (item: Goods.Item, before: SentTotals?)?
        var isOver = false
        while !isOver {
            let connection = try await open()
            if let before = again?.before { disregard(before) }
            let passage = cargo.begin(over: connection)
            state.withLock { state in
                state.former = state.totals
                if state.former.startedAt == nil { state.former.startedAt = MonotonicClock.now() }
                state.passage = passage
            }
            let result: Result<Bool, CommandFailure>
            do throws(CommandFailure) {
                result = .success(try await send(&cargo, &again, over: connection))
            } catch {
                result = .failure(error)
            }
            isOver = if case .success(false) = result { false } else { true }
            let isWhole = await cargo.end(isOver: isOver)
            _ = try result.get()
            if !isWhole, try await !hasStopped(connection) {
                throw failure("the receiver ended the connection before all of the audio was sent")
            }
        }
        try cargo.check()
        if state.withLock({ $0.isLossy }) {
            throw failure("a receiver ended the connection before it had read everything that was sent")
        }
    }

    /// Sends what is left over a connection, beginning with `again`.
    ///
    /// - Returns: false if there is no receiver any more; `again` is then the item to go on with, and what this connection had
    ///   been given before it, if it had been given the item.
    private func send<Goods: Cargo>(
        _ cargo: inout Goods,
        _ again: inout (item: Goods.Item, before: SentTotals?)?,
        over connection: SocketConnection
    ) async throws(CommandFailure) -> Bool {
        let before = totals.frames
        // Whether the system has accepted a whole frame, now or, if pacing held it back, since.
        var isSent = false
        // Whether no item has been handed over, here or to an earlier connection.
        var isFresh = again == nil
        // The last item, unless a server has started reading.
        var unread: Goods.Item?
        while true {
            guard let item = if again != nil { again.take()?.item } else { try await cargo.next() } else { break }
            let isLate = connection.closeReason != nil
            let handover = isLate ? .unsent : try await cargo.send(item)
            if handover == .unfit { continue }
            isSent = isSent || handover == .sent || totals.frames > before
            switch try await standing(of: connection, isSent: isSent) {
            case .satisfied: return true
            case .turnedAway:
                again = (item, nil)
                if isSent || !isLate { disregard(cargo.sentBeforeLast) }
                // A server waits for a first frame for a limited time. This one was not there by then.
                if isLate, isFresh { startOver() } else { try await pause() }
                return false
            case .lost where handover == .unsent:
                again = (item, isLate ? nil : cargo.sentBeforeLast)
                try await leave(connection)
                return false
            case .accepted, .lost: break
            }
            isFresh = false
            // Once a server reads it, it need not be sent again: the next one is read into its memory.
            unread = state.withLock { $0.isAdmitted } ? nil : item
            if !reporter.isQuiet { Terminal.showProgress(totals.progress(of: cargo.count)) }
        }
        // The last frame is sent even if pacing has held it back.
        let isFinished = await cargo.finish()
        guard !isFresh else { return true }
        switch try await standing(of: connection, isSent: totals.frames > before) {
        case .satisfied: return true
        case .turnedAway:
            again = unread.map { ($0, nil) }
            disregard(cargo.sentBeforeLast)
            try await pause()
            return false
        case .lost where !isFinished:
            // What a byte rate still holds back has nobody to go to any longer.
            throw CommandFailure(.unavailable, end)
        case .accepted, .lost: break
        }
        try await deliver(connection)
        return true
    }

    /// Connects to a server, within the remaining time.
    private func open() async throws(CommandFailure) -> SocketConnection {
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
            throw CommandFailure(error)
        }
    }

    /// Finds out what has become of a connection; once something was sent, that takes until the server reads or ends it.
    ///
    /// - Parameters:
    ///   - connection: The connection that was opened last.
    ///   - isSent: Whether the system has accepted a whole frame.
    /// - Returns: What has become of it.
    /// - Throws: A failure if the connection has failed for good, or has been closed by ``close()``.
    private func standing(of connection: SocketConnection, isSent: Bool) async throws(CommandFailure) -> Standing {
        var isAdmitted = state.withLock { $0.isAdmitted }
        if connection.isOpen {
            if isAdmitted, !connection.wasAskedToStop { return .accepted }
        } else {
            // Whoever sends learns of an end before the connection has a reason for it.
            _ = try? await connection.closed()
        }
        guard isSent || connection.closeReason != nil else { return .accepted }
        do throws(TransportError) {
            if !isAdmitted { isAdmitted = try await connection.hasBegunReading() }
        } catch {
            throw failure(error)
        }
        // Before the request to stop is asked for: an end that is seen here had one already, or has none.
        let reason = connection.closeReason
        // An end of this side's own is nobody else's.
        guard !state.withLock({ $0.isClosed }) else { throw CommandFailure(.interrupted, "") }
        if try await hasStopped(connection) { return .satisfied }
        if let error = reason?.error, error.code != .connectionLost { throw failure(error) }
        // An orderly end after a whole frame: if the frame had not been read, the end would be a reset.
        if isSent, reason != nil, reason?.error == nil { isAdmitted = true }
        state.withLock { $0.isAdmitted = isAdmitted }
        guard isAdmitted else { return .turnedAway }
        return reason == nil ? .accepted : .lost
    }

    /// Counts no item that is sent again: over the last connection, only this was sent.
    private func disregard(_ before: SentTotals) {
        state.withLock { $0.passage?.sent = { before } }
    }

    /// Leaves a receiver that has gone, whatever it has not read, and says so.
    private func leave(_ connection: SocketConnection) async throws(CommandFailure) {
        let isWhole = (try? await connection.delivered()) != nil
        guard !state.withLock({ $0.isClosed }) else { throw CommandFailure(.interrupted, "") }
        if !isWhole { state.withLock { $0.isLossy = true } }
        reporter.warn("\(end); waiting for another", code: "receiver.ended", always: false)
        try reporter.check()
        startOver()
    }

    /// A sentence about the end of a connection.
    private var end: String {
        "\(endpoint): the receiver ended the connection after \(Format.count(totals.frames, "frame"))"
    }

    /// Gives the next attempts the whole time to wait, since there has been a receiver until now.
    private func startOver() {
        state.withLock { ($0.start, $0.pauses) = (.now, State.firstPauses) }
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

    /// Waits until the server has read everything, or has ended.
    ///
    /// - Throws: A failure if it has lost any of it.
    private func deliver(_ connection: SocketConnection) async throws(CommandFailure) {
        do {
            try await connection.delivered()
        } catch {
            // An interrupt closes the connection.
            guard error.code != .closed else { return }
            try checkEnd(of: connection)
            throw failure(error)
        }
        if connection.isOpen { return }
        _ = try? await connection.closed()
        if try await !hasStopped(connection), let error = connection.closeReason?.error { throw failure(error) }
    }

    /// Whether the server has asked this side to stop: it has what it wanted.
    ///
    /// - Throws: A failure if it has ended the connection for a reason that holds for every other.
    private func hasStopped(_ connection: SocketConnection) async throws(CommandFailure) -> Bool {
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

    private func failure(_ message: String) -> CommandFailure {
        CommandFailure(.unavailable, "\(endpoint): \(message)")
    }

    /// The failure of a command whose connection has ended with `error`.
    private func failure(_ error: TransportError) -> CommandFailure {
        // Some errors name the path themselves.
        CommandFailure(ExitCode(error), error.path == nil ? "\(endpoint): \(error)" : error.description)
    }
}
