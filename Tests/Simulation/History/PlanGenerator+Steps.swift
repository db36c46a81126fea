internal import FrameSocket
internal import FrameWire

/// What happens, and when.
extension PlanGenerator {
    mutating func addFirstStep(of actor: Int) {
        // Some senders are opened only for those who wait for them.
        if case .sender(let sender) = plan.actors[actor], !sender.usesUploader, random.chance(50) { return }
        let delay =
            switch plan.actors[actor] {
            case .server: random.time(in: 0...(random.chance(75) ? 10_000 : 300_000_000))
            case .sender, .peer: random.time(in: 0...3_000_000)
            }
        add(.appear, by: actor, at: time + delay)
    }

    private mutating func add(_ action: Plan.Action, by actor: Int = -1, at time: UInt64? = nil) {
        plan.steps.append(Plan.Step(time: time ?? self.time, actor: actor, action: action))
    }

    /// Lets peers connect just before a server drains or closes, and senders' programs wait for a server while their
    /// connection to a draining one is ending.
    mutating func addArrivals() {
        for step in plan.steps {
            guard step.actor >= 0, case .server(let server) = plan.actors[step.actor] else { continue }
            let (isEnd, isDrain) =
                switch step.action {
                case .leave: (true, false)
                case .drain: (true, true)
                case .drainConnection: (false, true)
                default: (false, false)
                }
            if isEnd, random.chance(40) {
                let lead = random.time(in: 0...(server.isPort ? 400_000 : 8_000))
                add(.storm(place: server.place, random.number(in: 1...12)), at: max(step.time - lead, 1_000_000_000))
            }
            for sender in isDrain ? senders(at: server.place) : [] where random.chance(40) {
                let wait = Plan.Action.openWithin(random.pick(300_000_000, 1_000_000_000), cancelledAfter: nil)
                add(wait, by: sender, at: min(step.time + random.time(in: 100_000...400_000_000), time))
            }
        }
    }

    /// Lets peers with the token connect in quick succession where places are given away on one thread and taken on another.
    mutating func addCrowds() {
        for case .server(let server) in plan.actors
        where !server.readers.isEmpty && plan.places[server.place].usesTokens {
            for _ in 0..<random.number(in: 1...3) {
                var time = plan.steps[random.below(plan.steps.count)].time
                for _ in 0..<random.number(in: 2...24) {
                    add(.storm(place: server.place, 1, isWithToken: true), at: time)
                    time += random.time(in: 0...12_000)
                }
            }
        }
    }

    private mutating func advance() {
        switch random.below(100) {
        case ..<70: time += random.time(in: 10_000...4_000_000)
        case ..<(theme == .patience ? 85 : 97): time += random.time(in: 4_000_000...250_000_000)
        default: time += random.time(in: 500_000_000...12_000_000_000)
        }
    }

    mutating func addStep() {
        advance()
        if random.chance(5) { return addFault() }
        let actor = random.below(plan.actors.count)
        let action: Plan.Action
        switch plan.actors[actor] {
        case .sender(let sender):
            action = senderAction(sender)
            if case .leave = action, random.chance(60) { addLastWords(of: actor) }
        case .server(let server):
            if theme == .sharing, random.chance(24) {
                switch random.below(3) {
                case 0: return addDecline(of: actor, at: server.place)
                case 1: return addFlood(of: actor, at: server.place)
                default: return addPause(of: actor, at: server.place)
                }
            }
            if theme == .memory, random.chance(20) { return addPreference(of: actor, at: server.place) }
            // What a pause does is seen when it ends.
            action = paused.remove(actor) != nil && random.chance(60) ? .request([.resume]) : serverAction(server)
            if case .request(let requests) = action, requests.last == .pause { paused.insert(actor) }
        case .peer(let peer): action = peerAction(peer)
        }
        add(action, by: actor)
    }

