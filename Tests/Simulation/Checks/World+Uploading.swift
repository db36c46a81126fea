internal import FrameSocket
internal import FrameTransport
internal import FrameWire

/// What uploaders owe once everything has come to rest.
extension World {
    func stopUploadFaults() {
        for sender in senders {
            sender.encoderFails = false
            liftLimits(of: sender)
            endAdaptation(of: sender)
        }
        drainOutlet()
    }

    /// Lets programs that excluded large images send them.
    private func liftLimits(of sender: SimSender) {
        guard var configuration = sender.uploader?.machine.ownConfiguration, configuration.limits != .init() else {
            return
        }
        configuration.limits = .init()
        handle(sender) { $0.update(configuration, at: now) }
    }

    /// Lets some programs limit the quality no longer.
    private func endAdaptation(of sender: SimSender) {
        guard isAdapted(sender), sender.racing.chance(40),
            var configuration = sender.uploader?.machine.ownConfiguration
        else { return }
        coverage.count(.adaptationEnded)
        configuration.adaptation = nil
        handle(sender) { $0.update(configuration, at: now) }
    }

    /// Whether the receiver has every shared buffer, so that the next frame waits for one.
    func awaitsBuffer(_ sender: SimSender) -> Bool {
        guard let sharing = sender.uploader?.machine.sharing else { return false }
        return sharing.isOpen && !sharing.hasFree
    }

    /// No frame waits for a shared buffer for longer than two seconds, whatever happens meanwhile.
    func checkBufferWait(_ sender: SimSender) {
        guard awaitsBuffer(sender), let end = sender.uploader?.machine.sharing.waitEnd, end > now else {
            return sender.bufferWaitSince = nil
        }
        let since = sender.bufferWaitSince ?? now
        sender.bufferWaitSince = since
        let isBounded = end <= since + 2_000_000_000
        check(.buffersAreAwaited, isBounded, "uploader \(sender.index) waits for a buffer since \(since)")
    }

    /// An uploader has done all that it can: if it is called again, nothing follows, and it is called in time.
    func checkRest(_ sender: SimSender) {
        guard var machine = sender.uploader?.machine else { return }
        let timer = machine.timer ?? .max
        // A timer that is about to fire changes what can be done.
        guard timer > now else { return }
        machine.deadlinePassed(at: now)
        let effects = machine.takeEffects()
        let isAtRest = !effects.startsUpload && effects.message == nil && effects.finished.isEmpty
        check(.nothingIsStuck, isAtRest, "uploader \(sender.index) could go on, and does not")
        // A frame under way is followed by such a call, and the wait for a buffer has a check of its own.
        let isWaiting =
            sender.hasTurn || sender.job != nil || sender.isSubmitting
            || (awaitsBuffer(sender) && machine.sharing.waitEnd > now)
        let isTimed = isWaiting || machine.timer ?? .max >= timer
        check(.nothingIsStuck, isTimed, "uploader \(sender.index) waits for longer than until \(machine.timer ?? 0)")
        check(
            .difficultiesAreTold,
            !effects.tellsConditions,
            "uploader \(sender.index) does not tell what is difficult"
        )
    }

    /// A receiver of changes gets a frame whenever `keepAlive` has passed, however slow the source has been.
    func checkIsAlive(_ sender: SimSender, _ uploader: SimUploader) {
        let pacing = uploader.machine.configuration.pacing
        guard pacing.skipsUnchanged, let keepAlive = pacing.keepAlive?.nanoseconds,
            let since = uploader.machine.silentSince, !awaitsBuffer(sender), !sender.hasLostFrame,
            sender.heldBackUntil + 100_000_000 < now
        else { return }
        let rate: Double =
            switch pacing.rate {
            case .everyFrame, .every: .infinity
            case .framesPerSecond(let rate): rate
            case .adaptive(let still, let motion): min(still, motion)
            }
        // A new receiver has half a second for its hello, a failed attempt is repeated after a tenth, and the timer's
        // thread has other things to do.
        let limit = max(keepAlive, UInt64(1e9 / rate), 100_000_000) + 650_000_000
        let isAlive = now <= max(since, sender.openedAt, sender.failedAt, sender.pacedAt) + limit
        check(.keptAlive, isAlive, "uploader \(sender.index) has been silent since \(since)")
    }

    /// Whether the image of the latest frame is kept, whatever was made of it: nothing is newer, and it is the program's own.
    ///
    /// One that the limits admit only in a smaller size is given up as soon as a receiver prefers another.
    func isImageKept(_ sender: SimSender, _ number: UInt32) -> Bool {
        let offer = sender.offers[Int(number) - 1]
        let limit = sender.uploader?.machine.configuration.limits.maximumDimension ?? 0
        return offer.isImage && offer.kind != .mixed && Int(number) == sender.offers.count
            && max(offer.size.width, offer.size.height) <= limit
            && sender.plan.keepsLatestImage && Int(number) > sender.offersBeforeLimits
            && !isUnsendable(sender, Int(number))
    }

