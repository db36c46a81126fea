internal import FrameSocket
internal import FrameWire

/// Makes plans: what could happen, as often as it pays to let it.
struct PlanGenerator {
    var random: Random
    var plan = Plan()
    var time: UInt64 = 1_000_000_000
    private var identity: UInt16 = 0
    /// The threads of programs; others only read connections.
    private let threads: Int

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
        random = Random(seed: seed, part: 0)
        threads = random.pick(1, 1, 2)
        plan.threads = threads
    }

    private mutating func make() -> Plan {
        theme = Theme(rawValue: random.below(Theme.allCases.count)) ?? .mixed
        let placeCount = theme == .reconnecting ? 1 : random.pick(1, 1, 2)
        for _ in 0..<placeCount { addPlace() }
        let bytes = theme == .memory ? random.pick(20_000, 60_000, 200_000) : random.pick(60_000, 1 << 20, 64 << 20)
        plan.budgets = random.chance(50) ? [bytes] : [bytes, bytes]
        for place in 0..<placeCount { addReceivers(at: place) }
        let senders = theme == .crowd ? random.number(in: 6...28) : random.number(in: 1...5)
        for _ in 0..<senders { addSender() }
        for actor in plan.actors.indices { addFirstStep(of: actor) }
        time = plan.steps.map(\.time).max() ?? time
        // Many histories are short: what goes wrong mostly takes few steps, and another history tries others. Few actors
        // take more steps each.
        let actors = plan.actors.count
        let stepCount =
            random.number(in: random.chance(60) ? 10...22 : 30...45) + (actors < 4 ? 30 : actors < 6 ? 10 : 0)
            + (theme == .crowd ? 10 : 0)
        for _ in 0..<stepCount { addStep() }
        addArrivals()
        addCrowds()
        plan.steps.sort { $0.time < $1.time }
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

    /// The threads that read a server's connections, its own among them or not; none if only its own does.
    private mutating func readers(beside thread: Int) -> [Int] {
        guard random.chance(theme == .tokens ? 60 : 20) else { return [] }
        let first = plan.threads
        plan.threads += random.number(in: 1...2)
        return Array(first..<plan.threads) + (random.chance(30) ? [thread] : [])
    }

    /// What a program states about its side, if it does.
    private mutating func statement() -> Int { random.chance(20) ? plan.actors.count + 1 : 0 }

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
            let hostility = Hostility.ofReceivers[random.below(Hostility.ofReceivers.count)]
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
        let thread = random.below(threads)
        return ServerPlan(
            place: place,
            thread: thread,
            readers: readers(beside: thread),
            budget: random.below(plan.budgets.count),
            connections: random.pick(2, 3, 4, 8, 64),
            deliversNewest: random.chance(40),
            hello: talks ? wants : nil,
            statement: statement(),
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
                : Hostility.ofSenders[random.below(Hostility.ofSenders.count)]
            plan.actors.append(.peer(peer(.hostileSender(hostility), at: place)))
        } else if kind < hostile + 15 {
            plan.actors.append(.peer(peer(.plainSender(reads: random.chance(50)), at: place)))
        } else {
            plan.actors.append(.sender(sender(at: place)))
        }
    }

    private mutating func sender(at place: Int) -> SenderPlan {
        SenderPlan(
            identity: identity,
            place: place,
            thread: random.below(threads),
            usesUploader: random.chance(85),
            reopens: random.chance(85),
            pads: random.chance(20),
            pacing: pacing(),
            socketCapacity: capacity(),
            keepsLatestImage: !random.chance(15),
            encodingTime: random.pick(5_000, 200_000, 8_000_000, 30_000_000),
            retryInterval: random.chance(25) ? 100_000_000 : random.pick(1_000_000_000, 3_000_000_000),
            images: random.chance(theme == .sharing ? 95 : theme == .memory ? 80 : 60)
                ? random.pick(.ordinary, .mixed) : .none,
            sharesMemory: random.chance(theme == .sharing ? 95 : 60),
            failingBuffers: random.chance(10) ? 20 : 0,
            scale: random.chance(theme == .memory ? 60 : 25) ? scale() : .full,
            appliesOrientation: random.chance(30),
            adaptation: random.chance(25) ? adaptation() : nil,
            statement: statement()
        )
    }

    private mutating func adaptation() -> SampleUploader.Configuration.Adaptation {
        .init(
            maximumByteRate: random.pick(nil, 4_000, 8_000, 20_000, 100_000),
            minimumQuality: random.pick(30, 80),
            preference: random.chance(50) ? .motion : .detail()
        )
    }

    private mutating func capacity() -> Int {
        if theme == .sharing, random.chance(50) { return random.pick(150, 300, 700) }
        return random.pick(150, 300, 2_000, 16_000, 200_000, random.number(in: 1...5_000))
    }

    mutating func scale() -> SampleUploader.OutputScale {
        random.pick(.full, .fit(width: 16, height: 16), .fit(width: 48, height: 48))
    }

    mutating func pacing() -> SampleUploader.Pacing {
        guard theme == .pacing || random.chance(65) else { return .everyFrame }
        switch random.below(6) {
        case 0: return .every(random.number(in: 1...4))
        case 1: return .framesPerSecond(random.pick(5, 15, 30, 60))
        case 2: return .adaptive(still: 2, motion: 20)
        case 3, 4:
            let rate: SampleUploader.Pacing = random.pick(.everyFrame, .framesPerSecond(15))
            return rate.skippingUnchanged(keepAlive: random.pick(nil, .seconds(1)))
        default: return .everyFrame
        }
    }

    private mutating func peer(_ role: ScriptedPeer.Role, at place: Int) -> ScriptedPeer {
        var peer = ScriptedPeer(role: role, place: place, identity: 0, socketCapacity: random.pick(2_000, 200_000))
        if role.isSender { peer.identity = identity }
        if case .hostileSender = role { peer.socketCapacity = random.pick(2_000, 200_000, 400_000) }
        if plan.places[place].usesTokens { peer.token = Tokens.bytes }
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
