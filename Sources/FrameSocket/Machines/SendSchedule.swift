/// When an uploader sends: the pacing, the source's clock and rhythm, and what is tried again.
struct SendSchedule: Sendable {
    var pacer: FramePacer
    private var rhythm = SourceRhythm()

    /// The offset that is added to timestamps since the source's clock stepped back.
    private var clockOffset: UInt64 = 0

    /// The presentation time of the last submitted frame, and its time on the source's clock and on ours.
    private var lastOffer: (timestamp: UInt64, sourceTime: UInt64, at: UInt64)?

    /// The time of the last submitted frame that is not known to equal the one before.
    private(set) var lastChangeAt: UInt64 = 0

    /// The time at which the connection last accepted a frame.
    private var lastSubmissionAt: UInt64 = 0

    /// The last frame that was accepted for sending, and its hash if known: what later ones are compared with.
    var reference: (ticket: UInt64, digest: UInt64?) = (0, nil)

    /// The time before which nothing is tried again after a failed attempt, unless the terms change.
    private var retry: (revision: UInt64, at: UInt64)?

    /// The delay after a failed attempt that the receiver's terms do not explain.
    private static let retryInterval: UInt64 = 100_000_000

    init(_ pacing: SampleUploader.Pacing) {
        pacer = FramePacer(pacing)
    }

    /// The time at which the source last submitted a frame, or the connection accepted one.
    var lastEventAt: UInt64 { max(lastSubmissionAt, lastOffer?.at ?? 0) }

    // MARK: The source

    mutating func note(_ frame: borrowing UploadFrame) {
        rhythm.add(frame.offeredAt)
        if !isKnownUnchanged(frame) { lastChangeAt = max(lastChangeAt, frame.offeredAt) }
        lastOffer = (frame.timestamp, frame.sourceTime, frame.offeredAt)
    }

    /// Records that the connection has accepted a frame.
    mutating func noteSubmission(at now: UInt64) { lastSubmissionAt = max(lastSubmissionAt, now) }

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

    // MARK: Unchanged frames

    /// Returns whether a frame is known to equal what the receiver has, or gets next.
    @inline(__always)
    func isKnownUnchanged(_ frame: borrowing UploadFrame) -> Bool {
        guard pacer.pacing.comparesImages, let digest = frame.digest else { return false }
        return digest == reference.digest
    }

    /// Returns which hash is needed for a frame that is about to be encoded.
    @inline(__always)
    func comparison(of frame: borrowing UploadFrame, isForced: Bool) -> EncodingJob.Comparison {
        guard pacer.pacing.comparesImages, frame.digest == nil else { return .none }
        guard !isForced, let digest = reference.digest else { return .compute }
        return .against(digest)
    }

    /// Compares later frames with one that has just been hashed, unless they would be encoded differently.
    mutating func refer(to frame: borrowing UploadFrame, look: UInt64) {
        guard reference.ticket == frame.ticket else { return }
        reference.digest = frame.look == look ? frame.digest : nil
    }

    /// Lets every later frame count as changed if this is the one that they are compared with.
    mutating func forget(_ frame: borrowing UploadFrame) {
        if reference.ticket == frame.ticket { reference.digest = nil }
    }

    // MARK: Due frames

    /// The expected time between two frames that are sent, in nanoseconds.
    var interval: UInt64 {
        let source = rhythm.interval == 0 ? Self.usualInterval : rhythm.interval
        return max(source, pacer.interval)
    }

    /// The interval of a source that has not shown its own yet: 30 frames a second.
    private static let usualInterval: UInt64 = 33_333_333

    /// Returns a frame that may not be sent now, with the time at which the pacing releases it; a limit is that of the
    /// deferred frame that it replaces.
    @inline(__always)
    func deferral(
        of frame: consuming UploadFrame,
        _ cause: SampleUploader.DropCause,
        noLaterThan limit: UInt64? = nil
    ) -> FrameSlots.Deferral {
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
        return .init(frame: frame, cause: cause, dueAt: dueAt, latestDueAt: latestDueAt)
    }

    /// The time at which the sent frame is sent again because the source is silent; nil if it never is.
    @inline(__always)
    var repeatTime: UInt64? {
        guard let interval = pacer.repeatInterval, let lastOffer else { return nil }
        // As long as the source continues, its own frames show that it is alive, unless it is slower than repeats.
        let silence = lastOffer.at.addingClamping(min(rhythm.interval.multipliedClamping(by: 2), interval))
        return max(lastSubmissionAt.addingClamping(interval), silence)
    }

    // MARK: Failed attempts

    /// Records that an attempt under these terms has failed.
    mutating func attemptFailed(under revision: UInt64, at now: UInt64) {
        retry = (revision, now.addingClamping(Self.retryInterval))
    }

    mutating func attemptSucceeded() { retry = nil }

    /// Whether the last attempt has failed, and the terms have not changed since.
    func hasFailed(under revision: UInt64) -> Bool { retry.map { $0.revision == revision } ?? false }

    /// Returns the time before which nothing is tried again; nil if something may be tried now.
    @inline(__always)
    func retryTime(under revision: UInt64, at now: UInt64) -> UInt64? {
        guard let retry, retry.revision == revision, now < retry.at else { return nil }
        return retry.at
    }
}
