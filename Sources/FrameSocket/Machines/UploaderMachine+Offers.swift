package import FrameWire
package import TurboJPEG

/// Decisions on submitted frames.
extension UploaderMachine {
    /// Assigns a frame its place in the order of submission, and decides on it unless its hash is needed first.
    package mutating func offer(_ frame: consuming UploadFrame, at now: UInt64) -> Admission {
        frame.ticket = takeTicket()
        frame.sourceTime = sourceTime(of: frame)
        if frame.content?.isScaled == true { frame.settingsEdition = settingsEdition }
        if barrier == nil, !isClosed, frame.digest == nil, pacer.comparesFrame(at: frame.sourceTime) {
            return .compare(frame)
        }
        return .decided(admit(frame, at: now))
    }

    /// Decides on a frame.
    ///
    /// The hash is computed without a lock, so a newer frame may have arrived first and replaced this one.
    package mutating func admit(_ frame: consuming UploadFrame, at now: UInt64) -> SampleUploader.Outcome {
        statistics.offered += 1
        guard frame.ticket > newestTicket else { return drop(.superseded) }
        newestTicket = frame.ticket
        rhythm.add(frame.offeredAt)
        lastOffer = (frame.timestamp, frame.sourceTime, frame.offeredAt)
        // Whatever becomes of this frame at once, its caller is told.
        lost = nil
        guard !isClosed else { return drop(.notConnected) }
        makePlan(for: &frame)
        guard frame.isWithin(configuration.limits) else { return drop(.outsideLimits) }
        reclaimBuffers(for: frame)
        defer { advance(at: now) }
        switch causeToHoldBack(frame) {
        case nil:
            let outcome = accept(frame)
            if pool.isOpen { sendDrawn(at: now) }
            return outcome
        case .unchanged:
            guard isReferenceHeld || hasRoom(for: frame) else { return drop(.overMemoryBudget) }
            // The receiver's frame is the latest again, not one that was passed over since.
            if let deferral = deferral.take() { discard(deferral.frame) }
            dropUnchanged(frame, .unchanged)
            return .dropped(.unchanged)
        case let cause?: return postpone(frame, cause)
        }
    }

    /// Decides how to copy an image that is about to be submitted; it is not copied if no receiver can ever get it.
    package mutating func offerCopy(
        of image: borrowing PixelBuffer,
        color: VideoColor = .jpeg,
        orientation: FrameOrientation
    ) -> CopyAdmission {
        let plan = scaling(of: image, color: color, orientation: orientation)
        guard !isClosed, plan.byteCount <= memoryLimit else {
            statistics.offered += 1
            return .decided(drop(isClosed ? .notConnected : .overMemoryBudget))
        }
        guard configuration.limits.accept(plan.outputSize) else {
            statistics.offered += 1
            return .decided(drop(.outsideLimits))
        }
        return .copy(plan)
    }

    /// Counts a submitted frame that cannot be encoded.
    package mutating func offerFailed(_ error: TurboJPEGError) -> SampleUploader.Outcome {
        statistics.offered += 1
        statistics.lastEncodingError = error
        return drop(.encodingFailed)
    }

    /// Returns the reason not to accept a frame for sending; nil if it is accepted.
    private mutating func causeToHoldBack(_ frame: borrowing UploadFrame) -> DropCause? {
        if let barrier { return barrier }
        if isOwed, !isFrameComing { pacer.refresh() }
        let isChanged = frame.digest == nil || frame.digest != reference.digest
        return switch pacer.decide(at: frame.sourceTime, isChanged: isChanged) {
        case .take: nil
        case .drop(let cause): cause
        }
    }

    /// Whether a frame that is yet to be submitted to the connection will settle what is owed, alone or with the
    /// deferred one behind it.
    private var isFrameComing: Bool {
        if waiting != nil { return true }
        return if case .encoding = activity { true } else { false }
    }

    private mutating func drop(_ cause: DropCause) -> SampleUploader.Outcome {
        statistics.drop(cause)
        return .dropped(cause)
    }

    /// Makes a frame the next one to be sent.
    private mutating func accept(_ frame: consuming UploadFrame) -> SampleUploader.Outcome {
        number(&frame)
        guard hasRoom(for: frame) else {
            reference = (frame.ticket, nil)
            return drop(.overMemoryBudget)
        }
        if let older = waiting.take() {
            statistics.drop(.superseded)
            discard(older)
        }
        if let older = deferral.take() { discard(older.frame) }
        makeRoom(for: frame.byteCount)
        reference = (frame.ticket, frame.digest)
        waiting = frame
        return .taken
    }

    /// Keeps a frame that may not be sent now.
    private mutating func postpone(_ frame: consuming UploadFrame, _ cause: DropCause) -> SampleUploader.Outcome {
        guard hasRoom(for: frame) else { return drop(.overMemoryBudget) }
        if !fitsBesideWaiting(frame.byteCount) {
            // The newest frame wins: it is sent instead of the other.
            return accept(frame)
        }
        makeRoom(for: frame.byteCount + (waiting?.byteCount ?? 0))
        keep(frame, cause)
        return .deferred(cause)
    }

    /// Counts a frame as dropped, and keeps it unless a newer one is there.
    mutating func keep(_ frame: consuming UploadFrame, _ cause: DropCause) {
        statistics.drop(cause)
        if reference.ticket == frame.ticket { reference.digest = nil }
        if isClosed { lose(frame, cause) }
        guard waiting == nil || cause == .paced, deferral.map({ $0.frame.ticket < frame.ticket }) ?? true, !isClosed
        else { return discard(frame) }
        let older = deferral.take()
        deferral = makeDeferral(of: frame, cause, noLaterThan: older?.cause == .paced ? older?.latestDueAt : nil)
        deferral?.isOwed = older?.isOwed ?? false
        if let older { discard(older.frame) }
    }
}
