internal import FrameWire
internal import Locking

/// The shell of a connection's ``SenderMachine``: reports events to it, and is the system that it calls.
///
/// - Note: `@unchecked Sendable` holds because mutable state is accessed only on `thread`, except for what is safe on
///   any thread: the lane, mailboxes, latches and boards. Other threads reach the rest through
///   ``IOThread/execute(_:)``.
final class ConnectingDriver: IOHandler, @unchecked Sendable {
    let thread: IOThread
    let lane: SendLane
    let closed = Latch<CloseReason>()

    /// Whether the server had not read everything when the last socket was closed, as far as the system reports it.
    var leftUnread = false

    /// The receiver's requests, for the program.
    let requests = Mailbox<ControlRequest>(capacity: 16, overflow: .replacesOldest)

    /// What other threads ask for of one connection after another.
    struct Facts {
        /// The number of requests that were not understood.
        var skippedRequests = 0
        /// Whether the receiver has requested the end.
        var wasAskedToStop = false
        /// Who listened when the last connection was made, if the system tells.
        var peer: PeerPolicy.Credentials?
        /// The number of the connection that has ended last, and why it has; nil before one has.
        var lastEnd: (connection: Int, reason: CloseReason, leftUnread: Bool)?
        /// The number of the latest connection whose server has discarded something; nil if none has.
        var discarding: Int?
    }

    let facts = Locked(Facts())

    /// The receiver's terms.
    let terms = ObservedValue(ReceiverTerms())

    /// The published states of the connection.
    let states = ObservedValue(SocketConnection.State.idle, capacity: 16)

    /// The current demand: only the latest counts.
    let demand: ObservedValue<ControlRequest.Wants>

    /// What the receiver states about itself.
    let info = ObservedValue(ControlRequest.SessionInfo(), capacity: 16)

    let endpoint: SocketEndpoint
    let configuration: SocketConnection.Configuration
    // The thread alone changes it, and no call of the machine comes back to it: that is not checked at each use.
    @exclusivity(unchecked) var machine: SenderMachine

    /// The socket in use; nil between two attempts.
    var socket: Int32?
    /// Owns the socket until it is handed to the lane.
    var descriptor: OwnedDescriptor?
    var registration: IORegistration?
    var timer: IORegistration?

    let log: EventLog?

    init(_ endpoint: SocketEndpoint, configuration: SocketConnection.Configuration) {
        self.endpoint = endpoint
        self.configuration = configuration
        thread = configuration.thread
        log = EventLog(configuration.log, endpoint: endpoint.description)
        demand = ObservedValue(terms.value.demand)
        lane = SendLane(
            padsShortBodies: configuration.padsShortBodies,
            offersAudio: configuration.offersAudio,
            info: configuration.info
        )
        let isPath = if case .path = endpoint { true } else { false }
        unsafe machine = SenderMachine(
            name: endpoint.description,
            configuration,
            sharesMemory: isPath && SharedMemory.isSupported
        )
    }

    // MARK: Requests from programs

    /// Reports an event on the connection's thread, after earlier ones.
    func report(_ event: @escaping @Sendable (inout SenderMachine, ConnectingDriver) -> Void) {
        thread.execute { self.change { event(&$0, self) } }
    }

    // MARK: IOHandler

    func becameReady(_ readiness: Readiness) {
        change {
            $0.becameReady(
                readable: !readiness.isDisjoint(with: [.readable, .hangup]),
                writable: readiness.contains(.writable),
                self
            )
        }
    }

    func deadlinePassed() {
        change { $0.deadlinePassed(self) }
    }

    // MARK: Running the machine

    /// Reports an event, on the connection's thread.
    ///
    /// Not from within a call of the machine, which changes until it returns.
    func change(_ report: (inout SenderMachine) -> Void) {
        unsafe report(&machine)
        registration?.watchesRoom = unsafe machine.watchesRoom
        let deadline = unsafe machine.deadline
        if timer == nil, deadline != nil { timer = thread.registerTimer(self) }
        if timer?.deadline != deadline { timer?.deadline = deadline }
    }
}

/// What a sender's machine calls.
extension ConnectingDriver: SenderMachine.System {
    var now: UInt64 { MonotonicClock.now() }

    // MARK: Connecting

    func connect() -> SenderMachine.Attempt {
        let address: SocketAddress
        do {
            try thread.checkRunning()
            try endpoint.check(configuration.tokens)
            address = try SocketAddress(endpoint)
        } catch {
            return .unusable(error)
        }
        do throws(Errno) {
            // A new descriptor for every attempt: after a failed connect its state is undefined.
            let descriptor = try Syscalls.makeSocket(for: address)
            let socket = descriptor.rawValue
            let isConnected = try Self.connect(socket, to: address)
            registration = try thread.register(socket, self)
            self.socket = socket
            self.descriptor = consume descriptor
            return isConnected ? .connected : .pending
        } catch {
            reportAttempt("no server was reached: \(error)")
            return .failed(error)
        }
    }

