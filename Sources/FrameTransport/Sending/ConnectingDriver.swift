internal import FrameWire

/// The sending end of a connection, as the I/O thread drives it: attempts to connect, what the server says back, ends.
///
/// - Note: `@unchecked Sendable` holds because everything that changes is touched on `thread` alone, but for `lane`, the
///   mailbox and the latch, which are safe for any thread; other threads reach the rest through
///   ``IOThread/execute(_:)``.
final class ConnectingDriver: IOHandler, @unchecked Sendable {
    /// How many reads of what the server says one turn may make.
    private static let readsPerTurn = 64

    let thread: IOThread
    let lane: SendLane
    let events = Mailbox<SocketConnection.Event>(capacity: 16, overflow: .replacesOldest)
    let closed = Latch<CloseReason>()

    /// What the receiver has asked for.
    let control = ControlState()

    /// What the receiver has stated.
    let terms = TermsBoard()

    /// How the connection stands, as its users see it.
    let states = StateSequence()

    private let endpoint: SocketEndpoint
    private let configuration: SocketConnection.Configuration
    private(set) var state = State.idle {
        didSet { states.change(to: state.published) }
    }
    /// The socket, until it is the lane's.
    private var descriptor: OwnedDescriptor?
    private var token: TokenReader?
    /// Reads the server's requests; nil once it said something else, as a plain server may.
    var requestDecoder: ControlDecoder?
    private var registration: IORegistration?
    private var openings = Openings()
    private var isWantedForGood = false
    private var progressAtDeadline: Int?

    init(_ endpoint: SocketEndpoint, configuration: SocketConnection.Configuration) {
        self.endpoint = endpoint
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
        case .closed(.failed(let error)): opening.result.set(.failure(error))
        case .closing, .closed: opening.result.set(.failure(Self.closedError))
        case .waiting, .connecting, .handshaking:
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
        opening.result.set(
            .failure(TransportError(.cancelled, path: endpoint.description, "the wait for a server was cancelled"))
        )
        stopAttemptsIfUnwanted()
    }

    private func attempt() {
        let address: SocketAddress
        do {
            try endpoint.check(configuration.tokens)
            address = try SocketAddress(endpoint)
        } catch {
            // No later attempt can go better.
            state = .idle
            openings.settle(.failure(error))
            events.put(.didClose(.failed(error)))
            return
        }
        connect(to: address)
    }

    private func connect(to address: SocketAddress) {
        do throws(Errno) {
            // A new descriptor each time: one whose connect has failed is in no defined state.
            let descriptor = try Syscalls.makeSocket(for: address)
            let socket = descriptor.rawValue
            let isConnected = try Self.connect(socket, to: address)
            let registration = try thread.register(socket, self)
            self.registration?.cancel()
            self.registration = registration
            self.descriptor = consume descriptor
            state = .connecting(socket: socket)
            if isConnected {
                didConnect(socket)
            } else {
                registration.watchesRoom = true
                registration.deadline = MonotonicClock.deadline(in: configuration.connectTimeout)
            }
        } catch {
            retryLater(after: error)
        }
    }

    /// Whether the connection is there at once, as over a path it always is.
    private static func connect(_ socket: Int32, to address: SocketAddress) throws(Errno) -> Bool {
        do {
            try Syscalls.connectSocket(socket, to: address)
            return true
        } catch .inProgress {
            return false
        }
    }

    /// The system has made the connection, or given up.
    private func concludeConnecting(_ socket: Int32) {
        do {
            try Syscalls.checkConnected(socket)
        } catch {
            return giveUpAttempt(after: error)
        }
        didConnect(socket)
    }

    private func didConnect(_ socket: Int32) {
        registration?.watchesRoom = false
        do {
            if case .path(let path) = endpoint { _ = try configuration.peers.admit(socket, at: path) }
        } catch {
            return refuse(error)
        }
        guard let tokens = configuration.tokens else { return didOpen(socket) }
        state = .handshaking(socket: socket)
        token = TokenReader(expecting: tokens.expected)
        registration?.deadline = MonotonicClock.deadline(in: configuration.handshakeTimeout)
        do {
            try tokens.show(to: socket)
        } catch {
            giveUpAttempt(after: error.systemError)
        }
    }

    /// Reads the server's token.
    private func shakeHands(_ socket: Int32) {
        guard var reader = token else { return }
        do throws(TransportError) {
            while reader.remaining > 0, try reader.read(from: socket) {}
            token = reader
            guard reader.remaining == 0 else { return }
            guard reader.isRight else {
                throw TransportError(
                    .tokenRejected,
                    path: endpoint.description,
                    "the server's token is not the one expected"
                )
            }
        } catch {
            // A server that goes away is worth another attempt, one with other tokens is not.
            guard error.code == .tokenRejected else { return giveUpAttempt(after: error.systemError) }
            return refuse(error)
        }
        didOpen(socket)
    }

    /// Has nothing more to do with a server, for good.
    private func refuse(_ error: TransportError) {
        openings.settle(.failure(error))
        finish(.failed(error))
    }

