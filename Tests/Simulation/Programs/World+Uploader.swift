internal import FrameSocket
internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// The shell of an uploader: its queue that encodes, its timer, and the program that offers, configures and finishes.
extension World {
    /// Makes the uploader of a sender, unless it is there.
    private func makeUploader(_ sender: SimSender) {
        guard sender.uploader == nil else { return }
        let configuration = SampleUploader.Configuration(
            adaptation: sender.plan.adaptation,
            scale: sender.plan.scale,
            pacing: sender.plan.pacing,
            appliesOrientation: sender.plan.appliesOrientation,
            sharesMemory: sender.plan.sharesMemory,
            keepsLatestImage: sender.plan.keepsLatestImage
        )
        sender.pacing = sender.plan.pacing
        sender.sharesMemory = sender.plan.sharesMemory
        sender.uploader = SimUploader(configuration, sender)
        stateRate(of: sender)
        let terms = sender.terms
        sender.openedAt = now
        handle(sender) { $0.termsChanged(terms, at: now) }
        open(sender)
        if sender.closeReason != nil { handle(sender) { $0.close(at: now) } }
    }

    private func stateRate(of sender: SimSender) {
        guard let uploader = sender.uploader else { return }
        sender.lane.frameRate = uploader.machine.configuration.pacing.rateInMillihertz
    }

    /// Reports something to the machine, and does what follows.
    @discardableResult
    func handle<Result>(_ sender: SimSender, _ event: (inout UploaderMachine) -> Result) -> Result? {
        guard let uploader = sender.uploader else { return nil }
        checkIsAlive(sender, uploader)
        var (result, effects) = Self.report(event, to: &uploader.machine)
        effects.release()
        if isAdapted(sender) {
            sender.hasCompared = true
            noteHold(sender)
        } else {
            (sender.byteRate, sender.bytesSent) = (nil, [])
        }
        for id in effects.finished { finished(id, of: sender) }
        if effects.statesRate { stateRate(of: sender) }
        if let message = effects.message {
            sender.decidedAt = now
            checkByteRate(message, sender)
            if sender.isBeginning { checkTerms(of: message, sender) }
            // The thread may be interrupted between the decision and the call.
            if sender.racing.chance(5) {
                coverage.count(.lateSubmission)
                let longest: UInt64 = sender.racing.pick(2_000_000, 400_000_000)
                let delay = sender.racing.time(in: 1_000...longest)
                sender.lateSubmission = (message, effects.connection)
                schedule(of: sender, after: delay) { [self] in
                    guard let (message, connection) = sender.lateSubmission.take() else { return }
                    submit(message, for: connection, of: sender)
                }
            } else {
                submit(message, for: effects.connection, of: sender)
            }
        }
        if let generation = effects.dropsBuffersBefore { sender.store.removeAll(before: generation) }
        if effects.startsUpload {
            check(.oneFrameAtATime, !sender.hasTurn, "uploader \(sender.index) asks for two turns at once")
            sender.hasTurn = true
            // The queue may have other work.
            let delay = random.time(in: 1_000...100_000)
            schedule(of: sender, after: sender.racing.chance(10) ? delay * 200 : delay) { [self] in takeTurn(sender) }
        }
        if effects.setsTimer { setTimer(sender) }
        checkBufferWait(sender)
        // Costs a copy of the machine.
        if eventCount % 16 == 0 { checkRest(sender) }
        return result
    }

    /// Changes the machine in its place, which a read of the property would copy.
    private static func report<Result>(_ event: (inout UploaderMachine) -> Result, to machine: inout UploaderMachine)
        -> (Result, UploaderMachine.Effects)
    {
        let result = event(&machine)
        return (result, machine.takeEffects())
    }

    // MARK: Frames

