/// The frames that an uploader holds, and the order in which they were submitted.
///
/// At most four, from the newest to the oldest:
/// - the **deferred** one, which may not be sent now, and is sent when that changes;
/// - the **waiting** one, which is sent next;
/// - the one **in progress**: with the encoder, or with the connection;
/// - the one **sent** last, for any receiver that needs it again: as its image, its JPEG, or both.
///
/// A newer frame replaces an older one in the first two.
package struct FrameSlots: Sendable {
    /// What the uploader is doing with a frame.
    enum Activity: Sendable {
        case idle
        /// An upload has been requested; ``UploaderMachine/beginUpload(at:)`` decides which frame it takes.
        case starting
        case encoding(Upload)
        case sending(Upload)
    }

    /// A frame that is being encoded or sent.
    struct Upload: Sendable {
        var frame: UploadFrame
        /// Whether the frame is the one kept as sent, which an unchanged frame may be that never was.
        var isRepeat = false
        /// Whether it is sent again because it was sent at less than the maximum quality.
        var isSharpening = false
        /// The quality that it is encoded at, if that follows what is possible.
        var quality: UploadFrame.Quality?
        /// Whether such a frame got its number for this upload.
        var isNumbered = false
        /// Whether the pacing has counted it in advance, which is taken back if it turns out to be unchanged.
        var isLate = false
        /// The time at which encoding, or sending, began.
        var beganAt: UInt64
        /// The terms under which it was submitted.
        var revision: UInt64 = 0
        /// The connection for which it was prepared, then the one to which it was submitted.
        var connection = 0
        /// The shared buffer that it is being copied to.
        var place: SharedPool.Place?
        /// The copy of its image that is sent instead of its JPEG.
        var copy: SharedCopy?

        init(frame: UploadFrame, beganAt: UInt64) {
            (self.frame, self.beganAt) = (frame, beganAt)
        }
    }

    /// A frame that may not be sent now.
    struct Deferral: Sendable {
        var frame: UploadFrame
        /// The cause; the statistics count the frame as dropped for it.
        let cause: SampleUploader.DropCause
        /// The time at which the pacing releases it.
        var dueAt: UInt64
        /// The latest time for that, also for a newer frame that replaces it, so that nothing is postponed
        /// indefinitely.
        var latestDueAt: UInt64
        /// Whether the receiver is to get it, or a newer one in its place, regardless of pacing.
        var isOwed = false
    }

    /// Where the next frame to send comes from.
    enum Source {
        case waiting
        /// The deferred frame; `isForced` if the pacing does not apply.
        case deferred(isForced: Bool)
        /// The frame sent before.
        case sent
    }

    var activity = Activity.idle

    /// The ticket of the frame in progress, and whether it was sent before; nil if there is none.
    @inline(__always)
    var inProgress: (ticket: UInt64, isRepeat: Bool)? {
        switch activity {
        case .idle, .starting: nil
        case .encoding(let upload), .sending(let upload): (upload.frame.ticket, upload.isRepeat)
        }
    }

    var waiting: UploadFrame?
    var deferral: Deferral?
    package internal(set) var sent: UploadFrame?

    /// Whether the receiver is to get the latest frame, regardless of pacing: it has just connected, requests one, or
    /// wants frames again.
    ///
    /// The debt ends when the connection accepts a frame, and for a deferred frame, which is newer than the others, when
    /// the connection accepts that.
    var isOwed = false

    private(set) var lastTicket: UInt64 = 0
    /// The ticket of the newest frame that was decided on.
    package internal(set) var newestTicket: UInt64 = 0
    /// The number of the next frame that is accepted for sending.
    package private(set) var nextSequence: UInt64 = 0

    /// The last frame that was accepted or deferred and then lost, unless a newer one was submitted since.
    var lost: (ticket: UInt64, cause: SampleUploader.DropCause)?

    /// The waiters for the frames up to a ticket.
    var finishers: [(id: UInt64, ticket: UInt64)] = []
    /// Frames up to this ticket are not held back by the pacing.
    private(set) var flushedTicket: UInt64 = 0

    // MARK: What is owed

    /// Owes the receiver the latest frame.
    ///
    /// If that is deferred, an older one that is waiting or in progress settles nothing.
    mutating func oweLatest() {
        isOwed = true
        deferral?.isOwed = true
    }

    /// Whether a frame that is yet to be submitted to the connection will settle what is owed, alone or with the
    /// deferred one behind it.
    var isFrameComing: Bool {
        if waiting != nil { return true }
        return if case .encoding = activity { true } else { false }
    }

    /// The frame that would be sent next.
    @inline(__always)
    package var next: UploadFrame? { waiting ?? deferral?.frame ?? sent }

    /// The ticket of the frame that a new receiver would get; nil if there is none.
    package var latestTicket: UInt64? {
        deferral?.frame.ticket ?? waiting?.ticket ?? inProgress?.ticket ?? sent?.ticket
    }

    /// Whether nothing newer than a frame is held.
    func isLatest(_ frame: borrowing UploadFrame) -> Bool {
        (waiting?.ticket ?? 0) <= frame.ticket && (deferral?.frame.ticket ?? 0) <= frame.ticket
    }

    // MARK: Tickets and numbers

    mutating func takeTicket() -> UInt64 {
        lastTicket += 1
        return lastTicket
    }

    /// Gives a frame its number, if it has none.
    ///
    /// Numbers count the frames accepted for sending, so that a gap means a loss, and not pacing or an absent receiver.
    mutating func number(_ frame: inout UploadFrame) {
        guard frame.sequence == nil else { return }
        frame.sequence = nextSequence
        nextSequence &+= 1
    }

    /// Takes back the number of the frame in progress, which is not sent after all, unless a receiver may know it; newer
    /// frames, which are still to be sent, move up.
    mutating func takeBackNumber(of frame: inout UploadFrame) {
        guard let sequence = frame.sequence, !frame.isKnown else { return }
        frame.sequence = nil
        nextSequence &-= 1
        if let number = waiting?.sequence, number > sequence { waiting?.sequence = number - 1 }
        if let number = deferral?.frame.sequence, number > sequence { deferral?.frame.sequence = number - 1 }
    }

    // MARK: Waiting for frames

    /// Begins to wait for every frame up to `ticket`, which the pacing no longer holds back.
    mutating func finish(_ id: UInt64, upTo ticket: UInt64) {
        finishers.append((id, ticket))
        flushedTicket = max(flushedTicket, ticket)
    }

    /// Records that a frame that was accepted or deferred will never be sent, and not because of a newer one.
    mutating func lose(_ frame: borrowing UploadFrame, _ cause: SampleUploader.DropCause) {
        if frame.ticket >= lost?.ticket ?? 0, isLatest(frame) { lost = (frame.ticket, cause) }
    }

    /// Returns the waiters that wait for nothing any longer; `pending` is the oldest frame that is neither sent nor
    /// dropped.
    mutating func takeFinished(before pending: UInt64) -> [UInt64] {
        guard finishers.contains(where: { $0.ticket < pending }) else { return [] }
        defer { finishers.removeAll { $0.ticket < pending } }
        return finishers.filter { $0.ticket < pending }.map(\.id)
    }

    /// The number of frames that are waiting or in progress for the first time.
    package var pendingCount: Int {
        (waiting == nil ? 0 : 1) + (inProgress?.isRepeat == false ? 1 : 0)
    }

    // MARK: Memory

    /// Gives up the images that a JPEG, or a newer frame on its way, stands in for.
    mutating func giveUpSpares(to discards: inout UploaderMachine.Discards) {
        if sent?.jpeg != nil {
            discards.add(sent?.takeSpare())
        } else if waiting != nil || inProgress?.isRepeat == false, let frame = sent.take() {
            discards.add(frame)
        }
        switch activity {
        case .idle, .starting: break
        case .encoding(var upload):
            // The encoder has the image too.
            activity = .idle
            discards.add(upload.frame.takeImage())
            activity = .encoding(upload)
        case .sending(var upload):
            guard upload.frame.hasSpare else { return }
            activity = .idle
            discards.add(upload.frame.takeSpare())
            activity = .sending(upload)
        }
    }
}
