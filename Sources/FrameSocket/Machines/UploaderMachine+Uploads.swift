internal import FrameTransport

/// Uploads: one frame at a time is encoded, or copied to a shared buffer, then sent.
extension UploaderMachine {
    /// Begins the upload requested by ``Effects/startsUpload``.
    ///
    /// Call it on the encoding queue, so that a newer frame can replace an older one until then.
    ///
    /// - Returns: The job to encode, to be reported with ``encoded(_:at:)``; nil if there is none.
    ///
    /// - Parameters:
    ///   - unread: The number of bytes that the receiver has not read yet, if ``Effects/asksUnread`` asked for it and the
    ///     system tells.
    ///   - now: The time.
    package mutating func beginUpload(unread: Int? = nil, at now: UInt64) -> EncodingJob? {
        guard case .starting = slots.activity else { return nil }
        slots.activity = .idle
        quality.sample(unread: unread, at: now)
        var job: EncodingJob?
        while case .idle = slots.activity, let source = nextSource(at: now) {
            switch source {
            case .waiting: job = beginWaiting(at: now)
            case .deferred(let isForced): job = beginDeferred(isForced: isForced, at: now)
            case .sent: job = repeatSent(at: now)
            }
        }
        advance(at: now)
        return job
    }

    mutating func beginWaiting(at now: UInt64) -> EncodingJob? {
        guard let frame = slots.waiting.take() else { return nil }
        statistics.queueAge.add(nanoseconds: now.subtractingClamping(frame.offeredAt))
        return begin(frame, isForced: true, at: now)
    }

    private mutating func beginDeferred(isForced: Bool, at now: UInt64) -> EncodingJob? {
        guard let deferral = slots.deferral.take() else { return nil }
        var frame = deferral.frame
        if damageLog.isUsed { recognizeUnchanged(&frame) }
        statistics.takeBack(deferral.cause)
        let skipsUnchanged = schedule.pacer.pacing.skipsUnchanged
        if !isForced, schedule.isKnownUnchanged(frame), skipsUnchanged || frame.ticket <= slots.flushedTicket {
            dropUnchanged(frame, skipsUnchanged ? .unchanged : .paced)
            return nil
        }
        slots.number(&frame)
        if isForced { schedule.pacer.takeAgain(at: schedule.sourceTime(at: now)) }
        return begin(frame, isForced: isForced, at: now)
    }

    private mutating func repeatSent(at now: UInt64) -> EncodingJob? {
        guard let frame = slots.sent.take() else { return nil }
        // What is deferred counts from the frame before, not from its repeats.
        if slots.deferral == nil { schedule.pacer.takeAgain(at: schedule.sourceTime(at: now)) }
        schedule.reference.ticket = frame.ticket
        // Neither a preference nor a low quality is a reason to send the same again.
        let isDue = slots.isOwed || schedule.repeatTime.map { $0 <= now } ?? false
        let isSharpening = sharpeningTime(of: frame, at: now).map { $0 <= now } ?? false
        return begin(
            frame,
            isForced: true,
            isRepeat: true,
            isSharpening: isSharpening,
            onlyIfDifferent: !isDue,
            at: now
        )
    }

