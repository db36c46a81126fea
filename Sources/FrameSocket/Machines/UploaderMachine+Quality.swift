internal import FrameTransport

/// Images whose quality follows what is possible.
extension UploaderMachine {
    /// Returns the time before which the frame that is due, or the next one, is neither encoded nor sent, for lack of room;
    /// nil if it may be now.
    package mutating func holdEnd(at now: UInt64) -> UInt64? {
        if let source = candidate(at: now) { return holdEnd(of: source, at: now) }
        return slots.next.flatMap { holdEnd(of: $0, at: now) }
    }

    /// The same for one of the frames that may be next: each waits for room of its own.
    func holdEnd(of source: FrameSlots.Source, at now: UInt64) -> UInt64? {
        switch source {
        case .waiting: slots.waiting.flatMap { holdEnd(of: $0, at: now) }
        case .deferred: slots.deferral.flatMap { holdEnd(of: $0.frame, at: now) }
        case .sent: slots.sent.flatMap { holdEnd(of: $0, at: now) }
        }
    }

    /// Returns the time at which a frame is due and has room; nil if none will be.
    ///
    /// - Parameters:
    ///   - again: The time at which the frame sent last is due again; nil if it never is.
    ///   - now: The time.
    /// - Returns: The time, or nil.
    mutating func dueTime(again: UInt64?, at now: UInt64) -> UInt64? {
        let source = candidate(at: now)
        var times: [UInt64?] = [source.flatMap { holdEnd(of: $0, at: now) }]
        switch source {
        case .waiting, .deferred: break
        case .sent: times.append(deferralTime(at: now))
        case nil: times += [deferralTime(at: now), again.map { max($0, holdEnd(of: .sent, at: now) ?? 0) }]
        }
        return times.compactMap(\.self).min()
    }

    private func deferralTime(at now: UInt64) -> UInt64? {
        slots.deferral.map { max($0.dueAt, holdEnd(of: $0.frame, at: now) ?? 0) }
    }

    /// Returns the time before which a frame is neither encoded nor sent, for lack of room; nil if it may be now.
    ///
    /// Images in shared memory take no room, but wait for it behind JPEGs.
    func holdEnd(of frame: borrowing UploadFrame, at now: UInt64) -> UInt64? {
        quality.holdEnd(for: frame.knownByteCount, at: now)
    }

    /// Returns the time at which the frame sent last is sent again at the maximum quality; nil if it never is.
    func sharpeningTime(at now: UInt64) -> UInt64? {
        guard let frame = slots.sent else { return nil }
        return sharpeningTime(of: frame, at: now)
    }

    func sharpeningTime(of frame: borrowing UploadFrame, at now: UInt64) -> UInt64? {
        guard canBeSharper(frame), slots.isLatest(frame) else { return nil }
        // Nothing limits it any longer.
        guard quality.isActive else { return now }
        return sharing.pool.isOpen ? nil : quality.sharpeningTime(changedAt: schedule.lastChangeAt, at: now)
    }

    /// Whether the image of a JPEG is there, and that has less than the maximum quality for a limit that is gone, such as that
    /// of another receiver.
    func isNeedlesslyCoarse(_ frame: borrowing UploadFrame) -> Bool { !quality.isActive && canBeSharper(frame) }

    private func canBeSharper(_ frame: borrowing UploadFrame) -> Bool {
        guard let sent = frame.quality, frame.content != nil else { return false }
        return sent.used < min(sent.highest, configuration.quality)
    }

    /// Chooses the quality of an image that is encoded; a JPEG that is sent as it is, or rotated, keeps its own.
    mutating func chooseQuality(of upload: inout FrameSlots.Upload, for job: inout EncodingJob, at now: UInt64) {
        guard let highest = upload.frame.recipe?.settings.quality else { return }
        if case .jpeg? = job.content { return }
        // A frame that had to wait for so long that the source is still by now is sharp at once, if there is room.
        let isStill =
            slots.isLatest(upload.frame) && quality.sharpeningTime(changedAt: schedule.lastChangeAt, at: now) <= now
        let possible = quality.begin(
            sharpening: upload.isSharpening || isStill,
            interval: schedule.interval,
            at: now
        )
        let used = min(possible, highest)
        job.quality = used
        upload.quality = UploadFrame.Quality(used: used, highest: highest)
    }

    /// Takes in the size of a JPEG, and returns whether it is sent: there is room for it, and an image that is sent again is
    /// still the latest.
    mutating func isWorthSending(_ upload: borrowing FrameSlots.Upload, _ byteCount: Int, at now: UInt64) -> Bool {
        guard quality.isActive, let used = upload.quality?.used else { return true }
        let hasRoom = quality.encoded(byteCount, quality: used, sharpening: used > quality.level, at: now)
        return hasRoom && (!upload.isSharpening || slots.isLatest(upload.frame))
    }

    /// Keeps a frame whose JPEG is not sent now, unless there is a newer one: to be encoded again when there is room, or as
    /// this JPEG if its image has been given up meanwhile.
    mutating func holdBack(_ upload: consuming FrameSlots.Upload, _ jpeg: FrameMessage) {
        if upload.frame.content == nil, upload.isSharpening {
            // The JPEG that it was sent as stays. Another image may be adopted, with a recipe of its own.
            upload.frame.recipe = nil
        } else if upload.frame.content == nil {
            upload.frame.become(jpeg)
            upload.frame.quality = upload.quality
        }
        if upload.isSharpening { return keepUnsent(upload) }
        if upload.isRepeat { return returnToQueue(upload) }
        takeBackCount(of: upload)
        slots.takeBackNumber(of: &upload.frame)
        if slots.isLatest(upload.frame) {
            keep(upload.frame, .paced)
        } else {
            statistics.drop(.superseded)
            schedule.forget(upload.frame)
            discard(upload.frame)
        }
    }
}
