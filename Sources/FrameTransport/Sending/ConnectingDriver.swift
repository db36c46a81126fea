/// The sending end of a connection, as the I/O thread drives it: attempts to connect, what the server says back, ends.
///
/// - Note: `@unchecked Sendable` holds because everything that changes is touched on `thread` alone, but for `lane`, the
///   mailbox and the latch, which are safe for any thread; other threads reach the rest through
///   ``IOThread/execute(_:)``.
final class ConnectingDriver: IOHandler, @unchecked Sendable {
    private enum State {
        case idle
        /// Between two attempts to connect.
        case waiting
        case open(socket: Int32)
        /// Ending in order: the message under way, and the server's own end, are waited for.
        case closing(socket: Int32)
        case closed
    }

    /// How many reads of what the server says one turn may make.
    private static let readsPerTurn = 64

    let thread: IOThread
    let lane: SendLane
    let events = Mailbox<SocketConnection.Event>(capacity: 16, overflow: .replacesOldest)
    let closed = Latch<CloseReason>()

    private let path: String
    private let configuration: SocketConnection.Configuration
    private var state = State.idle
    private var registration: IORegistration?
    private var openings = Openings()
    private var isWantedForGood = false
    private var progressAtDeadline: Int?

    init(path: String, configuration: SocketConnection.Configuration) {
        self.path = path
        self.configuration = configuration
        thread = configuration.thread
        lane = SendLane(padsShortBodies: configuration.padsShortBodies)
    }

    // MARK: Opening

    func open() {
        isWantedForGood = true
        if case .idle = state { attempt() }
    }

    /// Connects, on behalf of somebody who waits for it.
    func open(for opening: Openings.Opening) {
        switch state {
        case .open: opening.result.set(.success(()))
        case .closing, .closed: opening.result.set(.failure(Self.closedError))
        case .waiting:
            openings.add(opening)
            bringAttemptForward(to: opening.deadline)
        case .idle:
            openings.add(opening)
            attempt()
        }
    }

    /// Stops to connect on behalf of somebody who no longer waits for it.
    func abandon(_ opening: Openings.Opening) {
        openings.remove(opening)
        opening.result.set(.failure(TransportError(.cancelled, path: path, "the wait for a server was cancelled")))
        stopAttemptsIfUnwanted()
    }

    private func attempt() {
        do {
            try connect(to: SocketAddress(path: path))
        } catch {
            // No later attempt can go better.
            state = .idle
            openings.settle(.failure(error))
            events.put(.didClose(.failed(error)))
        }
    }

    private func connect(to address: SocketAddress) {
        do {
            // A new descriptor each time: one whose connect has failed is in no defined state.
            let descriptor = try Syscalls.makeSocket()
            try Syscalls.connectSocket(descriptor.rawValue, to: address)
            let socket = descriptor.rawValue
            registration?.cancel()
            registration = try thread.register(socket, self)
            state = .open(socket: socket)
            lane.open(descriptor)
        } catch {
            return retryLater(after: error)
        }
        isWantedForGood = true
        openings.settle(.success(()))
        events.put(.didOpen)
    }

    private func retryLater(after failure: Errno?) {
        openings.expire(at: MonotonicClock.now(), path: path, failure)
        state = .waiting
        let registration = thread.registerTimer(self)
        self.registration?.cancel()
        self.registration = registration
        let retry = MonotonicClock.deadline(in: configuration.retryInterval)
        registration.deadline = min(retry, openings.earliestDeadline ?? retry)
        stopAttemptsIfUnwanted()
    }

    /// Sees to it that somebody who waits is told in time, however far off the next attempt is.
    private func bringAttemptForward(to deadline: UInt64?) {
        guard let deadline, let registration, let next = registration.deadline, deadline < next else { return }
        registration.deadline = deadline
    }

    private func stopAttemptsIfUnwanted() {
        guard case .waiting = state, openings.isEmpty, !isWantedForGood else { return }
        registration?.cancel()
        registration = nil
        state = .idle
    }

    // MARK: IOHandler

    func becameReady(_ readiness: Readiness) {
        // What the server said comes first: its end explains why a write fails.
        if readiness.contains(.readable) { readInput() }
        if readiness.contains(.writable) { resumeSending() }
    }

    func deadlinePassed() {
        switch state {
        case .waiting:
            attempt()
        case .open:
            checkProgress()
        case .closing:
            finish(.closedLocally)
        case .idle, .closed:
            break
        }
    }

    // MARK: While open

    /// Sees to it that a message that waits for room goes on, or that the connection counts as broken.
    func watchProgress() {
        guard case .open = state, registration?.deadline == nil else { return }
        progressAtDeadline = lane.bytesUnderWay
        registration?.deadline = MonotonicClock.deadline(in: configuration.sendTimeout)
    }

    private func checkProgress() {
        guard let progress = lane.bytesUnderWay else { return }
        guard progress == progressAtDeadline else { return watchProgress() }
        end(.failed(TransportError(.sendTimedOut, path: path, "the server has stopped to read")))
    }

    private func resumeSending() {
        switch (lane.resume(), state) {
        case (.broken, _): endIfBroken()
        case (.sent, .open): registration?.deadline = nil
        case (.sent, .closing(let socket)): Syscalls.shutdownSending(socket)
        default: break
        }
    }

    /// Ends the connection where a write to its socket has failed; one that was opened since is left alone.
    func endIfBroken() {
        guard let error = lane.failure else { return }
        // What is there to read says whether the server ended in order.
        readInput()
        end(.failed(.lost(error)))
    }

    /// Reads what the server says, to its end; one that never stops has its turns as others have.
    private func readInput() {
        let socket: Int32
        switch state {
        case .open(let open): socket = open
        case .closing(let closing): socket = closing
        case .idle, .waiting, .closed: return
        }
        unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { scratch in
            let nothing = unsafe MemoryRun(start: nil, count: 0)
            do throws(Errno) {
                for _ in 0..<Self.readsPerTurn {
                    switch try unsafe Syscalls.receive(from: socket, into: scratch, nothing) {
                    case .bytes(0, _): return end(.closedByPeer)
                    case .bytes: continue
                    case .wouldBlock: return
                    }
                }
                thread.execute { self.readInput() }
            } catch {
                end(.failed(.lost(error)))
            }
        }
    }

    // MARK: Ending

    func close() {
        switch state {
        case .idle, .waiting:
            finish(.closedLocally)
        case .open(let socket):
            state = .closing(socket: socket)
            registration?.deadline = MonotonicClock.deadline(in: configuration.linger)
            if lane.stopAccepting() { Syscalls.shutdownSending(socket) }
        case .closing, .closed:
            break
        }
    }

    /// The connection has come to its end, by the server or by a failure.
    private func end(_ reason: CloseReason) {
        switch state {
        case .closing:
            finish(.closedLocally)
        case .open where configuration.reopens:
            leaveSocket(reason)
            events.put(.didClose(reason))
            retryLater(after: nil)
        case .open:
            finish(reason)
        case .idle, .waiting, .closed:
            break
        }
    }

    private func finish(_ reason: CloseReason) {
        leaveSocket(reason)
        state = .closed
        openings.settle(.failure(Self.closedError))
        events.put(.didClose(reason))
        events.end()
        closed.set(reason)
    }

    private func leaveSocket(_ reason: CloseReason) {
        registration?.cancel()
        registration = nil
        progressAtDeadline = nil
        let loss = reason.error ?? TransportError(.connectionLost, path: path, "\(reason) before the message was out")
        lane.close(loss)
    }

    private static let closedError = TransportError(.closed, "the connection has been closed")
}
