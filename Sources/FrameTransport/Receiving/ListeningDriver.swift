internal import Locking

/// The listening side of a ``FrameServer``: executes the decisions of its ``ListenerMachine`` on the I/O thread.
///
/// - Note: `@unchecked Sendable` holds because mutable state is accessed only on the I/O thread, or is behind locks;
///   other threads reach it through ``IOThread/execute(_:)``.
final class ListeningDriver: IOHandler, @unchecked Sendable {
    let mailbox: Mailbox<FrameConnection>
    let closed = Latch<Void>()

    /// What the machine and the connections count, those that have ended included.
    let counts = Locked(FrameServer.Statistics())

    let log: EventLog?

    let configuration: FrameServer.Configuration
    let thread: IOThread
    /// The socket, which ``release()`` may remove on any thread: when it returns, the path is free.
    let socket: Locked<ListeningSocket?>
    /// The connections accepted while the server was being closed, until the close is executed on the thread.
    private let last = Locked<[Locked<OwnedDescriptor?>]>([])
    private let isOwn: Bool
    /// Whether the socket's file is still there is checked once a second: no system reports a removed name to all of its users
    /// without a descriptor for each directory.
    private static let pathPeriod = Duration.seconds(1)
    private var pathTimer: DeadlineTimer?
    /// The path of the socket; nil for a port.
    let path: String?

    private var machine: ListenerMachine
    /// The events that follow the one that the machine is handling.
    private var events: [(inout ListenerMachine) -> Void] = []
    private var isRunning = false
    var registration: IORegistration?
    /// The connections; other threads only read what these hold.
    let connections = Locked<[Int: ReceivingDriver]>([:])
    /// The connection that was accepted last, with its peer, until the machine has decided on it.
    var accepted: OwnedDescriptor?
    var acceptedPeer: PeerPolicy.Credentials?
    /// Why that peer is refused, if it is.
    var refusal: TransportError?
    let endpoint: String

    init(_ socket: consuming ListeningSocket, configuration: FrameServer.Configuration) {
        isOwn = socket.isOwn
        if case .path(let path) = socket.endpoint { self.path = path } else { path = nil }
        let endpoint = socket.endpoint.description
        self.endpoint = endpoint
        self.socket = Locked(consume socket)
        log = EventLog(configuration.log, endpoint: endpoint)
        self.configuration = configuration
        thread = configuration.thread
        configuration.memory.change { $0.open(places: configuration.limits.maximumConnections) }
        machine = ListenerMachine(limits: configuration.limits, usesTokens: configuration.tokens != nil)
        mailbox = Mailbox(
            capacity: .init(count: .max),
            overflow: .refused,
            onLeave: { connection, _ in connection.driver.report { $0.taken($1) } }
        )
    }

    func start() {
        do {
            // Within the lock, so that the descriptor still belongs to the socket.
            registration = try socket.withLock { socket throws(Errno) -> IORegistration? in
                guard let descriptor = socket?.rawValue else { return nil }
                return try thread.register(descriptor, self)
            }
        } catch {
            let text = "the listening socket cannot be watched"
            return change { $0.failed(TransportError(.system, underlyingErrno: error.rawValue, text), self) }
        }
        guard isOwn, path != nil else { return }
        pathTimer = DeadlineTimer(on: thread) { [weak self] in self?.checkPath() }
        pathTimer?.set(MonotonicClock.deadline(in: Self.pathPeriod))
    }

    // MARK: The path

    /// Binds the path again if senders no longer reach the socket there.
    private func checkPath() {
        defer { pathTimer?.set(MonotonicClock.deadline(in: Self.pathPeriod)) }
        // Those who connected before the file was removed come first; without descriptors for them, they wait.
        guard socket.withLock({ $0?.isLost ?? false }), acceptPending() else { return }
        admitLast()
        do throws(TransportError) {
            guard try bindAgain() else { return }
            log?.forgetCause(of: .pathLost)
            log?.report(.warning, .pathRestored, "the socket's file was removed or replaced; the path is bound again")
        } catch {
            let text = "nobody can connect: the socket's file was removed or replaced, and is not back yet: \(error)"
            log?.report(.error, .pathLost, text, error: error, isRepeated: true)
        }
    }

