internal import FrameWire

/// Makes plans: what could happen, as often as it pays to let it.
struct PlanGenerator {
    var random: Random
    var plan = Plan()
    var time: UInt64 = 1_000_000_000
    private var identity: UInt16 = 0
    let seed: UInt64
    /// Decides which senders rotate images.
    private var turning: Random

    /// What this history is mostly about; other things happen too, but less often.
    enum Theme: Int, CaseIterable {
        case mixed, requests, pacing, hostility, memory, reconnecting, tokens, crowd, ends, audio, patience, sharing
    }

    var theme = Theme.mixed

    /// The servers whose latest connection has been asked to pause.
    var paused: Set<Int> = []

    /// Returns the plan of a seed.
    static func plan(seed: UInt64) -> Plan {
        var generator = PlanGenerator(seed: seed)
        return generator.make()
    }

    private init(seed: UInt64) {
        self.seed = seed
        random = Random(seed: seed, part: 0)
        turning = Random(seed: seed, part: 2)
    }

    private mutating func make() -> Plan {
        theme = Theme(rawValue: random.below(Theme.allCases.count)) ?? .mixed
        plan.threads = random.pick(1, 1, 2)
        let placeCount = theme == .reconnecting ? 1 : random.pick(1, 1, 2)
        for _ in 0..<placeCount { addPlace() }
        let bytes = theme == .memory ? random.pick(20_000, 60_000, 200_000) : random.pick(60_000, 1 << 20, 64 << 20)
        plan.budgets = random.chance(50) ? [bytes] : [bytes, bytes]
        for place in 0..<placeCount { addReceivers(at: place) }
        let senders = theme == .crowd ? random.number(in: 6...28) : random.number(in: 1...5)
        for _ in 0..<senders { addSender() }
        addReaders()
        for actor in plan.actors.indices { addFirstStep(of: actor) }
        // Many histories are short: what goes wrong mostly takes few steps, and another history tries others. Few actors
        // take more steps each.
        let actors = plan.actors.count
        let stepCount =
            random.number(in: random.chance(60) ? 10...22 : 30...45) + (actors < 4 ? 30 : actors < 6 ? 10 : 0)
            + (theme == .crowd ? 10 : 0)
        for _ in 0..<stepCount { addStep() }
        addLateArrivals()
        addCrowds()
        addImpatience()
        addStatements()
        addAdaptations()
        plan.end = time + 1_000_000
        return plan
    }

    private mutating func addPlace() {
        var place = Plan.PlacePlan()
        place.isPort = random.chance(theme == .tokens ? 50 : 15)
        place.isEphemeral = place.isPort && random.chance(40)
        place.usesTokens = place.isPort || random.chance(theme == .tokens ? 80 : 10)
        plan.places.append(place)
    }

    /// Gives some servers threads that read their connections, their own among them or not.
    private mutating func addReaders() {
        var random = Random(seed: seed, part: 3)
        for actor in plan.actors.indices {
            let chance = theme == .tokens ? 60 : 20
            guard case .server(var server) = plan.actors[actor], random.chance(chance) else { continue }
            let count = random.number(in: 1...2)
            server.readers = Array(plan.threads..<plan.threads + count)
            if random.chance(30) { server.readers.append(server.thread) }
            plan.threads += count
            plan.actors[actor] = .server(server)
        }
    }

    // MARK: Actors

    private mutating func addReceivers(at place: Int) {
        let kind = random.below(100)
        let servers = theme == .patience ? 55 : 78
        if kind < servers {
            plan.actors.append(.server(server(at: place)))
            // A second server at the same place takes over when the first one closes.
            if theme == .reconnecting || random.chance(10) { plan.actors.append(.server(server(at: place))) }
        } else if kind < (theme == .patience ? 90 : 88), !plan.places[place].usesTokens {
            plan.actors.append(.peer(peer(.plainReceiver, at: place)))
        } else {
            let hostility = HostileReceiving(rawValue: random.below(HostileReceiving.allCases.count)) ?? .pingFlood
            plan.actors.append(.peer(peer(.hostileReceiver(hostility), at: place)))
        }
    }

    private mutating func server(at place: Int) -> ServerPlan {
        let talks = theme == .requests || theme == .audio || random.chance(60)
        let wants: ControlRequest.Wants =
            switch theme {
            case .audio: random.pick([.audio], [.frames, .audio])
            default: random.pick([.frames], [.frames], [.frames, .audio], [])
            }
        return ServerPlan(
            place: place,
            thread: random.below(plan.threads),
            budget: random.below(plan.budgets.count),
            connections: random.pick(2, 3, 4, 8, 64),
            deliversNewest: random.chance(40),
            hello: talks ? wants : nil,
            pace: theme == .patience && random.chance(60)
                ? .silent : random.pick(.prompt, .prompt, .slow(random.time(in: 100_000...50_000_000)), .silent),
            takesConnections: random.chance(92),
            firstFrame: random.chance(70) ? 10_000_000_000 : nil,
            idle: random.chance(theme == .patience ? 50 : 15)
                ? random.pick(30_000_000, 200_000_000, 3_000_000_000) : nil,
            isPort: plan.places[place].isPort,
            consumesOnThread: random.chance(25),
            requestCapacity: random.pick(theme == .sharing ? 60 : 200, 2_000, 200_000),
            acceptsSharedMemory: random.chance(theme == .sharing ? 90 : 50),
            keeping: random.pick(
                .nothing,
                .some(percent: 30, time: 40_000_000),
                .some(percent: 90, time: random.pick(1_000_000, 2_000_000_000)),
                .everything
            ),
            lostDescriptors: random.chance(15) ? random.pick(5, 50) : 0,
            failingMappings: random.chance(15) ? random.pick(5, 50) : 0
        )
    }