    /// What is sent without being encoded was encoded for the receiver that is there, or is in shared memory if that
    /// receiver accepts it.
    func checkTerms(of message: FrameMessage, _ sender: SimSender) {
        guard message.shared == nil, let machine = sender.uploader?.machine,
            let number = message.jpeg.withSpan({ Content.identify($0) })?.number, isImageKept(sender, number)
        else { return }
        coverage.checked(.latestImageInItsTerms)
        let isAsWanted = isAsWanted(message, number, sender, machine)
        let isShared = machine.sharing.isOpen && !awaitsBuffer(sender)
        check(
            .latestImageInItsTerms,
            isAsWanted && !isShared,
            "uploader \(sender.index) sends image \(number) as another receiver wanted it"
        )
    }

    /// Whether an image was encoded with the settings in force, or with others that make the same of it.
    private func isAsWanted(
        _ message: FrameMessage,
        _ number: UInt32,
        _ sender: SimSender,
        _ machine: borrowing UploaderMachine
    ) -> Bool {
        let look = SimSender.Look(machine)
        guard let encoded = sender.encoded[number], encoded.look != look else { return true }
        let offer = sender.offers[Int(number) - 1]
        func canvas(_ scale: SampleUploader.OutputScale) -> BufferSize {
            scale.plan(
                forWidth: offer.size.width,
                height: offer.size.height,
                orientation: offer.orientation,
                appliesOrientation: sender.plan.appliesOrientation
            ).canvas
        }
        if encoded.look.quality == look.quality, message.bufferSize == canvas(look.scale) { return true }
        // What the program has set since, or since this receiver connected, applies from the next frame on: until then the image is as
        // this receiver would have got it, whatever another one preferred.
        let (own, wanted) = (encoded.look, machine.terms.preferences)
        if own.quality == wanted.quality ?? own.ownQuality,
            message.bufferSize == canvas(wanted.size.map { own.ownScale.preferring($0) } ?? own.ownScale),
            encoded.connection == machine.terms.connection || sender.resizedAt > sender.openedAt
        {
            return true
        }
        // What the receiver has may be sent again.
        guard let monitor = sender.monitor else { return false }
        return monitor.lastFrame == number && monitor.header?.bufferSize == message.bufferSize
    }

    /// Whether the receiver has the latest image otherwise than it has preferred since.
    private func lacksPreference(_ sender: SimSender, _ number: UInt32, _ monitor: SenderMonitor) -> Bool {
        guard isImageKept(sender, number), let header = monitor.header, let look = monitor.lastLook else {
            return false
        }
        let preferences = sender.terms.preferences
        if let box = preferences.size {
            let offer = sender.offers[Int(number) - 1]
            if !sender.isPreferred(header.bufferSize, of: offer, in: box, look) { return true }
        }
        // Shared images have no quality.
        return header.contentLength > 0 && preferences.quality.map { $0 != look.quality } ?? false
    }

    /// Whether frames wait for the hello of a receiver that may accept shared memory.
    func awaitsHello(_ sender: SimSender) -> Bool {
        sender.plan.sharesMemory && sender.terms.isConnected && sender.terms.mayShareMemory
            && !sender.terms.isGreeted
            && now < sender.openedAt + 510_000_000
    }

    /// Which frame a receiver lacks; nil for none.
    func missingFrame(_ sender: SimSender, _ monitor: SenderMonitor) -> String? {
        guard !sender.offers.isEmpty, sender.uploader != nil, sender.runs.allSatisfy({ $0.count == 0 }) else {
            return nil
        }
        if monitor.shared.heldCount == Sharing.count { coverage.count(.everyBufferHeld) }
        let latest = UInt32(sender.offers.count)
        guard !isUnsendable(sender, sender.offers.count) else { return nil }
        // A server that ends silent connections makes senders reconnect again and again: this one has just done so.
        if awaitsHello(sender) { return nil }
        // A newer frame that took the place of the latest one, and could not be encoded, settles what an older one left.
        let hasFailed = sender.unsendable.contains { $0 >= monitor.frameAskedFor }
        if monitor.frameAskedAt != nil, !(monitor.hasOlderFrameCome && hasFailed) {
            return "a refresh or a resume is not answered by a frame"
        }
        guard let last = monitor.frames.last else {
            // One that ends every connection for what it gets may always have just come back, and there is no room yet.
            let waitsForRoom = sender.byteRate != nil && isHeldBack(sender) && now < sender.openedAt + 4_000_000_000
            return waitsForRoom ? nil : "a receiver that wants frames has none"
        }
        if last == latest {
            guard lacksPreference(sender, latest, monitor) else { return nil }
            return "its receiver has image \(latest) in another size or quality than it prefers"
        }
        if isEqual(sender, last, latest) { return nil }
        // A rate as low as this may hold a frame back for longer than a history lasts.
        if let rate = sender.terms.preferences.frameRate, rate < 1 { return nil }
        if let rate = sender.byteRate, isHeldBack(sender), sender.offers.contains(where: { $0.length > rate * 8 }) {
            return nil
        }
        return "its receiver has frame \(last), and not \(latest), which is the latest"
    }