    /// Lets a receiver pause while an image is being copied, and resume when there is a newer one.
    private mutating func addPause(of actor: Int, at place: Int) {
        let senders = senders(at: place)
        guard !senders.isEmpty else { return }
        let sender = senders[random.below(senders.count)]
        let length = random.number(in: 500...1_500)
        func offer(_ count: Int) -> Plan.Action {
            .offer(Plan.Offering(count: count, interval: 16_000_000, length: length, isStatic: true))
        }
        add(.pace(.prompt), by: actor)
        add(offer(random.number(in: 1...4)), by: sender)
        time += random.time(in: 0...70_000_000)
        add(.request([.pause]), by: actor)
        time += random.time(in: 0...40_000_000)
        add(offer(1), by: sender)
        time += random.time(in: 0...10_000_000)
        add(.request([.resume]), by: actor)
    }

    /// The senders of this package that connect to a place.
    private func senders(at place: Int) -> [Int] {
        plan.actors.indices.filter { index in
            if case .sender(let sender) = plan.actors[index] { sender.place == place } else { false }
        }
    }

    /// Lets a receiver prefer images as large as they are.
    private mutating func addPreference(of actor: Int, at place: Int) {
        let preference = ControlRequest.prefer(.init(size: BufferSize(width: 4_096, height: 4_096)))
        let hello = ControlRequest.hello(ControlRequest.Hello(wants: [.frames]))
        add(.request([hello, preference]), by: actor)
        add(.pace(.prompt), by: actor)
        time += random.time(in: 100_000...20_000_000)
        for sender in senders(at: place) {
            add(.offer(offering()), by: sender)
        }
    }

    /// Lets a program release images while more requests wait than there is room for.
    private mutating func addFlood(of actor: Int, at place: Int) {
        add(.pace(.prompt), by: actor)
        for sender in senders(at: place) {
            add(.offer(offering()), by: sender)
        }
        time += random.time(in: 1_000_000...60_000_000)
        let pings = (0..<random.number(in: 350...600)).map { ControlRequest.ping(UInt64($0)) }
        add(.request(pings), by: actor)
        add(.releaseImages, by: actor)
    }

    /// Lets a sender have a frame that waits for its socket when its receiver declines shared memory.
    private mutating func addDecline(of actor: Int, at place: Int) {
        let hello = ControlRequest.hello(ControlRequest.Hello(wants: [.frames, .audio]))
        add(.request([hello]), by: actor)
        add(.pace(random.pick(.silent, .prompt, .prompt)), by: actor)
        time += random.time(in: 100_000...1_000_000)
        for (index, other) in plan.actors.enumerated() {
            guard case .sender(let sender) = other, sender.place == place, random.chance(70) else { continue }
            let audio = Plan.Action.audio(count: random.number(in: 1...60), length: 4 * random.number(in: 4...500))
            add(.offer(offering()), by: index)
            time += random.time(in: 0...random.pick(100_000, 3_000_000))
            add(audio, by: index)
            add(.offer(offering()), by: index)
        }
        time += random.time(in: 0...random.pick(1_000_000, 12_000_000))
        add(.request([.decline]), by: actor)
    }

    /// Lets a sender have something to write when it leaves.
    private mutating func addLastWords(of actor: Int) {
        let audio = Plan.Action.audio(count: random.number(in: 1...60), length: 4 * random.number(in: 4...500))
        add(audio, by: actor)
        add(.offer(offering()), by: actor)
        time += random.time(in: 0...random.pick(500_000, 20_000_000))
    }

    private mutating func addFault() {
        let action: Plan.Action
        switch random.below(theme == .hostility ? 12 : 60) {
        case 0: action = .storm(place: random.below(plan.places.count), random.number(in: 20...120))
        case ..<20: action = .shortage(random.pick(1_000_000, 50_000_000, 700_000_000))
        case ..<40: action = .hang(place: random.below(plan.places.count), random.pick(10_000_000, 3_000_000_000))
        default: action = .breakConnection(random.below(1_000))
        }
        add(action)
    }

