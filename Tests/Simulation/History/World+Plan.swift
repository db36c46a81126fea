internal import FrameWire

/// Carries out the steps of a plan.
extension World {
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
            schedule(after: duration) { [self] in
                if hasMissedDescriptors { coverage.count(.descriptorsReturn) }
                descriptorLimit = .max
            }
        case .hang(let place, let duration):
            places[place].hangs = true
            schedule(after: duration) { [self] in places[place].hangs = false }
        case .storm(let place, let count, let isWithToken):
            coverage.count(isWithToken ? .visit : .storm)
            for _ in 0..<count {
                guard let socket = makeSocket(at: place, isOurs: false, capacity: 2_000) else { return }
                guard connect(socket, to: place) == nil else {
                    close(socket)
                    continue
                }
                if isWithToken, random.chance(80) { _ = try? send(socket, Tokens.bytes[...]) }
                if random.chance(isWithToken ? 30 : 80) { close(socket) } else { strays.append(socket) }
            }
        case .breakConnection(let number):
            guard !sockets.isEmpty else { return }
            let socket = number % sockets.count
            // Only TCP breaks from below.
            if sockets[socket].isOpen, sockets[socket].isTCP, case .connected = sockets[socket].phase {
                breakConnection(socket)
            }
        default: break
        }
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
                schedule(after: UInt64(index) * offering.interval) { [self] in sendFrame(peer, length: offering.length)
                }
            }
        default: break
        }
    }

    /// Stops the faults: hostile peers leave, the system has descriptors, places answer, programs consume.
    func stopFaults() {
        for socket in strays where sockets[socket].isOpen { close(socket) }
        strays.removeAll()
        descriptorLimit = .max
        for place in places.indices { places[place].hangs = false }
        for peer in peers.indices {
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
        for peer in peers.indices {
            stopListening(peer)
            endPeer(peer, reset: false)
        }
        releasePrograms()
    }

    func checkReleased() {
        checkNothing(isLeftBy: "the process", ["descriptors": descriptors])
        for thread in threads {
            let counts: KeyValuePairs = ["registrations": thread.liveRegistrations, "work": thread.inbox.count]
            checkNothing(isLeftBy: "a thread", counts)
        }
        checkProgramsReleased()
    }
}
