internal import FrameWire

/// Carries out the steps of a plan.
extension World {
    /// Sets up a history.
    func begin(_ plan: Plan, seed: UInt64) {
        reset(seed: seed, places: plan.places.count, threads: plan.threads)
        if plan.actors.count > 8 { coverage.count(.manyEndpoints) }
        for (index, place) in plan.places.enumerated() {
            places[index].isPort = place.isPort
            places[index].isEphemeral = place.isEphemeral
            if place.isPort { coverage.count(.tcp) }
        }
        for bytes in plan.budgets { budgets.append(SimBudget(bytes: bytes)) }
        // Nothing that a sender promises takes long, so that only threads of servers are held up.
        let busy = plan.actors.compactMap { if case .sender(let sender) = $0 { sender.thread } else { nil } }
        for index in 0..<plan.threads { threads[index].isHeldUp = !busy.contains(index) }
        if plan.budgets.count == 1, plan.actors.count > 1 { coverage.count(.sharedBudget) }
        actors.removeAll(keepingCapacity: true)
        for actor in plan.actors {
            switch actor {
            case .peer(let peer): actors.append(.peer(addPeer(peer)))
            case .server(let server): actors.append(.server(addServer(server, plan)))
            case .sender(let sender): actors.append(.sender(addSender(sender, plan)))
            }
        }
    }

    func perform(_ step: Plan.Step) {
        note("step: \(step.actor < 0 ? "the system" : "actor \(step.actor)") \(step.action)")
        guard step.actor >= 0 else { return performFault(step.action) }
        switch actors[step.actor] {
        case .peer(let peer): perform(step.action, peer: peer)
        case .server(let server): perform(step.action, server: server)
        case .sender(let sender): perform(step.action, sender: sender)
        }
    }

    private func performFault(_ action: Plan.Action) {
        switch action {
        case .shortage(let duration):
            descriptorLimit = descriptors
            hasMissedDescriptors = false
            events.schedule(.descriptorsReturn, 0, at: now + duration)
        case .hang(let place, let duration):
            places[place].hangs = true
            events.schedule(.placeAnswers, place, at: now + duration)
        case .storm(let place, let count):
            coverage.count(.storm)
            for _ in 0..<count {
                guard let socket = makeSocket(at: place, isOurs: false, capacity: 2_000) else { return }
                let isConnected = connect(socket, to: place) == nil
                if !isConnected || random.chance(80) { close(socket) } else { strays.append(socket) }
            }
        case .visit(let place):
            coverage.count(.visit)
            guard let socket = makeSocket(at: place, isOurs: false, capacity: 2_000) else { return }
            guard connect(socket, to: place) == nil else { return close(socket) }
            if random.chance(80) { _ = try? send(socket, Tokens.bytes[...]) }
            if random.chance(30) { close(socket) } else { strays.append(socket) }
        case .breakConnection(let number):
            guard socketCount > 0 else { return }
            let socket = number % socketCount
            // Only TCP breaks from below.
            if sockets[socket].isOpen, sockets[socket].isTCP, case .connected = sockets[socket].phase {
                breakConnection(socket)
            }
        default: break
        }
    }

    /// A shortage of descriptors is over.
    func descriptorsReturn() {
        if hasMissedDescriptors { coverage.count(.descriptorsReturn) }
        descriptorLimit = .max
    }

    private func perform(_ action: Plan.Action, peer: Int) {
        let isSender = peers[peer].role.isSender
        switch action {
        case .appear:
            if isSender { connectPeer(peer) } else { listenPeer(peer) }
        case .leave:
            endPeer(peer, reset: false)
            if !isSender { stopListening(peer) }
        case .reset:
            endPeer(peer, reset: true)
        case .offer(let offering):
            for index in 0..<offering.count {
                peers[peer].framesToSend.append(offering.length)
                events.schedule(.peer, peer, -2, at: now + UInt64(index) * offering.interval)
            }
        default: break
        }
    }

    /// Stops the faults: hostile peers leave, the system has descriptors, places answer, programs consume.
    func stopFaults() {
        for socket in strays where sockets[socket].isOpen { close(socket) }
        strays.removeAll(keepingCapacity: true)
        descriptorLimit = .max
        for place in places.indices { places[place].hangs = false }
        for peer in 0..<peerCount {
            peers[peer].readsNothing = false
            switch peers[peer].role {
            case .hostileSender, .hostileReceiver:
                stopListening(peer)
                endPeer(peer, reset: false)
            case .plainReceiver:
                peers[peer].readPause = 0
                peers[peer].readSize = 10_240
                listenPeer(peer)
            case .plainSender: break
            }
        }
        stopProgramFaults()
    }

    func releaseEverything() {
        for peer in 0..<peerCount {
            stopListening(peer)
            endPeer(peer, reset: false)
        }
        releasePrograms()
    }

    func checkReleased() {
        check(.noResidue, descriptors == 0, "\(descriptors) descriptors are left")
        for index in threads.indices {
            let thread = threads[index]
            check(.noResidue, thread.liveRegistrations == 0, "\(thread.liveRegistrations) registrations are left")
            check(.noResidue, thread.inbox.isEmpty, "work is left for a thread")
        }
        checkProgramsReleased()
    }
}

/// Somebody who takes part in a history.
enum ActorIndex {
    case peer(Int)
    case server(Int)
    case sender(Int)
}
