/// Uploads: one frame at a time is encoded, then sent.
extension UploaderMachine {
    /// The source of the next frame.
    enum Source {
        /// The waiting frame.
        case waiting
        /// The deferred frame; `isForced` if the pacing does not apply.
        case deferred(isForced: Bool)
        /// The frame sent before.
        case sent
    }

    /// Returns the frame that can be sent now; nil if there is none.
    ///
    /// Inlined, as is everything on the path of every frame: a call would copy the whole machine.
    @inline(__always)
    func nextSource(at now: UInt64) -> Source? {
        guard barrier == nil else { return nil }
        if let retry, retry.revision == terms.revision, now < retry.at { return nil }
        if greetingTime(at: now) != nil || (pool.isOpen && awaitsBuffer(at: now)) { return nil }
        return candidate(at: now)
    }

    /// Returns the frame that is due, whether a shared buffer is free for it or not.
    @inline(__always)
    func candidate(at now: UInt64) -> Source? {
        if waiting != nil { return .waiting }
        if let cause = deferral?.cause, let dueAt = deferral?.dueAt, let ticket = deferral?.frame.ticket {
            // Any cause other than the pacing is a barrier that is gone, or an attempt that failed.
            if isOwed || deferral?.isOwed == true || cause != .paced { return .deferred(isForced: true) }
            if ticket <= flushedTicket || dueAt <= now { return .deferred(isForced: false) }
            // Meanwhile the receiver is kept alive by what it has.
        }
        guard sentFrame != nil else { return nil }
        return isOwed || repeatTime.map { $0 <= now } ?? false ? .sent : nil
    }