    func offerToUploader(_ sender: SimSender, _ number: UInt32) {
        makeUploader(sender)
        let offer = sender.offers[Int(number) - 1]
        guard let (content, entry) = content(sender, number) else { return }
        let before = sender.uploader?.machine.statistics.drops ?? [:]
        let damage = entry == nil ? damage(of: sender, number) : nil
        let outcome = handle(sender) { machine in
            machine.offer(
                content,
                orientation: offer.orientation,
                timestamp: offer.timestamp,
                damage: damage,
                entry: entry,
                at: now
            )
        }
        if let outcome { decided(outcome, number, of: sender, after: before) }
    }

    /// The hash of an image: of what it shows, its size, its orientation, and whether it was scaled before.
    static func digest(of content: FrameContent, _ orientation: FrameOrientation, _ shown: UInt32) -> UInt64 {
        let numbers = [
            Int(shown), content.size.width, content.size.height, Int(orientation.rawValue), content.isScaled ? 1 : 0,
        ]
        return numbers.reduce(0) { ($0 ^ UInt64($1)) &* 0x9e37_79b9_7f4a_7c15 }
    }

    /// Handles what the program is told of a frame; `drops` is what had been counted before.
    func decided(
        _ outcome: SampleUploader.Outcome,
        _ number: UInt32,
        of sender: SimSender,
        after drops: [SampleUploader.DropCause: Int]
    ) {
        note("  frame \(number): \(outcome)")
        if case .dropped(let cause) = outcome, let machine = sender.uploader?.machine {
            let isCounted = (machine.statistics.drops[cause] ?? 0) > (drops[cause] ?? 0)
            check(.everyFrameIsCounted, isCounted, "frame \(number): \(cause), which is not the cause that is counted")
        }
        switch outcome {
        case .taken: break
        case .deferred(let cause):
            coverage.count(cause == .paced ? .pacedFrame : .deferredFrame)
            if cause == .paced { sender.offers[Int(number) - 1].isHeldBack = true }
            if sender.closeReason != nil { handle(sender) { $0.close(at: now) } }
        case .dropped(.outsideLimits):
            sender.unsendable.insert(number)
            sender.outsideLimits += 1
        case .dropped(.unchanged):
            coverage.count(.unchangedFrame)
        case .dropped: break
        }
    }

    func uploadSettled(_ settlement: SendLaneMachine.Settlement, of sender: SimSender) {
        let cause = settlement.error.map(SampleUploader.DropCause.init(sending:))
        if cause != nil { sender.failedAt = now }
        if cause == .connectionLost { sender.lostCount += 1 }
        sender.hasLostFrame = cause == nil && sender.socket >= 0 && sockets[sender.socket].peerHasEnded
        let before = sender.uploader?.machine.statistics
        handle(sender) { $0.sent(cause, at: now) }
        if let before, let after = sender.uploader?.machine.statistics, after.sent > before.sent {
            let isCountedAsShared = after.shared > before.shared
            check(.everyFrameIsCounted, isCountedAsShared == sender.submitsShared, "a frame is counted as another kind")
        }
        checkFinishersGoOn(sender)
        checkLatestIsKept(sender)
    }

    // MARK: The program