    private mutating func addSender() {
        let place = random.below(plan.places.count)
        let kind = random.below(100)
        let hostile = theme == .hostility ? 60 : theme == .crowd || theme == .tokens ? 40 : 15
        identity += 1
        if kind < hostile {
            let hostility =
                theme == .tokens && random.chance(70)
                ? random.pick(
                    .wrongToken,
                    .halfToken,
                    .descriptorWithToken,
                    .everythingAtOnce,
                    .everythingAtOnce,
                    .everythingAtOnce
                )
                : HostileSending(rawValue: random.below(HostileSending.allCases.count)) ?? .garbage
            plan.actors.append(.peer(peer(.hostileSender(hostility), at: place)))
        } else if kind < hostile + 15 {
            plan.actors.append(.peer(peer(.plainSender(reads: random.chance(50)), at: place)))
        } else {
            var sender = sender(at: place)
            if turning.chance(30) { makeStill(&sender) }
            plan.actors.append(.sender(sender))
        }
    }

    /// Gives the sender an often unchanged source.
    private mutating func makeStill(_ sender: inout SenderPlan) {
        sender.pacing = turning.pick(
            .skippingUnchanged(rate: 15, keepAlive: turning.pick(nil, 1_000_000_000)),
            .adaptive(still: 2, motion: 20)
        )
        if turning.chance(50) { sender.images = .mixed }
        // Frames come while one is found to be unchanged.
        if turning.chance(40) { sender.encodingTime = 30_000_000 }
    }

    private mutating func sender(at place: Int) -> SenderPlan {
        SenderPlan(
            identity: identity,
            place: place,
            thread: random.below(plan.threads),
            usesUploader: random.chance(85),
            reopens: random.chance(85),
            pads: random.chance(20),
            pacing: pacing(),
            socketCapacity: capacity(),
            keepsLatestImage: !random.chance(15),
            encodingTime: random.pick(5_000, 200_000, 8_000_000),
            retryInterval: random.chance(25) ? 100_000_000 : random.pick(1_000_000_000, 3_000_000_000),
            images: random.chance(theme == .sharing ? 95 : theme == .memory ? 80 : 60)
                ? random.pick(.ordinary, .mixed) : .none,
            sharesMemory: random.chance(theme == .sharing ? 95 : 60),
            failingBuffers: random.chance(10) ? 20 : 0,
            largestSide: random.chance(theme == .memory ? 60 : 25) ? random.pick(16, 48) : nil,
            appliesOrientation: turning.chance(30)
        )
    }

    private mutating func capacity() -> Int {
        if theme == .sharing, random.chance(50) { return random.pick(150, 300, 700) }
        return random.pick(150, 300, 2_000, 16_000, 200_000, random.number(in: 1...5_000))
    }

    mutating func pacing() -> Plan.PacingChoice {
        guard theme == .pacing || random.chance(50) else { return .everyFrame }
        switch random.below(5) {
        case 0: return .every(random.number(in: 1...4))
        case 1: return .framesPerSecond(random.pick(5, 15, 30, 60))
        case 2: return .adaptive(still: 2, motion: 20)
        case 3:
            let rate: Double? = turning.pick(nil, 15)
            return .skippingUnchanged(rate: rate, keepAlive: random.pick(nil, 1_000_000_000))
        default: return .everyFrame
        }
    }

    private mutating func peer(_ role: ScriptedPeer.Role, at place: Int) -> ScriptedPeer {
        var peer = ScriptedPeer(role: role, place: place, identity: 0, socketCapacity: random.pick(2_000, 200_000))
        if role.isSender { peer.identity = identity }
        if case .hostileSender = role { peer.socketCapacity = random.pick(2_000, 200_000, 400_000) }
        if plan.places[place].usesTokens {
            (peer.token, peer.expectedTokenCount) = (Tokens.bytes, Tokens.bytes.count)
            peer.tokenRemaining = peer.expectedTokenCount
        }
        peer.readSize = random.pick(10_240, 10_240, 700, 60)
        peer.readPause = random.chance(30) ? random.time(in: 10_000...5_000_000) : 0
        // Few bytes at a time and slowly would take longer than a history lasts.
        if peer.readPause > 0 { peer.readSize = max(peer.readSize, 1_000) }
        // Unless that is what the history is about.
        if theme == .patience, case .plainReceiver = role {
            (peer.readSize, peer.readPause) = (random.number(in: 20...200), random.time(in: 5_000_000...200_000_000))
        }
        return peer
    }
}

/// What both sides send if there are tokens.
enum Tokens {
    static let bytes = Array("a token that both sides know".utf8)
}
