internal import Locking

/// The listening side of a ``FrameServer``: executes the decisions of its ``ListenerMachine`` on the I/O thread.
///
/// - Note: `@unchecked Sendable` holds because mutable state is accessed only on the I/O thread, or is behind locks;
///   other threads reach it through ``IOThread/execute(_:)``.
final class ListeningDriver: IOHandler, @unchecked Sendable {
    let mailbox: Mailbox<FrameConnection>
    let closed = Latch<Void>()

    /// What the machine counts.
    let counts: Locked<FrameServer.Statistics>

    /// What the connections count.
    let received = ReceivedCounts()

    let log: EventLog?

    private let configuration: FrameServer.Configuration
    private let thread: IOThread
    /// The socket, which ``release()`` may remove on any thread: when it returns, the path is free.
    private let socket: Locked<ListeningSocket?>
    /// The connections accepted while the server was being closed, until the close is executed on the thread.
    private let last = Locked<[Locked<OwnedDescriptor?>]>([])
    /// The parts of the memory budget for its connections, while it listens.
    private var places: FrameServer.MemoryBudget.Places?
    private let isOwn: Bool
    /// The path of the socket; nil for a port.
    private let path: String?

    private var machine: ListenerMachine
    private var isRunning = false
    private var registration: IORegistration?
    /// The connections; other threads only read what these hold.
    let connections = Locked<[Int: ReceivingDriver]>([:])
    /// The connection that was accepted last, with its peer, until the machine has decided on it.
    private var accepted: OwnedDescriptor?
    private var acceptedPeer: PeerPolicy.Credentials?
    /// Why that peer is refused, if it is.
    private var refusal: TransportError?
    let endpoint: String

    init(_ socket: consuming ListeningSocket, configuration: FrameServer.Configuration) {
        isOwn = socket.isOwn
        if case .path(let path) = socket.endpoint { self.path = path } else { path = nil }
        endpoint = socket.endpoint.description
        self.socket = Locked(consume socket)
        log = EventLog(configuration.log)
        self.configuration = configuration
        thread = configuration.thread
        places = configuration.memory.open(places: configuration.limits.maximumConnections)
        machine = ListenerMachine(limits: configuration.limits, usesTokens: configuration.tokens != nil)
        counts = Locked(machine.statistics)
        let owner = WeakReference<ListeningDriver>()
        mailbox = Mailbox(
            capacity: .init(count: .max),
            overflow: .refused,
            onTake: { connection, _ in
                connection.taken()
                guard let driver = owner.object else { return }
                driver.thread.execute { driver.change { $0.taken(connection.id) } }
            }
        )
        owner.object = self
    }

    func start() {
        do {
            // Within the lock, so that the descriptor still belongs to the socket.
            registration = try socket.withLock { socket throws(Errno) -> IORegistration? in
                guard let descriptor = socket?.rawValue else { return nil }
                return try thread.register(descriptor, self)
            }
        } catch {
            change {
                $0.failed(
                    TransportError(.system, underlyingErrno: error.rawValue, "the listening socket cannot be watched")
                )
            }
        }
    }

    /// Releases the path or port, from any thread.
    func release() {
        socket.withLock { socket in
            guard let descriptor = socket?.rawValue else { return }
            thread.unwatch(descriptor)
            socket = nil
        }
    }

    /// Accepts every pending connection of the process's own socket, and then releases it, from any thread.
    ///
    /// Pending connections of an inherited socket wait for the next process.
    func acceptLastAndRelease() {
        if isOwn {
            // No more than can have been pending: new senders may connect for as long as this continues. Linux lets one
            // more wait than it is told, and as many as the system allows if the number is negative.
            let backlog = configuration.limits.maximumBacklog
            for _ in 0..<(backlog < 0 ? 1 << 16 : min(backlog, 1 << 16) + 1) {
                do throws(Errno) {
                    guard try acceptLast() else { break }
                } catch .aborted {
                    continue
                } catch {
                    break
                }
            }
        }
        release()
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
        for descriptor in last { admit(descriptor.withLock { $0.take() }) }
    }

    /// Ends the server and every connection cleanly, including those accepted last.
    func close() {
        admitLast()
        change { $0.close() }
    }

    /// Ends the server once everything that has arrived is delivered, including for the connections accepted last.
    func drain() {
        admitLast()
        change { $0.drain() }
    }

    // MARK: IOHandler

    func becameReady(_ readiness: Readiness) {
        change { $0.becameReady() }
    }

    func deadlinePassed() {
        change { $0.deadlinePassed() }
    }

    // MARK: Commands

    private func change(_ change: (inout ListenerMachine) -> Void) {
        change(&machine)
        // Before any command is executed, so that whoever sees the end of a connection finds it counted.
        counts.withLock { $0 = machine.statistics }
        // Commands may cause further events, whose commands come after the present ones.
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        while let command = machine.nextCommand() { perform(command) }
    }

    private func perform(_ command: ListenerMachine.Command) {
        switch command {
        case .accept: accept()
        case .admit(let id): takeUp(id)
        case .turnAway: turnAway()
        case .makeWay(let id): makeWay(id)
        case .setDeadline(let deadline): registration?.deadline = deadline
        case .yield: thread.executeAfterPoll { self.change { $0.resume() } }
        case .stopListening: stopListening()
        case .endPresenting(let error):
            if let error { report(.error, .serverFailed, error.message, error: error) }
            mailbox.end(error)
        case .closeConnections: forEachConnection { $0.close() }
        case .drainConnections: forEachConnection { $0.drain() }
        case .dropDeparted(let id):
            // Released outside the mailbox's lock: its deinitializer closes it.
            let dropped = mailbox.removeFirst { $0.id == id }
            if dropped != nil {
                let text =
                    "the sender has left, and was dropped with its unread frames because too many had left before"
                report(.warning, .departedSenderDropped, text, connection: id, peer: dropped?.peer)
            }
            change { $0.departedDropped(id, wasQueued: dropped != nil) }
        case .finished: closed.set(())
        }
    }