    /// Replaces the socket; false if the server was closed meanwhile.
    private func bindAgain() throws(TransportError) -> Bool {
        let isBound = try socket.withLock { socket throws(TransportError) -> Bool in
            guard socket != nil else { return false }
            if let descriptor = socket?.rawValue { thread.unwatch(descriptor) }
            registration?.cancel(isClosed: true)
            registration = nil
            try socket?.bindAgain()
            guard let descriptor = socket?.rawValue else { return false }
            do throws(Errno) {
                registration = try thread.register(descriptor, self)
            } catch {
                socket?.giveUp()
                throw .cannotListen(at: .path(endpoint), error)
            }
            return true
        }
        // The new registration gets the deadline of the old one.
        change { _ in }
        return isBound
    }

    /// Stops checking the path, which is released.
    func stopCheckingPath() { pathTimer = nil }

    /// Releases the path or port, from any thread.
    func release() {
        socket.withLock { socket in
            if let descriptor = socket?.rawValue { thread.unwatch(descriptor) }
            socket = nil
        }
    }

    /// Accepts every pending connection of the process's own socket, and then releases it, from any thread.
    ///
    /// Pending connections of an inherited socket wait for the next process.
    func acceptLastAndRelease() {
        if isOwn { _ = acceptPending() }
        release()
    }

    /// Accepts every pending connection, and returns whether none is left.
    private func acceptPending() -> Bool {
        // No more than can have been pending: new senders may connect for as long as this continues. Linux lets one
        // more wait than it is told, and as many as the system allows if the number is negative.
        let backlog = configuration.limits.maximumBacklog
        for _ in 0..<(backlog < 0 ? 1 << 16 : min(backlog, 1 << 16) + 1) {
            do throws(Errno) {
                guard try acceptLast() else { return true }
            } catch .aborted {
                continue
            } catch {
                return error == .again
            }
        }
        return true
    }

    /// Accepts one connection for ``close()`` or ``drain()``; false if the socket has been released.
    ///
    /// The connection is recorded under the socket's lock: if several threads close a server, the first close to be
    /// executed finds everything that any of them has accepted.
    private func acceptLast() throws(Errno) -> Bool {
        try socket.withLock { socket throws(Errno) -> Bool in
            guard let listener = socket?.rawValue else { return false }
            let descriptor = Locked<OwnedDescriptor?>(try Syscalls.accept(from: listener))
            last.withLock { $0.append(descriptor) }
            return true
        }
    }

    private func admitLast() {
        let last = last.withLock { last in
            defer { last = [] }
            return last
        }
        for descriptor in last {
            guard let descriptor = descriptor.withLock({ $0.take() }) else { continue }
            let isAdmitted = keep(descriptor)
            change { $0.accepted(isAdmitted: isAdmitted, self) }
        }
    }

    /// Ends the server and every connection cleanly, including those accepted last.
    func close() {
        admitLast()
        change { $0.close(self) }
    }

    /// Ends the server once everything that has arrived is delivered, including for the connections accepted last.
    func drain() {
        admitLast()
        change { $0.drain(self) }
    }

    // MARK: IOHandler

    func becameReady(_ readiness: Readiness) {
        change { $0.becameReady() }
    }

    func deadlinePassed() {
        change { $0.deadlinePassed(self) }
    }

    /// Reports an event; one that the machine's calls bring about follows it.
    func change(_ event: @escaping (inout ListenerMachine) -> Void) {
        events.append(event)
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        while true {
            if !events.isEmpty {
                events.removeFirst()(&machine)
            } else if machine.isAccepting {
                machine.acceptNext(self)
            } else {
                break
            }
        }
        if let registration, registration.deadline != machine.deadline { registration.deadline = machine.deadline }
    }

    /// Reports an event of a connection, which may run on another thread.
    func onThread(_ event: @escaping @Sendable (inout ListenerMachine, ListeningDriver) -> Void) {
        if thread.isCurrent {
            change { event(&$0, self) }
        } else {
            thread.execute { self.change { event(&$0, self) } }
        }
    }

    /// A snapshot for the program, from any thread.
    var snapshot: FrameServer.Statistics {
        let connections = connections.withLock { Array($0.values) }
        var statistics = counts.withLock { $0 }
        for connection in connections {
            statistics.supersededFrames += connection.mailbox.replaced
            statistics.memoryInFlight += connection.memoryInFlight
        }
        return statistics
    }