    private mutating func senderAction(_ sender: SenderPlan) -> Plan.Action {
        if !sender.usesUploader, random.chance(10) { return .cancelFrame }
        if !sender.usesUploader, random.chance(25) {
            return .openWithin(random.pick(1_000_000, 300_000_000), cancelledAfter: random.time(in: 0...3_000_000))
        }
        switch random.below(100) {
        case ..<70: return .offer(offering())
        // Sometimes more than may wait.
        case ..<78:
            let count = random.chance(10) ? 80 : random.number(in: 1...5)
            return .audio(count: count, length: 4 * random.number(in: 4...500))
        case ..<84:
            switch random.below(10) {
            case ..<4 where sender.sharesMemory: return .share(random.chance(60))
            case 4, 5: return .resize(scale())
            default: return .configure(pacing())
            }
        case ..<87: return .requestFrame
        case ..<90:
            let cancelledAfter = random.chance(40) ? random.time(in: 0...30_000_000) : nil
            return .finish(cancelledAfter: cancelledAfter)
        case ..<93:
            let limit: UInt64 = random.pick(1_000_000, 50_000_000, 1_000_000_000)
            return .openWithin(limit, cancelledAfter: random.chance(40) ? random.time(in: 0...30_000_000) : nil)
        case ..<95: return .encoderFails(random.chance(50))
        case ..<97: return .appear
        default:
            let leaves = random.chance(theme == .ends || theme == .audio ? 100 : 40)
            return leaves ? .leave(.callEnded) : .offer(offering())
        }
    }

    private mutating func offering() -> Plan.Offering {
        let isLong = theme == .memory || random.chance(theme == .patience ? 25 : 6)
        return Plan.Offering(
            count: random.pick(1, 1, 2, 3, random.number(in: 4...12)),
            interval: random.pick(0, 1_000_000, 16_000_000, 33_000_000, 200_000_000),
            length: isLong ? random.number(in: 3_000...40_000) : random.number(in: 64...1_500),
            isStatic: random.chance(35)
        )
    }

    private mutating func serverAction(_ server: ServerPlan) -> Plan.Action {
        switch random.below(93) {
        case ..<(theme == .requests ? 60 : 35): return .request(requests())
        case ..<70:
            return .pace(random.pick(.prompt, .slow(random.time(in: 100_000...80_000_000)), .silent))
        case ..<74: return .cancelConsumer
        case ..<77: return .letGo
        case ..<81: return .closeConnection(random.pick(nil, nil, .callEnded))
        case ..<84: return .drainConnection
        case ..<86: return .drain
        case ..<89: return .leave(nil)
        default: return .appear
        }
    }

    /// One request as a rule; several may be read together.
    private mutating func requests() -> [ControlRequest] {
        switch random.below(100) {
        case ..<82: return [request()]
        case ..<97: return [.ping(random.next())] + (0..<random.number(in: 1...3)).map { _ in request() }
        // More than may wait for a sender that does not read.
        default: return (0..<random.number(in: 250...400)).map { _ in request() }
        }
    }

    private mutating func request() -> ControlRequest {
        switch random.below(theme == .sharing ? 13 : 12) {
        case 12: return random.chance(30) ? .decline : .refresh
        case 0, 1: return .hello(ControlRequest.Hello(wants: random.pick([.frames], [.frames, .audio], [.audio], [])))
        case 2, 3: return .pause
        case 4, 5: return .resume
        case 6, 7:
            return .prefer(
                ControlRequest.Preferences(
                    frameRateInMillihertz: random.pick(nil, 1, 1_000, 5_000, 60_000),
                    size: random.pick(nil, nil, 16, 48, 4_096).map { BufferSize(width: $0, height: $0) },
                    quality: random.pick(nil, 50, 100),
                    byteRate: random.chance(20) ? random.pick(20_000, 100_000) : nil
                )
            )
        case 8, 9: return .refresh
        case 10: return .ping(random.next())
        default: return random.chance(40) ? .stop(.requestedByHost) : .refresh
        }
    }

    private mutating func peerAction(_ peer: ScriptedPeer) -> Plan.Action {
        switch peer.role {
        case .plainSender where random.chance(75):
            return .offer(
                Plan.Offering(
                    count: random.number(in: 1...6),
                    interval: random.pick(0, 1_000_000, 30_000_000),
                    length: random.chance(90) ? random.number(in: 16...3_000) : random.number(in: 3_000...50_000),
                    isStatic: false
                )
            )
        default:
            return random.pick(.appear, .appear, .leave(nil), .reset)
        }
    }
}
