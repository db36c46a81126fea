/// Deadlines, and waiting for frames.
extension UploaderMachine {
    /// Returns a frame that may not be sent now, with the time at which the pacing releases it.
    @inline(__always)
    func makeDeferral(
        of frame: consuming UploadFrame,
        _ cause: DropCause,
        noLaterThan limit: UInt64? = nil
    ) -> Deferral {
        let isUnchanged = isKnownUnchanged(frame)
        var dueAt = pacer.deadline(
            for: frame.sourceTime,
            offeredAt: frame.offeredAt,
            rhythm: rhythm,
            isUnchanged: isUnchanged
        )
        // A frame of a source that continues is replaced by one closer to the due time, or by one that is not held back.
        var latestDueAt = isUnchanged ? .max : dueAt.addingClamping(rhythm.interval.multipliedClamping(by: 2))
        if let limit, cause == .paced, !isUnchanged {
            latestDueAt = min(latestDueAt, limit)
            dueAt = min(dueAt, latestDueAt)
        }
        return Deferral(frame: frame, cause: cause, dueAt: dueAt, latestDueAt: latestDueAt)
    }

    /// Gives the deferred frame, if there is one, the time at which the pacing in effect releases it.
    mutating func renewDeferral() {
        guard let held = deferral.take() else { return }
        deferral = makeDeferral(of: held.frame, held.cause)
        deferral?.isOwed = held.isOwed
    }

    /// Returns the time on the source's clock, which may differ from ours: only the distance to its last frame counts.
    @inline(__always)
    func sourceTime(at now: UInt64) -> UInt64 {
        guard let lastOffer else { return now }
        return lastOffer.sourceTime.addingClamping(now.subtractingClamping(lastOffer.at))
    }

    /// Returns the time of a frame on the source's clock, which is its timestamp while the timestamps advance.
    ///
    /// A clock that stands still or steps back is assumed to continue at the pace of ours, so that a rate applies to
    /// the frames that follow, whatever their timestamps are.
    mutating func sourceTime(of frame: borrowing UploadFrame) -> UInt64 {
        guard let lastOffer else { return frame.timestamp }
        let ours = sourceTime(at: frame.offeredAt)
        guard frame.timestamp != lastOffer.timestamp else { return ours }
        let time = frame.timestamp &+ clockOffset
        guard time < lastOffer.sourceTime else { return time }
        // Jitter is less than the interval of two frames.
        guard lastOffer.sourceTime - time >= rhythm.interval else { return time }
        guard ours < .max / 2 else {
            // No clock has such a time: the pacing starts over with this frame.
            clockOffset = 0
            return frame.timestamp
        }
        clockOffset = ours &- frame.timestamp
        return ours
    }

    /// The time at which the sent frame is sent again because the source is silent.
    @inline(__always)
    var repeatTime: UInt64? {
        guard let interval = pacer.repeatInterval, let lastOffer, sentFrame != nil else { return nil }
        // As long as the source continues, its own frames show that it is alive, unless it is slower than repeats.
        let silence = lastOffer.at.addingClamping(min(rhythm.interval.multipliedClamping(by: 2), interval))
        return max(lastSubmissionAt.addingClamping(interval), silence)
    }

    /// Returns the time of the next call that the machine needs; nil if nothing depends on time.
    @inline(__always)
    private func nextDeadline(at now: UInt64) -> UInt64? {
        // When the frame in progress is done, whatever is due then follows at once.
        if barrier == nil, let time = greetingTime(at: now) {
            let isAwaited = waiting != nil || deferral != nil || sentFrame != nil || !bufferWaiters.isEmpty
            return isAwaited ? time : nil
        }
        // The end of a wait that has passed, with something else in the way, needs no call.
        let waitEnd = hasWaitedForBuffer(at: now) ? nil : bufferWaitEnd
        guard case .idle = activity, barrier == nil,
            !(pool.isOpen && awaitsBuffer(at: now) && candidate(at: now) != nil)
        else { return waitEnd }
        var deadline = deferral?.dueAt
        if let repeatTime { deadline = min(deadline ?? .max, repeatTime) }
        if let retry, retry.revision == terms.revision, now < retry.at {
            deadline = waiting != nil || deferral != nil || sentFrame != nil ? retry.at : nil
        }
        guard let waitEnd else { return deadline }
        return min(deadline ?? .max, waitEnd)
    }

