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
            scale: Self.scale(sender.plan.largestSide),
            pacing: Self.pacing(sender.plan.pacing),
            appliesOrientation: sender.plan.appliesOrientation,
            sharesMemory: sender.plan.sharesMemory,
            keepsLatestImage: sender.plan.keepsLatestImage
        )
        sender.pacing = sender.plan.pacing
        sender.sharesMemory = sender.plan.sharesMemory
        sender.uploader = SimUploader(configuration, owner: UInt64(sender.index) + 1)
        stateRate(of: sender)
        let terms = sender.terms
        sender.openedAt = now
        handle(sender) { $0.termsChanged(terms, at: now) }
        execute(.open, for: .sender(sender.index), on: sender.plan.thread)
        if sender.closeReason != nil { handle(sender) { $0.close(at: now) } }
    }

    private func stateRate(of sender: SimSender) {
        guard let uploader = sender.uploader else { return }
        sender.lane.frameRate = uploader.machine.configuration.pacing.rateInMillihertz
    }

    private static func scale(_ largestSide: Int?) -> SampleUploader.OutputScale {
        largestSide.map { .fit(width: $0, height: $0) } ?? .full
    }

    private static func pacing(_ choice: Plan.PacingChoice) -> SampleUploader.Pacing {
        switch choice {
        case .everyFrame: .everyFrame
        case .every(let n): .every(n)
        case .framesPerSecond(let rate): .framesPerSecond(rate)
        case .adaptive(let still, let motion): .adaptive(still: still, motion: motion)
        case .skippingUnchanged(let rate, let keepAlive):
            (rate.map { .framesPerSecond($0) } ?? SampleUploader.Pacing.everyFrame)
                .skippingUnchanged(keepAlive: keepAlive.map { .nanoseconds(Int64($0)) })
        }
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
                schedule(.submission, of: sender, after: delay)
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
            schedule(.turn, of: sender, after: sender.racing.chance(10) ? delay * 200 : delay)
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

    func submit(_ message: FrameMessage, for connection: Int, of sender: SimSender) {
        sender.ticket += 1
        let ticket = sender.ticket
        sender.submitted[ticket] = 0
        // What waits for a buffer from now on is another frame.
        sender.bufferWaitSince = nil
        if let shared = message.shared {
            sender.submitsShared = true
            let isOwn = shared.owner == UInt64(sender.index) + 1
            check(.integrity, isOwn, "uploader \(sender.index) sends an image in the buffer of another")
        } else {
            sender.submitsShared = false
        }
        do {
            try submit(message, for: connection, ticket: ticket, of: sender)
            if message.shared != nil, sender.lane.queueCount > 0, random.chance(20) { declineForPeer(of: sender) }
        } catch {
            sender.submitted[ticket] = nil
            note("  refused: \(error.code)")
            sender.failedAt = now
            let cause = Self.cause(error)
            handle(sender) { $0.sent(cause, at: now) }
        }
    }

    func uploadSettled(_ settlement: SendLaneMachine.Settlement, of sender: SimSender) {
        let isKnown = sender.submitted.removeValue(forKey: settlement.ticket) != nil
        check(.toldOnce, isKnown, "uploader \(sender.index) is told twice what became of a frame")
        let cause = settlement.error.map { Self.cause($0) }
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

    private static func cause(_ error: TransportError) -> SampleUploader.DropCause {
        switch error.code {
        case .closed: .notConnected
        case .paused: .paused
        case .notWanted: .notWanted
        case .busy: .superseded
        default: .connectionLost
        }
    }

    // MARK: The program

    func performUploading(_ action: Plan.Action, of sender: SimSender) {
        guard sender.plan.usesUploader else { return }
        makeUploader(sender)
        switch action {
        case .configure(let pacing):
            sender.pacing = pacing
            guard var configuration = sender.uploader?.machine.ownConfiguration else { return }
            configuration.pacing = Self.pacing(pacing)
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
        case .resize(let largestSide):
            guard var configuration = sender.uploader?.machine.ownConfiguration else { return }
            if sender.socket >= 0 { coverage.count(.resizedWhileConnected) }
            configuration.scale = Self.scale(largestSide)
            sender.resizedAt = now
            handle(sender) { $0.update(configuration, at: now) }
        case .requestFrame:
            allowRepeat(sender)
            handle(sender) { $0.requestFrame(at: now) }
        case .encoderFails(let fails): sender.encoderFails = fails
        case .finish(let cancelledAfter):
            sender.lastWaiter += 1
            let id = sender.lastWaiter
            coverage.count(.finished)
            sender.finishers.insert(id)
            sender.finisherOffers[id] = sender.offers.count
            sender.finisherTimes[id] = now
            handle(sender) { $0.finish(UInt64(id), at: now) }
            checkFinishersGoOn(sender)
            checkLatestIsKept(sender)
            schedule(.finishIsDue(id), of: sender, after: 60_000_000_000)
            if let cancelledAfter { schedule(.cancelWait(id), of: sender, after: cancelledAfter) }
        default: break
        }
    }

    private func finished(_ id: UInt64, of sender: SimSender) {
        check(.toldOnce, sender.finishers.remove(Int(id)) != nil, "a caller is told twice")
        // What could not be sent is kept for the next receiver, and not waited for.
        guard sender.failedAt < sender.finisherTimes[Int(id)] ?? 0 else { return }
        checkFinished(sender, offers: sender.finisherOffers[Int(id)] ?? 0)
    }

    func cancelWait(_ id: Int, of sender: SimSender) {
        guard sender.finishers.remove(id) != nil else { return }
        coverage.count(.cancelled)
        handle(sender) { $0.cancelWait(UInt64(id), at: now) }
    }

    /// A repeat has a reason on the connection that there is.
    func allowRepeat(_ sender: SimSender) {
        guard sender.socket >= 0, sockets[sender.socket].monitor >= 0 else { return }
        monitors[sockets[sender.socket].monitor].hasReasonToRepeat = true
        monitors[sockets[sender.socket].monitor].reasonAt = now
    }

    // MARK: What the connection tells

    func termsChanged(of sender: SimSender) {
        let terms = sender.terms
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
        let thread = sender.plan.thread
        guard sender.uploadTimer != -2 else { return }
        if sender.uploadTimer < 0 {
            sender.uploadTimer = register(.uploader(sender.index), socket: -1, on: thread)
        }
        setDeadline(sender.uploader?.machine.timer, of: sender.uploadTimer, on: thread)
    }

    func uploadDeadlinePassed(_ index: Int) {
        handle(senders[index]) { $0.deadlinePassed(at: now) }
    }
}
