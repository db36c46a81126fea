import FrameWire
import TurboJPEG

/// Decisions on submitted frames.
extension UploaderMachine {
    /// Assigns a frame its place in the order of submission, and decides on it unless its hash is needed first.
    ///
    /// - Parameters:
    ///   - frame: The frame.
    ///   - damage: What may have changed since the last submitted image; nil if anything, or if it was copied.
    ///   - entry: The number of a copied image; nil for any other.
    ///   - now: The time.
    /// - Returns: The decision, or that the hash is needed.
    package mutating func offer(
        _ frame: consuming UploadFrame,
        damage: ImageDamage? = nil,
        entry: UInt64? = nil,
        at now: UInt64
    ) -> Admission {
        if entry == nil, damageLog.isUsed || damage != nil {
            damageLog.add(damage, frame.subject, before: slots.lastTicket + 1)
        }
        frame.ticket = slots.takeTicket()
        if damageLog.isUsed { damageLog.takeTicket(frame.ticket, entry: entry) }
        frame.sourceTime = schedule.sourceTime(of: frame)
        if frame.content?.isScaled == true { frame.look = look }
        if damageLog.isUsed { recognizeUnchanged(&frame) }
        if barrier == nil, !isClosed, frame.digest == nil, schedule.pacer.comparesFrame(at: frame.sourceTime),
            !quality.isActive || holdEnd(of: frame, at: now) == nil
        {
            return .compare(frame)
        }
        return .decided(admit(frame, at: now))
    }

    /// Decides on a frame.
    ///
    /// The hash is computed without a lock, so a newer frame may have arrived first and replaced this one.
    package mutating func admit(_ frame: consuming UploadFrame, at now: UInt64) -> SampleUploader.Outcome {
        statistics.offered += 1
        guard frame.ticket > slots.newestTicket else { return drop(.superseded) }
        slots.newestTicket = frame.ticket
        schedule.note(frame)
        // Whatever becomes of this frame at once, its caller is told.
        slots.lost = nil
        guard !isClosed else { return drop(.notConnected) }
        // Also if it is dropped: when the frame sent last is repeated depends on when the source was last heard of.
        defer { advance(at: now) }
        makeRecipe(for: &frame)
        guard frame.isWithin(configuration.limits) else { return drop(.outsideLimits) }
        switch causeToHoldBack(frame, at: now) {
        case nil where quality.isActive && isSent(frame):
            // Encoded again it might be less sharp: what shows that the sender is alive is what the receiver has.
            if configuration.pacing.keepAlive != nil { slots.oweLatest() }
            dropUnchanged(frame, .unchanged)
            return .dropped(.unchanged)
        case nil: return accept(frame)
        case .unchanged:
            // The receiver's frame is the latest again, not one that was passed over since.
            if let deferral = slots.deferral.take() { discard(deferral.frame) }
            dropUnchanged(frame, .unchanged)
            return .dropped(.unchanged)
        case let cause?: return postpone(frame, cause)
        }
    }

    /// Decides how to copy an image that is about to be submitted; it is not copied if no receiver can ever get it.
    package mutating func offerCopy(
        of image: borrowing PixelBuffer,
        color: PixelBuffer.Color = .jpeg,
        orientation: FrameOrientation,
        damage: ImageDamage? = nil,
        at now: UInt64
    ) -> CopyAdmission {
        let recipe = copying(image, orientation: orientation)
        if damageLog.isUsed || damage != nil {
            damageLog.add(damage, .init(copying: image, color, orientation, recipe), before: slots.lastTicket + 1)
        }
        let cause: SampleUploader.DropCause
        if isClosed {
            cause = .notConnected
        } else if !configuration.limits.accept(recipe.output.canvas) {
            cause = .outsideLimits
        } else {
            return .copy(recipe, entry: damageLog.count)
        }
        statistics.offered += 1
        return .decided(drop(cause))
    }

    /// Counts a submitted frame that cannot be encoded.
    package mutating func offerFailed(_ error: TurboJPEGError) -> SampleUploader.Outcome {
        statistics.offered += 1
        statistics.lastEncodingError = error
        return drop(.encodingFailed)
    }

