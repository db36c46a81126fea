internal import FrameTransport
internal import FrameWire

/// The shell of a server, and the program that starts, drains and closes it.
extension World {
    func perform(_ action: Plan.Action, server program: Int) {
        if case .appear = action { return startServer(program) }
        guard let server = serverPlans[program].current else { return }
        switch action {
        case .leave: close(server)
        case .drain: drain(server)
        case .pace(let pace):
            server.pace = pace
            for index in server.connections.values.sorted() { consumeFrames(receivers[index]) }
            if server.current >= 0 { consumeFrames(receivers[server.current]) }
        default:
            // What is left is for the connection that was taken last.
            if server.current >= 0 { perform(action, receiver: receivers[server.current]) }
        }
    }

    private func startServer(_ program: Int) {
        let (plan, former) = serverPlans[program]
        if let former, !former.isClosed { return }
        guard let socket = listen(at: plan.place, isOurs: true, backlog: 128) else { return }
        if former != nil { coverage.count(.restart) }
        let tokens = self.plan.places[plan.place].usesTokens ? HandshakeTokens(shared: Tokens.bytes) : nil
        let server = SimServer(self, plan, index: servers.count, socket: socket, tokens: tokens)
        servers.append(server)
        budgets[plan.budget].machine.open(places: server.limits.maximumConnections)
        serverPlans[program].current = server
        note("server \(server.index) listens at place \(plan.place)")
        execute(for: server) { [self] in
            if server.socket >= 0 { server.registration = register(server, socket: server.socket) }
        }
        consumeConnections(server)
    }

    /// Closes a server; its place is free when this returns.
    func close(_ server: SimServer) {
        guard !server.isClosed else { return }
        end(server) { $0.close(server) }
    }

    private func drain(_ server: SimServer) {
        guard !server.isClosed else { return }
        coverage.count(.drain)
        server.isDraining = true
        end(server) { $0.drain(server) }
    }

    /// Accepts whoever waits, and releases the place.
    private func end(_ server: SimServer, by event: @escaping (inout ListenerMachine) -> Void) {
        server.isClosed = true
        acceptLast(server)
        stopListening(server)
        check(.reusableAtOnce, places[server.plan.place].listener < 0, "the place is taken after the server was closed")
        execute(for: server) { [self] in
            admitLast(server)
            change(server, event)
        }
    }

    private func acceptLast(_ server: SimServer) {
        guard server.socket >= 0 else { return }
        while true {
            do {
                server.last.append(try accept(server.socket, isOurs: true))
                coverage.count(.acceptedAtTheEnd)
            } catch {
                guard error == .aborted else { return }
            }
        }
    }

    private func admitLast(_ server: SimServer) {
        let last = server.last
        server.last = []
        for socket in last {
            server.accepted = socket
            change(server) { $0.accepted(isAdmitted: true, server) }
        }
    }

    func stopListening(_ server: SimServer) {
        guard server.socket >= 0 else { return }
        close(server.socket)
        server.socket = -1
    }

    // MARK: The machine

    /// A connection reports to its server, which may have another thread.
    func tell(of receiver: SimReceiver, _ event: @escaping (SimServer) -> Void) {
        let server = servers[receiver.server]
        guard receiver.thread != server.thread else { return event(server) }
        coverage.count(.anotherReader)
        execute(for: server) { event(server) }
    }

    func change(_ server: SimServer, _ event: @escaping (inout ListenerMachine) -> Void) {
        // One that the machine's calls bring about follows it.
        server.events.append(event)
        guard !server.isRunning else { return }
        server.isRunning = true
        defer { server.isRunning = false }
        var count = 0
        while violation == nil {
            if !server.events.isEmpty {
                server.events.removeFirst()(&server.machine)
            } else if server.machine.isAccepting {
                server.machine.acceptNext(server)
            } else {
                break
            }
            count += 1
            check(.progress, count < 10_000, "a listener never stops")
        }
        guard server.timer >= 0 || server.machine.deadline != nil, server.registration >= 0 else { return }
        if server.timer < 0 { server.timer = register(server, socket: -1) }
        setDeadline(server.machine.deadline, of: server.timer, on: server.thread)
    }

    // MARK: The program takes connections

    /// A connection is given to the program.
    func present(_ receiver: SimReceiver) {
        let server = servers[receiver.server]
        check(.presentedOnce, !receiver.isPresented, "a connection is presented twice")
        check(.placesAreBounded, receiver.place != .revoked, "a connection is presented in another's place")
        let isInOrder = server.presented.last ?? 0 < receiver.id
        check(.presentedOnce, isInOrder || server.tokens != nil || !server.plan.readers.isEmpty, "out of order")
        checkToken(of: receiver)
        receiver.isPresented = true
        server.presented.append(receiver.id)
        tell(of: receiver) { [self] server in change(server) { $0.tokenShown(receiver.id) } }
        let (isAccepted, woken) = server.arrivals.mailbox.put(receiver.index)
        // A token may come after the end.
        let isHeard = isAccepted || server.tokens != nil
        check(.lastAreHeard, isHeard, "connection \(receiver.id) was accepted before the end, and is not presented")
        if !isAccepted { letGo(receiver) }
        let limit = 2 * server.limits.maximumConnections
        let count = server.arrivals.mailbox.count
        check(.visitorsAreBounded, count <= limit, "\(count) connections wait to be taken")
        wakeConnectionConsumer(server, woken)
    }

    func wakeConnectionConsumer(_ server: SimServer, _ woken: UInt64?) {
        guard server.arrivals.mustWake(woken) else { return }
        schedule(after: random.time(in: 1_000...40_000)) { [self] in consumeConnections(server) }
    }

    func consumeConnections(_ server: SimServer) {
        // A task that waits goes on when it is woken.
        let isWaiting = server.arrivals.waiter != nil && !server.arrivals.hasBeenWoken
        guard server.takesConnections, !server.arrivals.hasEnded, !isWaiting else { return }
        guard server.arrivals.takeAll({ take(receivers[$0], server) }) == nil else { return }
        if server.arrivals.wait() { wakeConnectionConsumer(server, server.arrivals.waiter) }
    }

    private func take(_ receiver: SimReceiver, _ server: SimServer) {
        execute(for: receiver) { [self] in
            let asks = receiver.asks
            change(receiver) { $0.taken(receiver) }
            if receiver.asks != asks { coverage.count(.largeBodyWaitedForProgram) }
        }
        receiver.isTaken = true
        server.current = receiver.index
        startConsumers(receiver)
    }
}