    /// A receiver is owed the latest frame.
    func askForFrame(_ monitor: SenderMonitor) {
        monitor.askForFrame(at: now, latest: UInt32(monitor.sender.offers.count))
    }

    /// Whether a receiver that asked when `latest` was the latest frame may be answered with another one.
    func isAsNew(_ sender: SimSender, _ number: UInt32, as latest: UInt32) -> Bool {
        guard number < latest, sender.uploader != nil else { return true }
        return isEqual(sender, number, latest) || isUnsendable(sender, Int(latest))
    }

    /// An uploader always has a frame for the next receiver, once one was offered that can be sent.
    func checkLatestIsKept(_ sender: SimSender) {
        let count = sender.offers.count
        guard count > 0, let machine = sender.uploader?.machine, machine.statistics.offered == count,
            sender.closeReason == nil, !isUnsendable(sender, count),
            // What the limits excluded meanwhile is not kept for when they are raised, unless its image is.
            sender.plan.keepsLatestImage || count > sender.offersBeforeLimits
        else { return }
        check(
            .latestFrame,
            machine.hasFrame,
            "uploader \(sender.index) has no frame for the next receiver"
        )
    }

    /// Whether frames are compared, and show the same.
    private func isEqual(_ sender: SimSender, _ first: UInt32, _ second: UInt32) -> Bool {
        guard sender.hasCompared else { return false }
        return sender.offers[Int(first) - 1].content == sender.offers[Int(second) - 1].content
    }

    /// A caller has waited for so many frames: the latest of them has been sent, if somebody is there to take it.
    func checkFinished(_ sender: SimSender, offers count: Int) {
        guard count > 0, count == sender.offers.count, sender.lane.isAccepting,
            sender.terms.isConnected,
            !sender.terms.isPaused, sender.terms.wants.contains(.frames),
            !isUnsendable(sender, count),
            // What is written to a receiver that has just gone need not be seen to fail yet, and the next receiver may
            // have to say first whether it accepts shared memory.
            sender.socket >= 0, !sockets[sender.socket].peerHasEnded, !(sender.hasLostFrame && awaitsHello(sender))
        else { return }
        let last = sender.lastWritten
        let isSent = last == count || (last > 0 && isEqual(sender, last, UInt32(count)))
        check(.finishSendsWhatIsHeldBack, isSent, "uploader \(sender.index): frame \(count) is not sent after a finish")
    }

    /// Callers that wait for frames wait for the encoder or the connection, and never for the time to pass.
    func checkFinishersGoOn(_ sender: SimSender) {
        guard let uploader = sender.uploader, uploader.machine.waiterCount > 0 else { return }
        let isUnderWay = sender.hasTurn || sender.job != nil || sender.isSubmitting
        // After a failure the next attempt is made a little later.
        let hasJustFailed = now < sender.failedAt + 100_000_000
        check(
            .finishSendsWhatIsHeldBack,
            isUnderWay || hasJustFailed || isHeldBack(sender) || awaitsBuffer(sender) || awaitsHello(sender),
            "uploader \(sender.index): a caller waits for frames, and nothing is under way"
        )
    }

    /// Whether a frame could not be encoded, or equals one that could not: it is not tried either.
    private func isUnsendable(_ sender: SimSender, _ number: Int) -> Bool {
        // One that was accepted may be outside of limits by the time of its turn.
        let excluded = sender.uploader?.machine.statistics.drops[.outsideLimits] ?? 0
        guard excluded == sender.outsideLimits else { return true }
        let content = sender.offers[number - 1].content
        return sender.unsendable.contains { $0 > 0 && sender.offers[Int($0) - 1].content == content }
    }

    func checkUploadersSettled() {
        for sender in senders {
            guard let statistics = sender.uploader?.machine.statistics else { continue }
            let age = statistics.queueAge.maximum.nanoseconds
            check(.everyFrameIsCounted, age < 3_600_000_000_000, "a frame has waited for \(age) ns")
            check(.everyFrameIsCounted, statistics.inProgress >= 0, "\(statistics.inProgress) frames are under way")
        }
    }

    func checkUploadersReleased() {
        for sender in senders {
            guard let uploader = sender.uploader else { continue }
            let statistics = uploader.machine.statistics
            // A frame that was dropped as unchanged may be kept for the next receiver, and counts as a repeat then.
            let others = statistics.drops.filter { $0.key != .paced && $0.key != .unchanged }
            check(
                .sequenceAscends,
                uploader.machine.nextNumber
                    <= UInt64(statistics.sent + statistics.repeats + sender.lostCount + others.values.reduce(0, +)),
                "uploader \(sender.index): \(uploader.machine.nextNumber) numbers for \(statistics.sent) frames sent"
            )
            let callers = uploader.machine.waiterCount + sender.finishers.count
            let frames = uploader.machine.hasFrame ? 1 : 0
            checkNothing(isLeftBy: "uploader \(sender.index)", ["frames": frames, "callers": callers])
            check(
                .everyFrameIsCounted,
                statistics.offered == sender.offers.count && statistics.inProgress == 0,
                "of \(sender.offers.count) frames \(statistics.sent) were sent and \(statistics.dropped) dropped"
            )
        }
    }
}
