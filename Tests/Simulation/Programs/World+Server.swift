internal import FrameTransport
internal import FrameWire

/// The shell of a server, and the program that starts, drains and closes it.
extension World {
    /// Adds a server to the history; it does not listen yet.
    func addServer(_ plan: ServerPlan, _ all: Plan) -> Int {
        serverPlans.append((plan, all.places[plan.place].usesTokens, -1))
        return serverPlans.count - 1
    }

    /// The server that a program has at present.
    private func server(of program: Int) -> SimServer? {
        let index = serverPlans[program].current
        return index < 0 ? nil : servers[index]
    }

    func perform(_ action: Plan.Action, server program: Int) {
        if case .appear = action { return startServer(program) }
        guard let server = server(of: program) else { return }
        switch action {
        case .leave: close(server)
        case .drain: drain(server)
        case .pace(let pace):
            server.pace = pace
            for index in server.connections.values.sorted() { wakeConsumer(receivers[index]) }
            if server.current >= 0 { wakeConsumer(receivers[server.current]) }
        default:
            // What is left is for the connection that was taken last.
            if server.current >= 0 { perform(action, receiver: receivers[server.current]) }
        }
    }

    private func startServer(_ program: Int) {
        if let server = server(of: program), !server.isClosed { return }
        let (plan, usesTokens, _) = serverPlans[program]
        guard let socket = listen(at: plan.place, isOurs: true, backlog: 128) else { return }
        if serverPlans[program].current >= 0 { coverage.count(.restart) }
        let tokens = usesTokens ? HandshakeTokens(shared: Tokens.bytes) : nil
        let server = SimServer(plan, index: servers.count, socket: socket, tokens: tokens)
        servers.append(server)
        budgets[plan.budget].machine.open(places: server.limits.maximumConnections)
        serverPlans[program].current = server.index
        note("server \(server.index) listens at place \(plan.place)")
        execute(.start, for: .server(server.index), on: plan.thread)
        consumeConnections(server)
    }

    /// Closes a server; its place is free when this returns.
    func close(_ server: SimServer) {
        guard !server.isClosed else { return }
        end(server, by: .close(nil))
    }

    private func drain(_ server: SimServer) {
        guard !server.isClosed else { return }
        coverage.count(.drain)
        server.isDraining = true
        end(server, by: .drain)
    }

    /// Accepts whoever waits, and releases the place.
    private func end(_ server: SimServer, by task: SimThread.Task) {
        server.isClosed = true
        acceptLast(server)
        stopListening(server)
        check(.reusableAtOnce, places[server.plan.place].listener < 0, "the place is taken after the server was closed")
        execute(task, for: .server(server.index), on: server.plan.thread)
    }

    private func acceptLast(_ server: SimServer) {
        guard server.socket >= 0 else { return }
        while true {
            switch accept(server.socket, isOurs: true) {
            case .success(let socket):
                coverage.count(.acceptedAtTheEnd)
                server.last.append(socket)
            case .failure(let failure):
                guard case .aborted = failure.failure else { return }
            }
        }
    }

    private func admitLast(_ server: SimServer) {
        let last = server.last
        server.last = []
        for socket in last {
            server.accepted = socket
            change(server) { $0.accepted(isAdmitted: true) }
        }
    }

    private func stopListening(_ server: SimServer) {
        guard server.socket >= 0 else { return }
        close(server.socket)
        server.socket = -1
    }

    // MARK: The machine

    func run(_ task: SimThread.Task, of server: SimServer) {
        switch task {
        case .start:
            guard server.socket >= 0 else { return }
            server.registration = register(.server(server.index), socket: server.socket, on: server.plan.thread)
        case .close:
            admitLast(server)
            change(server) { $0.close() }
        case .drain:
            admitLast(server)
            change(server) { $0.drain() }
        case .accept: change(server) { $0.resume() }
        case .taken(let id): change(server) { $0.taken(id) }
        case .started(let id): change(server) { $0.started(id) }
        case .tokenShown(let id): change(server) { $0.tokenShown(id) }
        case .queued(let id): change(server) { $0.queued(id) }
        case .framesDropped(let id): change(server) { $0.framesDropped(id) }
        case .ended(let id, let wasReady):
            server.connections[id] = nil
            change(server) { $0.ended(id, wasReady: wasReady) }
        default: break
        }
    }