    /// Starts preparing a frame, or sends it if that is done already.
    private mutating func begin(
        _ frame: consuming UploadFrame,
        isForced: Bool,
        isRepeat: Bool = false,
        isSharpening: Bool = false,
        onlyIfDifferent: Bool = false,
        at now: UInt64
    ) -> EncodingJob? {
        let decidedFor = frame.decidedFor
        let form = decideForm(of: &frame, isSharpening: isSharpening)
        if onlyIfDifferent, form == .asItIs || (form == .encode && frame.recipe == nil) {
            keepSent(frame)
            return nil
        }
        switch form {
        case .nothing(.outsideLimits) where isRepeat:
            frame.decidedFor = decidedFor
            exclude(frame)
            return nil
        case .nothing(let cause):
            // The configuration has changed since the frame was admitted.
            reject(frame, cause, isRepeat: isRepeat)
            return nil
        case .asItIs:
            schedule.reference.ticket = frame.ticket
            if frame.look == nil { frame.look = look }
            if !isForced { schedule.pacer.takeLate(at: schedule.sourceTime(at: now)) }
            var upload = FrameSlots.Upload(frame: frame, beganAt: now)
            upload.isRepeat = isRepeat
            number(&upload)
            submit(upload, at: now)
            return nil
        case .encode, .share: break
        }
        // Nobody has released a buffer.
        if form == .encode, sharing.hasWaited(at: now) { sharing.gaveUp() }
        let comparison = schedule.comparison(of: frame, isForced: isForced)
        // Until this frame is hashed, every newer frame counts as changed.
        schedule.reference = (frame.ticket, frame.digest)
        // An image that was scaled before is not scaled again.
        if frame.look == nil || frame.content?.isScaled != true { frame.look = look }
        let orientation = frame.orientation
        // The image of a copy is returned.
        let keepsImage = form == .encode && slots.isLatest(frame) && configuration.keepsLatestImage
        var job = EncodingJob(
            content: frame.takeContent(keeps: keepsImage),
            orientation: orientation,
            comparison: comparison,
            recipe: frame.recipe
        )
        if damageLog.isUsed { job.damage = beginDamage(of: frame, isRepeat: isRepeat) }
        var upload = FrameSlots.Upload(frame: frame, beganAt: now)
        if !isForced { schedule.pacer.takeInAdvance(at: schedule.sourceTime(at: now)) }
        upload.isLate = !isForced
        upload.isRepeat = isRepeat
        upload.isSharpening = isSharpening
        upload.connection = terms.connection
        number(&upload)
        if quality.isActive, form == .encode { chooseQuality(of: &upload, for: &job, at: now) }
        if case .share(let place) = form {
            sharing.pool.fill(place)
            (job.place, upload.place) = (place, place)
        }
        slots.activity = .encoding(upload)
        return job
    }

    private mutating func number(_ upload: inout FrameSlots.Upload) {
        upload.isNumbered = upload.frame.sequence == nil
        slots.number(&upload.frame)
    }

    /// Takes back the number that a frame got for an upload that came to nothing.
    private mutating func takeBackNumber(of upload: inout FrameSlots.Upload) {
        if upload.isNumbered { slots.takeBackNumber(of: &upload.frame) }
    }

    /// Keeps a frame whose repeat came to nothing.
    mutating func keepUnsent(_ upload: consuming FrameSlots.Upload) {
        takeBackNumber(of: &upload)
        keepSent(upload.frame)
    }

    /// Drops a frame that turns out to be impossible to send.
    mutating func reject(_ frame: consuming UploadFrame, _ cause: SampleUploader.DropCause, isRepeat: Bool) {
        schedule.forget(frame)
        if !isRepeat {
            statistics.drop(cause)
            slots.lose(frame, cause)
        }
        discard(frame)
    }

    // MARK: The encoder