    /// Requests the timer if it is needed earlier than last requested.
    ///
    /// A timer that fires too early is set again, which is cheaper than setting it for every frame.
    mutating func setTimer(at now: UInt64) {
        guard let deadline = nextDeadline(at: now), timer.map({ deadline < $0 }) ?? true else { return }
        timer = deadline
        effects.setsTimer = true
    }

    // MARK: Waiting for frames

    /// Waits for every frame up to `ticket`, by default every frame submitted so far; ``Effects/finished`` contains `id`
    /// when all of them are sent or dropped.
    ///
    /// A frame that only the pacing holds back is sent at once. Frames that no receiver can get now are not waited for,
    /// nor are frames submitted later: ``causeOfLoss(upTo:)`` tells of them.
    package mutating func finish(_ id: UInt64, upTo ticket: UInt64? = nil, at now: UInt64) {
        let ticket = ticket ?? newestTicket
        finishers.append((id, ticket))
        flushedTicket = max(flushedTicket, ticket)
        advance(at: now)
    }

    /// Returns why the newest frame up to `ticket` has not been sent; nil if it has, or if a newer frame has taken its
    /// place, or if the pacing has left it out.
    package func causeOfLoss(upTo ticket: UInt64) -> DropCause? {
        if let deferral, deferral.frame.ticket <= ticket { return barrier ?? deferral.cause }
        guard let lost, lost.ticket <= ticket else { return nil }
        return lost.cause
    }

    /// Whether a frame up to `ticket` is still to be sent or dropped.
    package func isPending(upTo ticket: UInt64) -> Bool { oldestPendingTicket.map { $0 <= ticket } ?? false }

    /// Records that a frame that was accepted or deferred will never be sent, and not because of a newer one.
    mutating func lose(_ frame: borrowing UploadFrame, _ cause: DropCause) {
        if frame.ticket >= lost?.ticket ?? 0 { lost = (frame.ticket, cause) }
    }

    /// Ends the wait under `id`.
    package mutating func cancelWait(_ id: UInt64) {
        finishers.removeAll { $0.id == id }
        bufferWaiters.removeAll { $0 == id }
    }

    /// The number of waiters.
    package var waiterCount: Int { finishers.count + bufferWaiters.count }

    mutating func settleFinishers() {
        guard !finishers.isEmpty else { return }
        let pending = oldestPendingTicket ?? .max
        for finisher in finishers where finisher.ticket < pending { effects.finished.append(finisher.id) }
        finishers.removeAll { $0.ticket < pending }
    }

    /// The oldest frame that is neither sent nor dropped.
    @inline(__always)
    private var oldestPendingTicket: UInt64? {
        switch activity {
        case .encoding(let upload) where !upload.isRepeat: return upload.frame.ticket
        case .sending(let upload) where !upload.isRepeat: return upload.frame.ticket
        case .idle, .starting, .encoding, .sending: break
        }
        if let ticket = waiting?.ticket { return ticket }
        guard let deferral, barrier == nil else { return nil }
        // A frame that was held back for another cause follows at once, or when the terms say why its attempt has failed;
        // but another user of the connection may be busy for any time.
        let hasFailed = retry.map { $0.revision == terms.revision } ?? false
        return deferral.cause == .superseded && hasFailed ? nil : deferral.frame.ticket
    }

    /// The number of frames that are waiting or in progress for the first time.
    package var pendingCount: Int {
        var count = waiting == nil ? 0 : 1
        switch activity {
        case .encoding(let upload), .sending(let upload): count += upload.isRepeat ? 0 : 1
        case .idle, .starting: break
        }
        return count
    }

    /// The time of the last frame, submitted by the source or sent, if nothing but the sent frame is held and it could be
    /// repeated.
    package var silentSince: UInt64? {
        guard case .idle = activity, barrier == nil, waiting == nil, deferral?.cause ?? .paced == .paced,
            sentFrame != nil
        else { return nil }
        return max(lastSubmissionAt, lastOffer?.at ?? 0)
    }

    /// The ticket of the frame that a new receiver would get; nil if there is none.
    package var latestTicket: UInt64? {
        if let deferral { return deferral.frame.ticket }
        if let waiting { return waiting.ticket }
        switch activity {
        case .encoding(let upload), .sending(let upload): return upload.frame.ticket
        case .idle, .starting: return sentFrame?.ticket
        }
    }
}