    /// A connection reports to its server, which may have another thread.
    func tell(_ task: SimThread.Task, of receiver: SimReceiver) {
        let server = servers[receiver.server]
        guard receiver.thread != server.plan.thread else { return run(task, of: server) }
        coverage.count(.anotherReader)
        execute(task, for: .server(server.index), on: server.plan.thread)
    }

    /// A server orders a connection to do something, never within an event of that connection.
    private func order(_ task: SimThread.Task, _ receiver: SimReceiver) {
        execute(task, for: .receiver(receiver.index), on: receiver.thread)
    }

    func change(_ server: SimServer, _ report: (inout ListenerMachine) -> Void) {
        report(&server.machine)
        // What is carried out may bring about further events: their commands come after those that are there.
        guard !server.isRunning else { return }
        server.isRunning = true
        defer { server.isRunning = false }
        var count = 0
        while let command = server.machine.nextCommand() {
            note("  server \(server.index): \(command)")
            perform(command, of: server)
            count += 1
            check(.progress, count < 10_000, "a listener never stops giving commands")
            guard violation == nil else { return }
        }
    }

    private func perform(_ command: ListenerMachine.Command, of server: SimServer) {
        let thread = server.plan.thread
        switch command {
        case .accept: accept(server)
        case .admit(let id): admit(server, id)
        case .turnAway:
            coverage.count(.refusedConnection)
            if server.accepted >= 0 { close(server.accepted) }
            server.accepted = -1
        case .setDeadline(let deadline):
            if server.timer < 0 { server.timer = register(.server(server.index), socket: -1, on: thread) }
            setDeadline(deadline, of: server.timer, on: thread)
        case .yield: executeAfterPoll(.accept, for: .server(server.index), on: thread)
        case .stopListening:
            if server.registration >= 0 { cancel(server.registration, on: thread) }
            if server.timer >= 0 { cancel(server.timer, on: thread) }
            (server.registration, server.timer) = (-1, -1)
            stopListening(server)
            budgets[server.plan.budget].machine.close(places: server.limits.maximumConnections)
        case .endPresenting(let error):
            for waiter in server.mailbox.end(error) where waiter == server.waiter { wakeConnectionConsumer(server) }
        case .closeConnections:
            for index in server.connections.values.sorted() { order(.close(nil), receivers[index]) }
        case .drainConnections:
            for index in server.connections.values.sorted() { order(.drain, receivers[index]) }
        case .makeWay(let id):
            guard let receiver = server.connections[id].map({ receivers[$0] }), receiver.place == .revocable else {
                coverage.count(.placeWasKept)
                return server.machine.madeWay(id, isLeaving: false)
            }
            coverage.count(.handshakeGaveWay)
            receiver.place = .revoked
            order(.giveWay, receiver)
            server.machine.madeWay(id, isLeaving: true)
        case .dropDeparted(let id): dropDeparted(server, id)
        case .finished:
            check(.toldOnce, !server.isFinished, "a server ends twice")
            server.isFinished = true
        }
    }

    private func accept(_ server: SimServer) {
        guard server.socket >= 0 else { return server.machine.wouldBlock() }
        turn.accepts += 1
        switch accept(server.socket, isOurs: true) {
        case .success(let socket):
            server.accepted = socket
            server.machine.accepted(isAdmitted: true)
        case .failure(let failure):
            switch failure.failure {
            case .again: server.machine.wouldBlock()
            case .aborted: server.machine.acceptAborted()
            default: server.machine.acceptFailed(failure.failure.errno, at: now)
            }
        }
    }