    private func accept() {
        do throws(Errno) {
            let descriptor = try acceptOne()
            guard descriptor != nil else { return machine.wouldBlock() }
            admit(descriptor)
        } catch .again {
            machine.wouldBlock()
        } catch .aborted {
            machine.acceptAborted()
        } catch {
            machine.acceptFailed(error, at: MonotonicClock.now())
            counts.withLock { $0 = machine.statistics }
            guard machine.statistics.isAcceptingPaused else { return }
            report(.error, .acceptPaused, "no sender is accepted for a while, because the system is short: \(error)")
        }
    }

    /// Accepts one connection; nil if the socket has been released.
    private func acceptOne() throws(Errno) -> OwnedDescriptor? {
        try socket.withLock { socket throws(Errno) -> OwnedDescriptor? in
            guard let listener = socket?.rawValue else { return nil }
            return try Syscalls.accept(from: listener)
        }
    }

    /// Lets the machine decide on an accepted connection.
    private func admit(_ descriptor: consuming OwnedDescriptor?) {
        guard let raw = descriptor?.rawValue else { return }
        accepted = consume descriptor
        // Over TCP the system identifies no peers, and any peer with the right token may connect.
        (acceptedPeer, refusal) = (nil, nil)
        do throws(TransportError) {
            if let path { acceptedPeer = try configuration.peers.admit(raw, at: path) }
        } catch {
            (acceptedPeer, refusal) = (try? Syscalls.peer(of: raw), error)
        }
        let isAdmitted = refusal == nil
        change { $0.accepted(isAdmitted: isAdmitted) }
    }

    private func turnAway() {
        accepted = nil
        if let refusal = refusal.take() {
            let text = "a sender was refused: \(refusal.message)"
            report(.warning, .refusedForUser, text, peer: acceptedPeer, error: refusal)
        } else {
            let places = configuration.limits.maximumConnections
            let text =
                "a sender was refused: all \(places) slots are taken; raise maximumConnections if it should not be"
            report(.warning, .refusedForPlace, text, peer: acceptedPeer)
        }
    }

    private func takeUp(_ id: Int) {
        guard let descriptor = accepted.take() else { return }
        let peer = acceptedPeer
        let readers = configuration.readers
        let reader = readers.isEmpty ? thread : readers[id % readers.count]
        let driver = ReceivingDriver(
            descriptor,
            id: id,
            thread: reader,
            configuration: configuration,
            counts: received,
            onUndecodable: { [log, endpoint] index in
                let text = "frame \(index) could not be decoded"
                log?.report(
                    TransportEvent(.warning, .frameDropped, text, endpoint: endpoint, connection: id, peer: peer)
                )
            }
        )
        connections.withLock { $0[id] = driver }
        configuration.tap?.connectionDidOpen(id)
        let (log, endpoint, mailbox) = (log, endpoint, mailbox)
        let onReady = { @Sendable [weak self] () -> Void in
            log?.report(.opened(id, peer, at: endpoint))
            let connection = FrameConnection(id: id, peer: peer, driver: driver)
            self?.onThread {
                $0.machine.tokenShown(id)
                $0.machine.queued(id)
            }
            if !mailbox.put(connection) { self?.onThread { $0.machine.taken(id) } }
        }
        let onClosed = { @Sendable [weak self] (wasReady: Bool) -> Void in
            if let reason = driver.closed.value {
                log?.report(.ended(id, peer, at: endpoint, reason, wasReady: wasReady))
            }
            self?.onThread { listener in
                listener.received.superseded.add(driver.mailbox.replaced)
                listener.connections.withLock { $0[id] = nil }
                listener.configuration.tap?.connectionDidClose(id)
                listener.machine.ended(id, wasReady: wasReady)
            }
        }
        let onDropped = { @Sendable [weak self] () -> Void in
            let text = "the sender has left, and its unread frames were dropped because their memory was needed"
            log?.report(
                TransportEvent(.warning, .departedSenderDropped, text, endpoint: endpoint, connection: id, peer: peer)
            )
            self?.onThread { $0.machine.framesDropped(id) }
        }
        let start = { @Sendable [weak self] () -> Void in
            driver.start(onReady: onReady, onClosed: onClosed, onDropped: onDropped)
            self?.onThread { $0.machine.started(id) }
        }
        if reader.isCurrent { start() } else { reader.execute(start) }
    }

    /// Reports an event of a connection, which may run on another thread.
    private func onThread(_ event: @escaping @Sendable (ListeningDriver) -> Void) {
        if thread.isCurrent {
            event(self)
            change { _ in }
        } else {
            thread.execute {
                event(self)
                self.change { _ in }
            }
        }
    }

    private func makeWay(_ id: Int) {
        let connection = connections.withLock { $0[id] }
        let isLeaving = connection?.place.revoke() ?? false
        if isLeaving, let connection { order(connection) { $0.giveWay() } }
        machine.madeWay(id, isLeaving: isLeaving)
    }

    private func forEachConnection(_ call: @escaping @Sendable (ReceivingDriver) -> Void) {
        for connection in connections.withLock({ Array($0.values) }) { order(connection, call) }
    }

    /// Calls a connection on its thread, later: it may just be telling this server something.
    private func order(_ connection: ReceivingDriver, _ call: @escaping @Sendable (ReceivingDriver) -> Void) {
        connection.thread.execute { call(connection) }
    }

    private func stopListening() {
        release()
        registration?.cancel(isClosed: true)
        registration = nil
        places = nil
    }
}