    /// Connects, and returns whether the connection is made at once, as is always the case over a path.
    private static func connect(_ socket: Int32, to address: SocketAddress) throws(Errno) -> Bool {
        do {
            try Syscalls.connectSocket(socket, to: address)
            return true
        } catch .inProgress {
            return false
        }
    }

    func checkPeer() throws(Errno) -> SenderMachine.Peer {
        guard let socket else { return .thisSide }
        do {
            try Syscalls.checkConnected(socket)
        } catch {
            reportAttempt("no server was reached: \(error)")
            throw error
        }
        switch endpoint {
        case .path(let path):
            facts.withLock { $0.peer = try? Syscalls.peer(of: socket) }
            do {
                try configuration.peers.admit(socket, at: path)
            } catch {
                return .refused(error)
            }
        case .loopback:
            if Syscalls.isConnectedToItself(socket) {
                Syscalls.abortWhenClosed(socket)
                return .thisSide
            }
        }
        return .admitted
    }

    func writeToken(from offset: Int) throws(Errno) -> Transfer {
        guard let socket, let token = configuration.tokens?.own else { return .wouldBlock }
        return try Syscalls.send(to: socket, token.dropFirst(offset))
    }

    // MARK: With a socket

    func read(into run: MemoryRun) throws(Errno) -> Transfer {
        guard let socket else { return .wouldBlock }
        return try unsafe Syscalls.receive(from: socket, into: run)
    }

    func shutDownSending() { if let socket { Syscalls.shutdownSending(socket) } }

    func hasDelivered(isOrderly: Bool) -> Bool {
        guard let socket, let delivery = lane.delivery, delivery.hasSent else { return false }
        // Of what a connection that has failed had sent, the system tells only how much it can hold.
        if delivery.bytesWritten > Syscalls.sendBuffer(of: socket) { return true }
        let isDiscarded = facts.withLock { $0.discarding } == delivery.connection
        return isOrderly && !isDiscarded && delivery.backlog?.unreadByteCount ?? 0 == 0
    }

    func closeSocket(_ loss: TransportError) {
        leftUnread = lane.delivery?.backlog.map { $0.unreadByteCount > 0 } ?? false
        registration?.cancel()
        registration = nil
        socket = nil
        descriptor = nil
        lane.close(loss)
    }

    func yield() { thread.executeAfterPoll { self.change { $0.continueTurn(self) } } }

    func openLane(connection: Int) {
        if let descriptor = descriptor.take() { lane.open(descriptor, connection: connection) }
    }

    func lane(_ change: (inout SendLaneMachine) -> SendLaneMachine.Settlement?) -> SendLaneMachine.Progress {
        lane.advance(change)
    }

    // MARK: What others are told

    func publish(_ state: SocketConnection.State) {
        report(state, after: states.value)
        if let reason = state.closeReason {
            let connection = terms.value.connection
            facts.withLock { $0.lastEnd = (connection, reason, leftUnread) }
        }
        states.change(to: state)
    }

    func publish(_ terms: ReceiverTerms) {
        self.terms.change(to: terms)
        demand.change(to: terms.demand)
    }

    func publish(_ info: ControlRequest.SessionInfo) { self.info.change(to: info) }

    func deliver(_ request: ControlRequest) {
        if case .stop(let reason) = request, reason.isOrderly { facts.withLock { $0.wasAskedToStop = true } }
        requests.put(request)
    }

    func countSkippedRequest() { facts.withLock { $0.skippedRequests += 1 } }

    func noteDiscarded() {
        let connection = terms.value.connection
        facts.withLock { $0.discarding = connection }
    }

    func end(_ reason: CloseReason) {
        timer?.cancel()
        timer = nil
        states.end()
        demand.end()
        info.end()
        requests.end()
        closed.set(reason)
    }

    // MARK: Logging

    /// Reports a change of the connection's state to the log.
    private func report(_ state: SocketConnection.State, after old: SocketConnection.State) {
        guard let log else { return }
        let reason: CloseReason?
        switch state {
        case .connected:
            log.forgetCause(of: .attemptFailed)
            reason = nil
        case .started where old == .handshaking:
            return reportAttempt(
                "the server ended the exchange of tokens, or sent no token; do both ends have the same?"
            )
        case .disconnected(let end), .ended(let end):
            // The end of a session is reported once.
            guard old != .disconnected(end) else { return }
            reason = end
        case .idle, .started, .handshaking: return
        }
        let code: TransportEvent.Code =
            if let reason { reason.error == nil ? .connectionEnded : .connectionFailed } else { .connectionOpened }
        let level: TransportEvent.Level = reason?.error == nil ? .info : .warning
        log.report(level, code, reason?.description ?? "connected", error: reason?.error)
    }

    /// Reports a failed attempt to connect, unless the one before it failed for the same reason.
    private func reportAttempt(_ message: @autoclosure () -> String) {
        log?.report(.info, .attemptFailed, message(), isRepeated: true)
    }
}