    private func admit(_ server: SimServer, _ id: Int) {
        let socket = server.accepted
        server.accepted = -1
        guard socket >= 0 else { return violate(.order, "a connection is admitted that was not accepted") }
        let budget = server.plan.budget
        let allowance = budgets[budget].machine.join()
        let receiver = SimReceiver(
            self,
            server: server,
            index: receivers.count,
            id: id,
            socket: socket,
            allowance: allowance,
            largestGrant: budgets[budget].machine.largestGrant,
            pool: pool,
            racing: Random(seed: seed, part: 200_000 + receivers.count)
        )
        receivers.append(receiver)
        server.connections[id] = receiver.index
        sockets[socket].capacity = receiver.requestCapacity
        if receiver.thread == server.plan.thread { begin(receiver) } else { order(.begin, receiver) }
        // On another thread a connection may have ended without the server's knowing yet.
        let connected = server.connections.values.map { receivers[$0] }.filter { $0.closeReason == nil }
        let staying = connected.filter { $0.place != .revoked }
        let handshakes = server.tokens == nil ? Int.max : max(1, server.limits.maximumHandshakes)
        let handshaking = staying.count { !$0.isPresented }
        check(.placesAreBounded, handshaking <= handshakes, "\(handshaking) connections have yet to show their token")
        let leaving = connected.count - staying.count
        check(.placesAreBounded, leaving <= handshakes, "\(leaving) connections have made way, and are still there")
        let places = server.limits.maximumConnections
        check(.placesAreBounded, staying.count <= places, "\(staying.count) connections, \(places) places")
    }

    private func dropDeparted(_ server: SimServer, _ id: Int) {
        let index = server.mailbox.removeFirst { self.receivers[$0].id == id }
        server.machine.departedDropped(id, wasQueued: index != nil)
        guard let index else { return }
        coverage.count(.departedSenderDropped)
        letGo(receivers[index])
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
        tell(.tokenShown(receiver.id), of: receiver)
        tell(.queued(receiver.id), of: receiver)
        let (isAccepted, woken) = server.mailbox.put(receiver.index)
        // A token may come after the end.
        let isHeard = isAccepted || server.tokens != nil
        check(.lastAreHeard, isHeard, "connection \(receiver.id) was accepted before the end, and is not presented")
        if !isAccepted {
            tell(.taken(receiver.id), of: receiver)
            letGo(receiver)
        }
        let limit = 2 * server.limits.maximumConnections
        check(
            .visitorsAreBounded,
            server.mailbox.count <= limit,
            "\(server.mailbox.count) connections wait to be taken"
        )
        if let woken, woken == server.waiter { wakeConnectionConsumer(server) }
    }

    private func wakeConnectionConsumer(_ server: SimServer) {
        schedule(.connectionConsumer, .server(server.index), after: random.time(in: 1_000...40_000))
    }

    func step(_ timer: ProgramTimer, of server: SimServer) {
        guard case .connectionConsumer = timer else { return }
        if let waiter = server.waiter {
            server.waiter = nil
            switch server.mailbox.takeDelivery(for: waiter) {
            case .element(let taken): take(receivers[taken.element], server)
            case .end:
                server.hasEnded = true
                return
            }
        }
        consumeConnections(server)
    }

    func consumeConnections(_ server: SimServer) {
        guard server.takesConnections, !server.hasEnded, server.waiter == nil else { return }
        while let taken = server.mailbox.take() { take(receivers[taken.element], server) }
        let waiter = server.mailbox.makeWaiter()
        server.waiter = waiter
        if server.mailbox.wait(waiter) { wakeConnectionConsumer(server) }
    }

    private func take(_ receiver: SimReceiver, _ server: SimServer) {
        execute(.takenByProgram, for: .receiver(receiver.index), on: receiver.thread)
        execute(.taken(receiver.id), for: .server(server.index), on: server.plan.thread)
        receiver.isTaken = true
        server.current = receiver.index
        startConsumers(receiver)
    }
}