    /// Handles the result of the encoder.
    package mutating func encoded(_ result: EncodingResult, at now: UInt64) {
        guard case .encoding(var upload) = slots.activity else { return }
        slots.activity = .idle
        quality.gaveUp()
        if damageLog.isUsed { endDamage(with: result) }
        switch result {
        case .encoded(let jpeg, let digest):
            statistics.encoding.add(nanoseconds: now.subtractingClamping(upload.beganAt))
            // The size of a submitted JPEG may have been stated wrongly.
            guard jpeg.isWithin(configuration.limits) else {
                takeBackCount(of: upload)
                loseExcluded(upload)
                break
            }
            if let digest { upload.frame.digest = digest }
            guard isWorthSending(upload, jpeg.jpeg.count, at: now) else {
                holdBack(upload, jpeg)
                break
            }
            upload.frame.become(jpeg)
            upload.frame.quality = upload.quality
            if upload.connection != terms.connection, upload.frame.content != nil,
                upload.frame.decidedFor != look || isNeedlesslyCoarse(upload.frame)
            {
                // Another receiver has come meanwhile, and gets the image in its own terms.
                takeBackCount(of: upload)
                returnToQueue(upload)
            } else {
                submitPrepared(consume upload, at: now)
            }
        case .shared(let copy, let content, let digest):
            statistics.encoding.add(nanoseconds: now.subtractingClamping(upload.beganAt))
            upload.frame.putBack(content)
            if let digest { upload.frame.digest = digest }
            takeCopied(copy, of: consume upload, at: now)
        case .notShared(let content):
            upload.frame.putBack(content)
            if let place = upload.place, !sharing.pool.isCurrent(place) {
                // The connection has ended meanwhile, or the receiver has declined.
                returnToQueue(upload)
            } else {
                stopSharing(for: upload)
            }
        case .unchanged(let content, let digest):
            upload.frame.putBack(content)
            upload.frame.digest = digest
            takeBackCount(of: upload)
            settleUnchanged(upload.frame)
        case .failed(let error):
            takeBackCount(of: upload)
            statistics.lastEncodingError = error
            lose(upload, .encodingFailed)
        }
        advance(at: now)
    }

    /// Drops a frame that could not be prepared; of one that was sent before, its JPEG remains.
    private mutating func lose(_ upload: consuming FrameSlots.Upload, _ cause: SampleUploader.DropCause) {
        takeBackNumber(of: &upload)
        guard upload.isRepeat, upload.frame.jpeg != nil else {
            return reject(upload.frame, cause, isRepeat: upload.isRepeat)
        }
        schedule.forget(upload.frame)
        effects.discarded.add(upload.frame.takeSpare())
        // The JPEG is what another receiver wanted: an equal image that can be encoded is sent.
        upload.frame.digest = nil
        keepSent(upload.frame)
    }

    /// Drops a frame whose JPEG is outside the limits; of one that was sent before, the image remains.
    private mutating func loseExcluded(_ upload: consuming FrameSlots.Upload) {
        guard upload.isRepeat, upload.frame.content != nil else { return lose(upload, .outsideLimits) }
        takeBackNumber(of: &upload)
        schedule.forget(upload.frame)
        // What is sent of it under other limits is to be decided again.
        upload.frame.decidedFor = nil
        exclude(upload.frame)
    }

    /// Keeps a frame that the limits exclude when it is to be sent again, for another configuration; it is owed until then.
    private mutating func exclude(_ frame: consuming UploadFrame) {
        frame.excludedBy = edition
        keepSent(frame)
    }

    /// Takes back that the pacing counted a late frame, which is not sent after all: a newer frame that it held back
    /// meanwhile is due as if the late one had never been.
    mutating func takeBackCount(of upload: borrowing FrameSlots.Upload) {
        guard upload.isLate, schedule.pacer.takeBack() else { return }
        renewDeferral()
    }

    /// Settles a frame that the encoder found to equal what the receiver has.
    private mutating func settleUnchanged(_ frame: consuming UploadFrame) {
        schedule.refer(to: frame, look: look)
        slots.takeBackNumber(of: &frame)
        let skipsUnchanged = schedule.pacer.pacing.skipsUnchanged
        // It is due later if unchanged frames have their own rate, or if a receiver has connected meanwhile.
        let isKept = slots.isOwed || (!skipsUnchanged && frame.ticket > slots.flushedTicket)
        let isNewest = slots.waiting == nil && slots.deferral == nil && !isClosed
        let cause: SampleUploader.DropCause = skipsUnchanged && !slots.isOwed ? .unchanged : .paced
        guard isKept, isNewest else { return dropUnchanged(frame, cause) }
        statistics.drop(cause)
        slots.deferral = schedule.deferral(of: frame, .paced)
    }

    // MARK: The connection

