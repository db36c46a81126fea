internal import FrameTransport
internal import FrameWire

// What the receiver should have, compared with what it has.
extension UploaderMachine {
    /// Returns what follows, and when: the earliest of what each lack allows; nil if nothing does.
    mutating func next(at now: UInt64) -> Step? {
        guard work.stage == .none, newest.ticket > 0, barrier == nil else { return nil }
        let earliest = max(now, retryAt, sharing.greetingTime(at: now) ?? 0)
        let next: Step?
        if given.frame.ticket < newest.ticket {
            let from = isAsked ? 0 : turn
            next = step(.image, max(from, earliest), at: now)
            // The same again would take the room of something better.
            if given.frame.ticket == 0 || (from <= now && next != nil) { return next }
        } else {
            let look = lacksLook ? step(.look, earliest, at: now) : nil
            next = Step.earlier(look, lacksSharpness ? step(.sharpness, earliest, at: now) : nil, at: now)
            if next != nil { return next }
        }
        guard let keepAlive = pacer.keepAlive else { return next }
        let life = step(.life, max(given.at.addingClamping(keepAlive), earliest), at: now)
        return Step.earlier(next, life, at: now)
    }

    /// Whether the receiver has the newest image otherwise than it should look.
    private var lacksLook: Bool {
        given.frame.look != newest.look && content != nil
            && EncodingRecipe.differ(given.frame.recipe, newest.recipe, isShared: given.isShared)
    }

    /// Whether the receiver has the newest image at less than the highest quality.
    private var lacksSharpness: Bool {
        guard !sharing.isOpen, let used = given.quality, content != nil else { return false }
        return isCoarse(used, given.frame.recipe)
    }

    /// Returns how a lack is met, and when; nil if it cannot be.
    private mutating func step(_ lack: Lack, _ start: UInt64, at now: UInt64) -> Step? {
        guard canBeMade else {
            // What was made before is there for a receiver that has nothing else, unless other limits let it have the image.
            let isExcluded = content != nil && (newest.refusal ?? .outsideLimits) == .outsideLimits
            let isNewest = encoded.frame.ticket == newest.ticket
            let isWanted = !isExcluded && (given.frame.ticket == 0 || (lack == .image && isNewest))
            guard isWanted || lack == .life, encoded.isWithin(configuration.limits) else { return nil }
            return Step(.made, lack, at: max(start, room(for: encoded.byteCount, at: now)))
        }
        if sharing.isOpen, lack != .sharpness, let byteCount = newest.recipe?.sharedByteCount {
            if let place = sharing.place(for: byteCount) { return Step(.share(place), lack, at: start) }
            if sharing.waitEnd > now { return Step(.encode, lack, at: max(start, sharing.waitEnd)) }
        }
        let isMade = encoded.frame.ticket == newest.ticket
        let isAgain = lack == .life && given.frame.ticket < newest.ticket && encoded.frame.ticket == given.frame.ticket
        if isMade || isAgain, lack != .sharpness, lack == .life || !isNeedlesslyCoarse {
            let fits = isMade && !EncodingRecipe.differ(encoded.frame.recipe, newest.recipe, isShared: false)
            if fits || isAgain, encoded.isWithin(configuration.limits) {
                return Step(.made, lack, at: max(start, room(for: encoded.byteCount, at: now)))
            }
        }
        guard lack == .sharpness else {
            return Step(.encode, lack, at: max(start, room(for: contentByteCount, at: now)))
        }
        let sharpAt = quality.isActive ? quality.sharpeningTime(changedAt: newest.changedAt, at: now) : 0
        return Step(.encode, lack, at: max(start, sharpAt))
    }

    /// The time from which the newest image has its turn.
    var turn: UInt64 {
        pacer.turn(of: newest.sourceTime, offeredAt: newest.offeredAt, isUnchanged: given.equal == newest.ticket)
    }

    /// Whether the newest image does not wait for its turn.
    var isAsked: Bool {
        given.frame.ticket == 0 || newest.ticket <= asked || isFlushed(newest.ticket)
    }

    /// Whether somebody waits for a frame.
    func isFlushed(_ ticket: UInt64) -> Bool {
        !waiters.isEmpty && waiters.contains { ticket <= $0.ticket }
    }

    /// Whether something can be made of the newest image.
    private var canBeMade: Bool {
        content != nil && newest.refusal == nil && newest.isWithin(configuration.limits)
    }

    /// Returns the time from which there is room for a JPEG; nil for a size that is not known yet.
    func room(for byteCount: Int?, at now: UInt64) -> UInt64 {
        quality.isActive ? quality.holdEnd(for: byteCount, at: now) ?? 0 : 0
    }