    private func didOpen(_ socket: Int32) {
        guard let descriptor = descriptor.take() else { return }
        token = nil
        requestDecoder = ControlDecoder()
        control.reset()
        registration?.deadline = nil
        lane.open(descriptor)
        state = .open(socket: socket)
        terms.change { terms in
            let connection = terms.connection + 1
            terms = ReceiverTerms()
            (terms.connection, terms.isConnected) = (connection, true)
        }
        isWantedForGood = true
        openings.settle(.success(()))
        events.put(.didOpen)
    }

    private func giveUpAttempt(after failure: Errno?) {
        registration?.cancel()
        registration = nil
        descriptor = nil
        token = nil
        retryLater(after: failure)
    }

    private func retryLater(after failure: Errno?) {
        openings.expire(at: MonotonicClock.now(), path: endpoint.description, failure)
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
        switch state {
        case .connecting(let socket):
            if readiness.contains(.writable) { concludeConnecting(socket) }
        case .handshaking(let socket):
            if readiness.contains(.readable) { shakeHands(socket) }
        case .open, .closing:
            // What the server said comes first: its end explains why a write fails.
            if readiness.contains(.readable) { readInput() }
            if readiness.contains(.writable) { resumeSending() }
        case .idle, .waiting, .closed:
            break
        }
    }

    func deadlinePassed() {
        switch state {
        case .waiting:
            attempt()
        case .connecting, .handshaking:
            giveUpAttempt(after: nil)
        case .open:
            checkProgress()
        case .closing(_, let reason):
            finish(reason)
        case .idle, .closed:
            break
        }
    }

    // MARK: While open

    /// Sees to it that a message that waits for room goes on, or that the connection counts as broken.
    func watchProgress() {
        registration?.watchesRoom = openSocket != nil
        guard case .open = state, registration?.deadline == nil else { return }
        progressAtDeadline = lane.bytesUnderWay
        registration?.deadline = MonotonicClock.deadline(in: configuration.sendTimeout)
    }

    private func checkProgress() {
        guard let progress = lane.bytesUnderWay else { return }
        guard progress == progressAtDeadline else { return watchProgress() }
        end(.failed(TransportError(.sendTimedOut, path: endpoint.description, "the server has stopped to read")))
    }

    private func resumeSending() {
        switch (lane.resume(), state) {
        case (.broken, _): endIfBroken()
        case (.sent, .open):
            registration?.watchesRoom = false
            registration?.deadline = nil
        case (.sent, .closing(let socket, _)):
            registration?.watchesRoom = false
            Syscalls.shutdownSending(socket)
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
        unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { scratch in
            let nothing = unsafe MemoryRun(start: nil, count: 0)
            do throws(Errno) {
                for _ in 0..<Self.readsPerTurn {
                    guard let socket = openSocket else { return }
                    switch try unsafe Syscalls.receive(from: socket, into: scratch, nothing) {
                    case .bytes(0, _): return end(.closedByPeer(.stoppedByUser))
                    case .bytes(let count, _):
                        take(unsafe Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(rebasing: scratch[..<count])))
                    case .wouldBlock: return
                    }
                }
                thread.execute { self.readInput() }
            } catch {
                end(.failed(.lost(error)))
            }
        }
    }

    private var openSocket: Int32? {
        switch state {
        case .open(let socket), .closing(let socket, _): socket
        case .idle, .waiting, .connecting, .handshaking, .closed: nil
        }
    }

    // MARK: Ending

    func close(_ reason: FinishReason) {
        switch state {
        case .idle, .waiting, .connecting, .handshaking:
            finish(.closedLocally(reason))
        case .open(let socket):
            endInOrder(socket, .closedLocally(reason))
        case .closing, .closed:
            break
        }
    }

    /// Sends what is under way, says why it was the last, and waits for the server's own end.
    func endInOrder(_ socket: Int32, _ reason: CloseReason) {
        if control.hello != nil {
            let last = SenderStatus(state: .stopped(reason.finishReason))
            if case .waiting? = lane.send(.status(last)) { registration?.watchesRoom = true }
        }
        state = .closing(socket: socket, reason: reason)
        registration?.deadline = MonotonicClock.deadline(in: configuration.linger)
        if lane.stopAccepting() { Syscalls.shutdownSending(socket) }
    }

    /// The connection has come to its end, by the server or by a failure.
    func end(_ reason: CloseReason) {
        switch state {
        case .closing(_, let reason):
            finish(reason)
        case .open where configuration.reopens:
            leaveSocket(reason)
            events.put(.didClose(reason))
            retryLater(after: nil)
        case .open:
            finish(reason)
        case .idle, .waiting, .connecting, .handshaking, .closed:
            break
        }
    }

    private func finish(_ reason: CloseReason) {
        leaveSocket(reason)
        state = .closed(reason)
        openings.settle(.failure(Self.closedError))
        events.put(.didClose(reason))
        events.end()
        states.end()
        control.requests.end()
        closed.set(reason)
    }

    private func leaveSocket(_ reason: CloseReason) {
        registration?.cancel()
        registration = nil
        descriptor = nil
        token = nil
        progressAtDeadline = nil
        let loss =
            reason.error
            ?? TransportError(.connectionLost, path: endpoint.description, "\(reason) before the message was out")
        lane.close(loss)
        terms.change { terms in
            let connection = terms.connection
            terms = ReceiverTerms()
            terms.connection = connection
        }
    }

    private static let closedError = TransportError(.closed, "the connection has been closed")
}