    /// Sends a frame that has just been prepared, or keeps it if it may not be sent any longer.
    mutating func submitPrepared(_ upload: consuming FrameSlots.Upload, at now: UInt64) {
        upload.beganAt = now
        if let older = slots.sent.take() { discard(older) }
        if let barrier {
            if upload.isRepeat { keepUnsent(upload) } else { keep(upload.frame, barrier) }
        } else {
            submit(upload, at: now)
        }
    }

    private mutating func submit(_ upload: consuming FrameSlots.Upload, at now: UInt64) {
        let info = upload.frame.info(withTiming: configuration.sendsTiming)
        let isShared = upload.copy != nil
        let prepared = if let copy = upload.copy { sharing.submit(copy, info) } else { upload.frame.message(info) }
        guard let message = prepared else { return }
        sharing.isLatestShared = isShared
        (upload.revision, upload.connection) = (terms.revision, terms.connection)
        schedule.refer(to: upload.frame, look: look)
        slots.isOwed = false
        statistics.quality = upload.frame.quality?.used
        schedule.noteSubmission(at: now)
        if !isShared { quality.submitted(message.jpeg.count, at: now) }
        (effects.message, effects.connection) = (message, terms.connection)
        slots.activity = .sending(upload)
    }

    /// Handles the outcome of the submitted message: `failure` is nil if all of it was accepted.
    package mutating func sent(_ failure: SampleUploader.DropCause?, at now: UInt64) {
        guard case .sending(var upload) = slots.activity else { return }
        slots.activity = .idle
        // A connection that ended before has had nothing of it.
        if failure == nil || failure == .connectionLost { upload.frame.isKnown = true }
        let copy = upload.copy.take()
        let (wasShared, byteCount) = (copy != nil, upload.frame.jpeg?.jpeg.count ?? 0)
        if let copy { sharing.settled(copy, isSent: failure == nil) }
        if let failure {
            fail(upload, failure, at: now)
        } else {
            schedule.attemptSucceeded()
            schedule.noteSubmission(at: now)
            if now >= upload.beganAt.addingClamping(Self.longestTransfer) { watch.note(.receiverSlow) }
            if !wasShared { quality.sent(byteCount, beganAt: upload.beganAt, at: now) }
            if upload.isRepeat {
                statistics.repeats += 1
                if upload.isSharpening { statistics.sharpened += 1 }
            } else {
                statistics.sent += 1
                if wasShared { statistics.shared += 1 }
                statistics.bytes &+= UInt64(byteCount)
                statistics.transfer.add(nanoseconds: now.subtractingClamping(upload.beganAt))
            }
            keepSent(upload.frame)
        }
        advance(at: now)
    }

    /// A frame that takes longer is sent to a slow receiver.
    private static let longestTransfer: UInt64 = 250_000_000

    /// Keeps a frame that could not be sent, for the next receiver or for another attempt.
    mutating func fail(_ upload: FrameSlots.Upload, _ cause: SampleUploader.DropCause, at now: UInt64) {
        slots.isOwed = true
        schedule.attemptFailed(under: upload.revision, at: now)
        schedule.forget(upload.frame)
        if upload.isRepeat { keepUnsent(upload) } else { keep(upload.frame, cause) }
    }

    /// Makes a frame whose upload led to nothing the next one again, unless a newer one waits.
    mutating func returnToQueue(_ upload: consuming FrameSlots.Upload) {
        if upload.isRepeat {
            slots.isOwed = true
            // What was decided for the present look has not been made: its JPEG, if there is one, is of another.
            upload.frame.decidedFor = nil
            keepUnsent(upload)
        } else if let barrier {
            keep(upload.frame, barrier)
        } else if slots.waiting == nil {
            slots.waiting = upload.frame
        } else {
            statistics.drop(.superseded)
            discard(upload.frame)
        }
    }

    /// Keeps a frame for receivers that need it again: with its image only while nothing is newer.
    mutating func keepSent(_ frame: consuming UploadFrame) {
        guard !isClosed else { return discard(frame) }
        if !slots.isLatest(frame) { effects.discarded.add(frame.takeSpare()) }
        if let older = slots.sent.take() { discard(older) }
        slots.sent = frame
    }
}