    func performUploading(_ action: Plan.Action, of sender: SimSender) {
        guard sender.plan.usesUploader else { return }
        makeUploader(sender)
        switch action {
        case .configure(let pacing):
            (sender.pacing, sender.pacedAt) = (pacing, now)
            guard var configuration = sender.uploader?.machine.ownConfiguration else { return }
            configuration.pacing = pacing
            if sender.racing.chance(10) {
                let isLower = configuration.limits.maximumDimension == FrameMessageDecoder.Limits().maximumDimension
                configuration.limits.maximumDimension = isLower ? 32 : FrameMessageDecoder.Limits().maximumDimension
                if isLower { sender.offersBeforeLimits = sender.offers.count }
                coverage.count(.limitsChanged)
            }
            if let adaptation = sender.plan.adaptation, sender.racing.chance(30) {
                configuration.adaptation = configuration.adaptation == nil ? adaptation : nil
            }
            handle(sender) { $0.update(configuration, at: now) }
        case .share(let sharesMemory):
            guard var configuration = sender.uploader?.machine.ownConfiguration else { return }
            if sender.uploader?.machine.sharing.isOpen ?? false { coverage.count(.poolChanged) }
            // What is shared already is shared anew.
            for sharesMemory in sender.sharesMemory ? [false, sharesMemory] : [sharesMemory] {
                configuration.sharesMemory = sharesMemory
                handle(sender) { machine in
                    // What is checked before the event is still about the buffers of before.
                    sender.sharesMemory = sharesMemory
                    machine.update(configuration, at: now)
                }
            }
        case .resize(let scale):
            guard var configuration = sender.uploader?.machine.ownConfiguration else { return }
            if sender.socket >= 0 { coverage.count(.resizedWhileConnected) }
            configuration.scale = scale
            sender.resizedAt = now
            handle(sender) { $0.update(configuration, at: now) }
        case .requestFrame:
            allowRepeat(sender)
            handle(sender) { $0.requestFrame(at: now) }
        case .encoderFails(let fails): sender.encoderFails = fails
        case .finish(let cancelledAfter):
            sender.lastFinisher += 1
            let id = sender.lastFinisher
            coverage.count(.finished)
            sender.finishers[id] = (sender.offers.count, now)
            handle(sender) { $0.finish(UInt64(id), at: now) }
            checkFinishersGoOn(sender)
            checkLatestIsKept(sender)
            schedule(after: 60_000_000_000) { [self] in
                let isWaiting = sender.finishers[id] != nil
                check(.promptness, !isWaiting, "uploader \(sender.index): finish waits for too long")
            }
            if let cancelledAfter { schedule(after: cancelledAfter) { [self] in cancelWait(id, of: sender) } }
        default: break
        }
    }

    private func finished(_ id: UInt64, of sender: SimSender) {
        let finisher = sender.finishers.removeValue(forKey: Int(id))
        check(.toldOnce, finisher != nil, "a caller is told twice")
        // What could not be sent is kept for the next receiver, and not waited for.
        if let finisher, sender.failedAt < finisher.at { checkFinished(sender, offers: finisher.offers) }
    }

    private func cancelWait(_ id: Int, of sender: SimSender) {
        guard sender.finishers.removeValue(forKey: id) != nil else { return }
        coverage.count(.cancelled)
        handle(sender) { $0.cancelWait(UInt64(id), at: now) }
    }

    /// A repeat has a reason on the connection that there is.
    func allowRepeat(_ sender: SimSender) {
        sender.monitor?.hasReasonToRepeat = true
        sender.monitor?.reasonAt = now
    }

    // MARK: What the connection tells

    func termsChanged(of sender: SimSender) {
        let terms = sender.terms
        // A receiver may have held back what is overdue at the rate that it prefers now.
        if terms.preferences != sender.uploader?.machine.terms.preferences { sender.pacedAt = now }
        handle(sender) { $0.termsChanged(terms, at: now) }
        checkFinishersGoOn(sender)
        checkLatestIsKept(sender)
        guard let configuration = sender.uploader?.machine.configuration,
            let own = sender.uploader?.machine.ownConfiguration
        else { return }
        let isOwn =
            configuration.pacing.rate == own.pacing.rate && configuration.quality == own.quality
            && configuration.adaptation == own.adaptation
        check(
            .preferencesEndWithReceiver,
            isOwn || terms.preferences != .init(),
            "uploader \(sender.index) does what a receiver preferred that has gone"
        )
    }

    func uploaderConnectionEnded(_ sender: SimSender) {
        handle(sender) { $0.close(at: now) }
    }

    // MARK: The timer

    private func setTimer(_ sender: SimSender) {
        guard sender.uploadTimer != -2, let uploader = sender.uploader else { return }
        if sender.uploadTimer < 0 { sender.uploadTimer = register(uploader, socket: -1) }
        setDeadline(uploader.machine.timer, of: sender.uploadTimer, on: sender.thread)
    }
}