    /// Returns the reason not to accept a frame for sending; nil if it is accepted.
    private mutating func causeToHoldBack(_ frame: borrowing UploadFrame, at now: UInt64) -> SampleUploader.DropCause? {
        if let barrier { return barrier }
        if slots.isOwed, !slots.isFrameComing { schedule.pacer.refresh() }
        if quality.isActive, holdEnd(of: frame, at: now) != nil {
            schedule.pacer.passOver(at: frame.sourceTime)
            let interval = schedule.interval
            let difficulty = quality.difficulty(for: frame.knownByteCount, interval: interval, at: now)
            if let difficulty { watch.note(difficulty) }
            return .paced
        }
        let isChanged = frame.digest == nil || frame.digest != schedule.reference.digest
        return switch schedule.pacer.decide(at: frame.sourceTime, isChanged: isChanged) {
        case .take: nil
        case .drop(let cause): cause
        }
    }

    /// Whether a frame equals the one sent last as a JPEG, and nothing is newer.
    private func isSent(_ frame: borrowing UploadFrame) -> Bool {
        guard frame.digest != nil, let sent = slots.sent, sent.quality != nil, slots.inProgress == nil else {
            return false
        }
        return sent.digest == frame.digest && slots.waiting == nil && slots.deferral == nil
            && schedule.isKnownUnchanged(frame)
    }

    private mutating func drop(_ cause: SampleUploader.DropCause) -> SampleUploader.Outcome {
        statistics.drop(cause)
        return .dropped(cause)
    }

    /// Notes what a frame has waited for that a newer one replaces.
    private mutating func noteDelay() {
        switch slots.activity {
        case .encoding: watch.note(.encoderSlow)
        case .sending: watch.note(.receiverSlow)
        case .idle, .starting: if sharing.isWaiting { watch.note(.receiverSlow) }
        }
    }

    /// Makes a frame the next one to be sent.
    private mutating func accept(_ frame: consuming UploadFrame) -> SampleUploader.Outcome {
        slots.number(&frame)
        if let older = slots.waiting.take() {
            statistics.drop(.superseded)
            noteDelay()
            discard(older)
        }
        if let older = slots.deferral.take() { discard(older.frame) }
        giveUpImages()
        schedule.reference = (frame.ticket, frame.digest)
        slots.waiting = frame
        // An image without a JPEG.
        if slots.sent?.jpeg == nil, let older = slots.sent.take() { discard(older) }
        return .taken
    }

    /// Keeps a frame that may not be sent now.
    private mutating func postpone(_ frame: consuming UploadFrame, _ cause: SampleUploader.DropCause)
        -> SampleUploader.Outcome
    {
        giveUpImages()
        keep(frame, cause)
        return .deferred(cause)
    }

    /// Counts a frame as dropped, and keeps it unless a newer one is there.
    mutating func keep(_ frame: consuming UploadFrame, _ cause: SampleUploader.DropCause) {
        statistics.drop(cause)
        schedule.forget(frame)
        if isClosed { slots.lose(frame, cause) }
        guard slots.waiting == nil || cause == .paced,
            slots.deferral.map({ $0.frame.ticket < frame.ticket }) ?? true, !isClosed
        else { return discard(frame) }
        let older = slots.deferral.take()
        let limit = older?.cause == .paced ? older?.latestDueAt : nil
        slots.deferral = schedule.deferral(of: frame, cause, noLaterThan: limit)
        slots.deferral?.isOwed = older?.isOwed ?? false
        if let older { discard(older.frame) }
    }

    /// Drops an unchanged frame, but keeps it, or its image, for the next receiver if those of the equal frame that the
    /// current receiver has were given up meanwhile.
    mutating func dropUnchanged(_ frame: consuming UploadFrame, _ cause: SampleUploader.DropCause) {
        statistics.drop(cause)
        guard slots.latestTicket != nil || isClosed else {
            // The receiver has what it shows.
            frame.decidedFor = look
            slots.sent = frame
            return
        }
        if let sent = slots.sent, sent.digest == frame.digest, slots.isLatest(sent), configuration.keepsLatestImage {
            slots.sent?.adopt(frame)
        }
        discard(frame)
    }
}