    /// Begins the upload requested by ``Effects/startsUpload``.
    ///
    /// Call it on the encoding queue, so that a newer frame can replace an older one until then.
    ///
    /// - Returns: The job to encode, to be reported with ``encoded(_:at:)``; nil if there is none.
    package mutating func beginUpload(at now: UInt64) -> EncodingJob? {
        guard case .starting = activity else { return nil }
        activity = .idle
        var job: EncodingJob?
        while case .idle = activity, let source = nextSource(at: now) {
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
        guard let frame = waiting.take() else { return nil }
        statistics.queueAge.add(nanoseconds: now.subtractingClamping(frame.offeredAt))
        return begin(frame, isForced: true, at: now)
    }

    private mutating func beginDeferred(isForced: Bool, at now: UInt64) -> EncodingJob? {
        guard let deferral = deferral.take() else { return nil }
        var frame = deferral.frame
        statistics.takeBack(deferral.cause)
        if !isForced, isKnownUnchanged(frame), pacer.pacing.skipsUnchanged || frame.ticket <= flushedTicket {
            dropUnchanged(frame, pacer.pacing.skipsUnchanged ? .unchanged : .paced)
            return nil
        }
        number(&frame)
        if isForced { pacer.takeAgain(at: sourceTime(at: now)) }
        return begin(frame, isForced: isForced, at: now)
    }

    private mutating func repeatSent(at now: UInt64) -> EncodingJob? {
        guard var frame = sentFrame.take() else { return nil }
        number(&frame)
        // What is deferred counts from the frame before, not from its repeats.
        if deferral == nil { pacer.takeAgain(at: sourceTime(at: now)) }
        reference.ticket = frame.ticket
        return begin(frame, isForced: true, isRepeat: true, at: now)
    }

    /// Starts encoding a frame, or sends it if it is already encoded.
    private mutating func begin(
        _ frame: consuming UploadFrame,
        isForced: Bool,
        isRepeat: Bool = false,
        at now: UInt64
    ) -> EncodingJob? {
        makePlan(for: &frame)
        guard frame.isWithin(configuration.limits) else {
            // The configuration has changed since the frame was admitted.
            reject(frame, .outsideLimits, isRepeat: isRepeat)
            return nil
        }
        moveToBuffer(&frame)
        reclaimBuffers(for: frame)
        let route = route(of: frame)
        guard !frame.isEncoded, route != .asItIs else {
            reference.ticket = frame.ticket
            if frame.settingsEdition == nil { frame.settingsEdition = settingsEdition }
            if !isForced { pacer.takeLate(at: sourceTime(at: now)) }
            var upload = Upload(frame: frame, beganAt: now, byteCount: frame.byteCount)
            upload.isRepeat = isRepeat
            submit(upload, at: now)
            return nil
        }
        guard hasRoom(toEncode: frame.totalByteCount) else {
            // The configuration has changed, or a newer frame needs the memory.
            reject(frame, .overMemoryBudget, isRepeat: isRepeat)
            return nil
        }
        if route == .encode, bufferWaitEnd != nil {
            // Nobody has released a buffer.
            (bufferWaitEnd, bufferPatience) = (nil, Self.shortestBufferWait)
        }
        let comparison = comparison(of: frame, isForced: isForced)
        let byteCount = frame.totalByteCount
        // Until this frame is hashed, every newer frame counts as changed.
        reference = (frame.ticket, frame.digest)
        // An image that was scaled before is not scaled again.
        if frame.settingsEdition == nil || frame.content?.isScaled != true { frame.settingsEdition = settingsEdition }
        var job = EncodingJob(
            content: frame.takeContent(),
            orientation: frame.orientation,
            comparison: comparison,
            plan: frame.plan
        )
        var upload = Upload(frame: frame, beganAt: now, byteCount: byteCount)
        if !isForced { pacer.takeInAdvance(at: sourceTime(at: now)) }
        upload.isLate = !isForced
        upload.isRepeat = isRepeat
        if case .share(let index, let size) = route {
            let lease = pool.lease(index, byteCount: size)
            (job.lease, job.needsNewMemory, upload.lease) = (lease, !pool.isAnnounced(lease), lease)
        }
        activity = .encoding(upload)
        return job
    }

    /// Drops a frame that turns out to be impossible to send.
    private mutating func reject(_ frame: consuming UploadFrame, _ cause: DropCause, isRepeat: Bool) {
        if reference.ticket == frame.ticket { reference.digest = nil }
        if !isRepeat {
            statistics.drop(cause)
            lose(frame, cause)
        }
        discard(frame)
    }

    /// Returns whether a frame can be encoded beside what is kept, releasing the sent frame if necessary.
    private mutating func hasRoom(toEncode byteCount: Int) -> Bool {
        let others = deferral?.frame.byteCount ?? 0
        makeRoom(for: byteCount + others)
        return byteCount <= frameLimit - others
    }

    /// Handles the result of the encoder.
    package mutating func encoded(_ result: EncodingResult, at now: UInt64) {
        guard case .encoding(var upload) = activity else { return }
        activity = .idle
        switch result {
        case .encoded(let image, let digest):
            statistics.encoding.add(nanoseconds: now.subtractingClamping(upload.beganAt))
            upload.byteCount = image.jpeg.count + (upload.frame.plan?.need.workspace ?? 0)
            upload.frame.become(.encoded(image.jpeg, image.bufferSize))
            upload.frame.orientation = image.orientation
            if let digest { upload.frame.digest = digest }
            // The size of a submitted JPEG may have been stated wrongly.
            if configuration.limits.accept(image.bufferSize),
                image.jpeg.count <= configuration.limits.maximumContentLength
            {
                submitEncoded(upload, at: now)
            } else {
                takeBackTurn(of: upload)
                reject(upload.frame, .outsideLimits, isRepeat: upload.isRepeat)
            }
        case .shared(let image, let orientation, let digest):
            statistics.encoding.add(nanoseconds: now.subtractingClamping(upload.beganAt))
            takeCopied(image, orientation, of: upload, digest, at: now)
        case .notShared(let content):
            upload.frame.putBack(content)
            if let lease = upload.lease, !pool.isCurrent(lease) {
                // The connection has ended meanwhile, or the receiver has declined.
                returnToQueue(upload)
            } else {
                stopSharing(for: upload)
            }
        case .unchanged(let content, let digest):
            if let lease = upload.lease { pool.ended(lease) }
            upload.frame.putBack(content)
            upload.frame.digest = digest
            takeBackTurn(of: upload)
            settleUnchanged(upload.frame)
        case .failed(let error):
            if let lease = upload.lease { pool.ended(lease) }
            takeBackTurn(of: upload)
            if !upload.isRepeat {
                statistics.drop(.encodingFailed)
                lose(upload.frame, .encodingFailed)
            }
            statistics.lastEncodingError = error
            if reference.ticket == upload.frame.ticket { reference.digest = nil }
        }
        advance(at: now)
    }

    /// Takes back that the pacing counted a late frame, which is not sent after all: a newer frame that it held back
    /// meanwhile is due as if the late one had never been.
    private mutating func takeBackTurn(of upload: borrowing Upload) {
        guard upload.isLate, pacer.takeBack() else { return }
        renewDeferral()
    }

    /// Sends a frame that has just been encoded or copied, or keeps it if it may not be sent any longer.
    mutating func submitEncoded(_ upload: consuming Upload, at now: UInt64) {
        upload.beganAt = now
        if let older = sentFrame.take() { discard(older) }
        if let barrier {
            if upload.isRepeat { keepSent(upload.frame) } else { keep(upload.frame, barrier) }
        } else {
            submit(upload, at: now)
        }
    }

    private mutating func submit(_ upload: consuming Upload, at now: UInt64) {
        let lease = upload.frame.bufferedImage?.claim.lease
        let isNew = lease.map { !pool.isAnnounced($0) } ?? false
        guard let message = upload.frame.message(withTiming: configuration.sendsTiming, isNew: isNew) else {
            return
        }
        if let lease { pool.submitted(lease) }
        isLatestShared = lease != nil
        (upload.revision, upload.connection) = (terms.revision, terms.connection)
        refer(to: upload.frame)
        isOwed = false
        lastSubmissionAt = now
        (effects.message, effects.connection) = (message, terms.connection)
        activity = .sending(upload)
    }

    /// Handles the outcome of the submitted message: `failure` is nil if all of it was accepted.
    package mutating func sent(_ failure: DropCause?, at now: UInt64) {
        guard case .sending(var upload) = activity else { return }
        activity = .idle
        // If the receiver is gone meanwhile, the image leaves its buffer, but not what was sent.
        let (wasShared, byteCount) = (upload.frame.bufferedImage != nil, upload.frame.byteCount)
        settleBuffer(of: &upload, isSent: failure == nil)
        if let failure {
            fail(upload, failure, at: now)
        } else {
            retry = nil
            lastSubmissionAt = max(lastSubmissionAt, now)
            if upload.isRepeat {
                statistics.repeats += 1
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

    /// Keeps a frame that could not be sent, for the next receiver or for another attempt.
    mutating func fail(_ upload: Upload, _ cause: DropCause, at now: UInt64) {
        isOwed = true
        retry = (upload.revision, now.addingClamping(Self.retryInterval))
        if reference.ticket == upload.frame.ticket { reference.digest = nil }
        if upload.isRepeat { keepSent(upload.frame) } else { keep(upload.frame, cause) }
    }

    mutating func keepSent(_ frame: UploadFrame) {
        guard !isClosed else { return discard(frame) }
        if let older = sentFrame.take() { discard(older) }
        sentFrame = frame
    }

    /// The delay after a failed attempt that the receiver's terms do not explain.
    private static let retryInterval: UInt64 = 100_000_000
}

/// Frames whose content the receiver already has.
extension UploaderMachine {
    /// Returns which hash is needed for a frame that is about to be encoded.
    @inline(__always)
    private func comparison(of frame: borrowing UploadFrame, isForced: Bool) -> EncodingJob.Comparison {
        guard pacer.pacing.comparesImages, frame.digest == nil else { return .none }
        guard !isForced, let digest = reference.digest else { return .compute }
        return .against(digest)
    }

    /// Settles a frame that the encoder found to equal what the receiver has.
    private mutating func settleUnchanged(_ frame: consuming UploadFrame) {
        refer(to: frame)
        takeBackNumber(of: &frame)
        // It is due later if unchanged frames have their own rate, or if a receiver has connected meanwhile.
        let isKept = isOwed || (!pacer.pacing.skipsUnchanged && frame.ticket > flushedTicket)
        let isNewest = waiting == nil && deferral == nil && !isClosed
        let cause: DropCause = pacer.pacing.skipsUnchanged && !isOwed ? .unchanged : .paced
        guard isKept, isNewest else { return dropUnchanged(frame, cause) }
        statistics.drop(cause)
        deferral = makeDeferral(of: frame, .paced)
    }

    /// Compares later frames with one that has just been hashed, unless they would be encoded differently.
    private mutating func refer(to frame: borrowing UploadFrame) {
        guard reference.ticket == frame.ticket else { return }
        reference.digest = frame.settingsEdition == settingsEdition ? frame.digest : nil
    }

    /// Drops an unchanged frame, but keeps it for the next receiver if the equal frame that the current receiver has
    /// was released meanwhile.
    mutating func dropUnchanged(_ frame: consuming UploadFrame, _ cause: DropCause) {
        if latestTicket != nil || isClosed {
            statistics.drop(cause)
            discard(frame)
        } else if hasRoom(for: frame) {
            statistics.drop(cause)
            sentFrame = frame
        } else {
            // The configuration has changed since the frame was admitted.
            statistics.drop(.overMemoryBudget)
            discard(frame)
        }
    }

    /// Whether the frame that the receiver has, or gets next, is held.
    var isReferenceHeld: Bool {
        if waiting != nil || sentFrame != nil { return true }
        return switch activity {
        case .encoding, .sending: true
        case .idle, .starting: false
        }
    }

    /// Returns whether a frame is known to equal what the receiver has, or gets next.
    @inline(__always)
    func isKnownUnchanged(_ frame: borrowing UploadFrame) -> Bool {
        guard pacer.pacing.comparesImages, let digest = frame.digest else { return false }
        return digest == reference.digest
    }
}