    /// Forgets a connection that has ended, on the server's thread.
    func forget(_ connection: ReceivingDriver) {
        count { $0.supersededFrames += connection.mailbox.replaced }
        connections.withLock { $0[connection.id] = nil }
    }
}

/// What the machine calls, on the server's thread.
extension ListeningDriver: ListenerMachine.System {
    var now: UInt64 { MonotonicClock.now() }

    func count(_ change: (inout FrameServer.Statistics) -> Void) { counts.withLock { change(&$0) } }

    // MARK: Accepting

    func accept() throws(Errno) -> Bool? {
        let descriptor = try socket.withLock { socket throws(Errno) -> OwnedDescriptor? in
            guard let listener = socket?.rawValue else { return nil }
            return try Syscalls.accept(from: listener)
        }
        guard let descriptor else { return nil }
        return keep(descriptor)
    }

    /// Keeps a connection that was accepted, and returns whether its user may connect.
    func keep(_ descriptor: consuming OwnedDescriptor) -> Bool {
        let raw = descriptor.rawValue
        accepted = consume descriptor
        // Over TCP the system identifies no peers, and any peer with the right token may connect.
        (acceptedPeer, refusal) = (nil, nil)
        do throws(TransportError) {
            if let path { acceptedPeer = try configuration.peers.admit(raw, at: path) }
        } catch {
            (acceptedPeer, refusal) = (try? Syscalls.peer(of: raw), error)
        }
        return refusal == nil
    }

    func turnAway(for reason: FrameServer.Statistics.Refusal) {
        accepted = nil
        if let refusal = refusal.take() {
            let text = "a sender was refused: \(refusal.message)"
            log?.report(.warning, .refusedForUser, text, peer: acceptedPeer, error: refusal)
        } else {
            let places = configuration.limits.maximumConnections
            let taken = places == 1 ? "the only slot is taken" : "all \(places) slots are taken"
            let text = "a sender was refused: \(taken); it can connect once another sender has left"
            log?.report(.warning, .refusedForPlace, text, peer: acceptedPeer)
        }
    }

    func makeWay(_ id: Int) -> Bool {
        guard let connection = connections.withLock({ $0[id] }), connection.decide(keepsPlace: false) else {
            return false
        }
        connection.report { $0.giveWay($1) }
        return true
    }

    func paused(_ error: Errno) {
        log?.report(.error, .acceptPaused, "no sender is accepted for a while, because the system is short: \(error)")
    }

    func yield() {
        thread.executeAfterPoll { self.change { $0.resume() } }
    }

    func admit(_ id: Int) {
        guard let descriptor = accepted.take() else { return }
        let readers = configuration.readers
        let reader = readers.isEmpty ? thread : readers[id % readers.count]
        let driver = ReceivingDriver(descriptor, id: id, peer: acceptedPeer, thread: reader, server: self)
        connections.withLock { $0[id] = driver }
        let start = { @Sendable [weak self] () -> Void in
            driver.start()
            self?.onThread { $0.started(id, $1) }
        }
        if reader.isCurrent { start() } else { reader.execute(start) }
    }

    // MARK: Ending

    func stopListening() {
        release()
        stopCheckingPath()
        registration?.cancel(isClosed: true)
        registration = nil
        configuration.memory.change { $0.close(places: configuration.limits.maximumConnections) }
    }

    func endPresenting(_ error: TransportError?) {
        if let error { log?.report(.error, .serverFailed, error.message, error: error) }
        mailbox.end(error)
    }

    func closeConnections() { forEachConnection { $0.report { $0.close(nil, $1) } } }
    func drainConnections() { forEachConnection { $0.report { $0.drain($1) } } }

    private func forEachConnection(_ call: (ReceivingDriver) -> Void) {
        for connection in connections.withLock({ Array($0.values) }) { call(connection) }
    }

    func dropDeparted(beyond count: Int) {
        // Released outside the mailbox's lock: its deinitializer closes it.
        guard let dropped = mailbox.removeFirst(beyond: count, where: { $0.driver.closed.value != nil }) else { return }
        dropped.driver.countDrop()
        let text = "the sender has left, and was dropped with its unread frames because too many had left before"
        let error = TransportError(.departedSenderDropped, text)
        log?.report(.warning, .departedSenderDropped, text, connection: dropped.id, peer: dropped.peer, error: error)
    }

    func finish() { closed.set(()) }
}