    /// The size of the JPEG that the newest image is, if it is sent as it is.
    private var contentByteCount: Int? { content == nil ? nil : newest.byteCount }

    /// Whether an image of which this was made could be sharper.
    func isCoarse(_ used: Int?, _ recipe: EncodingRecipe?) -> Bool {
        guard let used, let highest = recipe?.settings.quality else { return false }
        return used < min(highest, configuration.quality)
    }

    /// Whether the last JPEG has less than the maximum quality for a limit that is gone, such as that of another receiver.
    private var isNeedlesslyCoarse: Bool {
        !quality.isActive && isCoarse(encoded.quality, encoded.frame.recipe)
    }

    /// Whether the newest image is left out if it equals what the receiver has; one that is asked for never is.
    var isCompared: Bool {
        pacer.pacing.comparesImages && newest.ticket > asked && given.frame.ticket > 0 && given.equal != newest.ticket
            && given.frame.look == newest.look && !pacer.sendsUnchanged(newest.sourceTime)
    }

    /// The reason that no frame may be sent now; nil if one may.
    var barrier: Cause? {
        guard terms.isConnected, !isClosed else { return .notConnected }
        if terms.isPaused { return .paused }
        return terms.wants.contains(.frames) ? nil : .notWanted
    }

    /// What the newest image waits for: what its caller is told, and what the statistics count.
    mutating func standing(_ old: Frame.State, at now: UInt64) -> Frame.State {
        if let barrier {
            // What has held it back first is what is counted.
            if case .deferred = old { return old }
            return .deferred(barrier)
        }
        if retryAt > now, case .deferred = old { return old }
        let ticket = newest.ticket
        let isMade = encoded.frame.ticket == ticket
        let isWithin =
            content == nil
            ? !isMade || encoded.isWithin(configuration.limits) : newest.isWithin(configuration.limits)
        if !isWithin { return .dropped(.outsideLimits) }
        // What is being encoded is given by then.
        let isNext = ticket <= asked || (given.frame.ticket == 0 && work.stage != .encoding) || isFlushed(ticket)
        if !isNext, turn > now { return .deferred(.paced) }
        if sharing.isOpen, newest.recipe?.sharedByteCount != nil { return .pending }
        return room(for: isMade ? encoded.byteCount : contentByteCount, at: now) > now ? .deferred(.paced) : .pending
    }

    // MARK: Difficulties

    /// Notes what a frame has waited for that a newer one replaces.
    mutating func noteDelay(at now: UInt64) {
        switch work.stage {
        case .encoding: watch.note(.encoderSlow, at: now)
        case .sending: watch.note(.receiverSlow, at: now)
        case .none: if sharing.isOpen, !sharing.hasFree { watch.note(.receiverSlow, at: now) }
        }
    }

    mutating func noteLackOfRoom(at now: UInt64) {
        guard quality.isActive, barrier == nil, let difficulty = difficulty(at: now) else { return }
        watch.note(difficulty, at: now)
    }

    private func difficulty(at now: UInt64) -> SampleUploader.Conditions? {
        quality.difficulty(for: contentByteCount, interval: pacer.interval, at: now)
    }

    mutating func updateConditions(at now: UInt64) {
        // What has begun lasts while an image is held back for it, whether or not the source offers another.
        let isHeldBack = !statistics.conditions.isEmpty && newest.state == .deferred(.paced)
        let conditions = watch.update(lasting: isHeldBack ? difficulty(at: now) : nil, at: now)
        guard conditions != statistics.conditions else { return }
        statistics.conditions = conditions
        effects.tellsConditions = true
    }

    // MARK: What tests ask

    /// The ticket of the newest image.
    package var newestTicket: UInt64 { newest.ticket }

    /// Whether there is a frame for a new receiver.
    package var hasFrame: Bool { content != nil || encoded.message != nil || work.stage != .none }

    /// Since when a receiver has had nothing, if something could be sent again.
    package var silentSince: UInt64? {
        guard work.stage == .none, !isTurnAsked, barrier == nil, given.frame.ticket > 0,
            !isCoarse(given.quality, given.frame.recipe), canBeMade || encoded.isWithin(configuration.limits)
        else { return nil }
        return given.at
    }

    /// Returns the time before which there is no room for the newest image, or for the JPEG that was made last; nil if there
    /// is.
    package func holdEnd(at now: UInt64) -> UInt64? {
        let made = encoded.message == nil ? 0 : room(for: encoded.byteCount, at: now)
        let end = max(made, room(for: contentByteCount, at: now))
        guard end > now else { return nil }
        return end
    }
}
