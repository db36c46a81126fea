package import FrameTransport
internal import FrameWire

/// Decides which frame of a ``SampleUploader`` waits, is encoded, sent, kept, or sent again.
///
/// A value without I/O, clock, thread or lock. Every event changes the state; call ``takeEffects()`` after every event
/// to get what has to be done. Times are in nanoseconds of the monotonic clock.
///
/// At most four frames are held, from the newest to the oldest:
/// - the **deferred** one, which may not be sent now, and is sent when that changes;
/// - the **waiting** one, which is sent next;
/// - the one **in progress**: with the encoder, or with the connection;
/// - the one **sent** last, as its JPEG, for any receiver that needs it again. If it gave up its memory for a newer frame
///   that turned out to be unchanged, that one takes its place.
///
/// A newer frame replaces an older one in the first two. The latest frame is *owed* to a receiver that has just
/// connected, requests it, or wants frames again; the debt ends when the connection accepts a frame, and for a deferred
/// frame, which is newer than the others, when the connection accepts that.
package struct UploaderMachine: Sendable {
    package typealias Configuration = SampleUploader.Configuration

    /// What the uploader is doing with a frame.
    enum Activity: Sendable {
        case idle
        /// An upload has been requested; ``beginUpload(at:)`` decides which frame it takes.
        case starting
        case encoding(Upload)
        case sending(Upload)
    }

    /// A frame that is being encoded or sent.
    struct Upload: Sendable {
        var frame: UploadFrame
        /// Whether the frame was sent before.
        var isRepeat = false
        /// Whether the pacing has counted it in advance, which is taken back if it turns out to be unchanged.
        var isLate = false
        /// The time at which encoding, or sending, began.
        var beganAt: UInt64
        /// The maximum number of bytes that the frame takes now, including content and encoder.
        var byteCount: Int
        /// The terms under which it was submitted, and their connection.
        var revision: UInt64 = 0
        var connection = 0
        /// The shared buffer that it is being copied to.
        var lease: SharedPool.Lease?

        init(frame: UploadFrame, beganAt: UInt64, byteCount: Int) {
            (self.frame, self.beganAt, self.byteCount) = (frame, beganAt, byteCount)
        }
    }

    /// A frame that may not be sent now.
    struct Deferral: Sendable {
        var frame: UploadFrame
        /// The cause; the statistics count the frame as dropped for it.
        let cause: DropCause
        /// The time at which the pacing releases it.
        var dueAt: UInt64
        /// The latest time for that, also for a newer frame that replaces it, so that nothing is postponed
        /// indefinitely.
        var latestDueAt: UInt64
        /// Whether the receiver is to get it, or a newer one in its place, regardless of pacing.
        var isOwed = false
    }

    // MARK: Configuration and terms

    /// The program's configuration.
    package private(set) var ownConfiguration: Configuration

    /// The configuration in effect, with the receiver's preferences.
    package private(set) var configuration: Configuration

    /// The number of the configuration; a frame's plan belongs to one of them.
    private(set) var edition: UInt64 = 0

    /// The number of the settings of the encoder; an image that was encoded with others is not what the next one equals.
    private(set) var settingsEdition: UInt64 = 0

    /// The plan for the last pixels, which most likely also applies to the next.
    var lastPlan: EncodingPlan?

    /// The maximum number of bytes to hold.
    let memoryLimit: Int

    /// The receiver's terms.
    package private(set) var terms = ReceiverTerms()
    private var hasTerms = false

    /// Whether the receiver has been told that there is no memory for what it prefers at present.
    var hasRefusedPreferences = false

    /// Whether the connection has ended for good.
    private(set) var isClosed = false

    /// The buffers shared with the receiver.
    package internal(set) var pool: SharedPool

    /// The rows in which the next image copied to a shared buffer may differ from the receiver's last, besides those in
    /// which it differs from the image copied before it; nil if any row may.
    var unsentRows: Range<Int>?

    /// The orientation of the last image copied to a shared buffer.
    var sharedOrientation: FrameOrientation?

    /// Whether the frame submitted last is in a shared buffer.
    var isLatestShared = false

    /// The connection on which the system had no memory to share.
    var unsharedConnection: Int?

    /// The time at which something that waits for a free shared buffer stops waiting; nil while nothing does.
    package internal(set) var bufferWaitEnd: UInt64?

    /// The maximum time that a frame waits for a receiver to release a shared buffer, before it is encoded: 2 s.
    var longestBufferWait: UInt64 = 2_000_000_000

    /// How long the next frame waits, at most ``longestBufferWait``.
    ///
    /// A receiver is expected to release its buffers. One that keeps them costs a long wait once, and short ones from
    /// then on, until waiting has paid off several times.
    var bufferPatience = UInt64.max

    /// The time until which frames wait for the hello of a new receiver, if they may be shared.
    var greetingEnd: UInt64?

    // MARK: Held frames

    var activity = Activity.idle
    var waiting: UploadFrame?
    var deferral: Deferral?
    var sentFrame: UploadFrame?

    // MARK: Due frames

    /// Whether the receiver is to get the latest frame, regardless of pacing.
    var isOwed = false

    var pacer: FramePacer
    var rhythm = SourceRhythm()

    /// The offset that is added to timestamps since the source's clock stepped back.
    var clockOffset: UInt64 = 0

    /// The presentation time of the last submitted frame, and its time on the source's clock and on ours.
    var lastOffer: (timestamp: UInt64, sourceTime: UInt64, at: UInt64)?

    /// The time at which the connection last accepted a frame.
    var lastSubmissionAt: UInt64 = 0

    /// The last frame that was accepted for sending, and its hash if known: what later ones are compared with.
    var reference: (ticket: UInt64, digest: UInt64?) = (0, nil)

    /// The time before which nothing is tried again after a failed attempt, unless the terms change.
    var retry: (revision: UInt64, at: UInt64)?

    /// The time last requested by ``Effects/setsTimer``; nil if none is pending.
    package internal(set) var timer: UInt64?

    // MARK: Numbers

    private var lastTicket: UInt64 = 0
    /// The ticket of the newest frame that was decided on.
    package internal(set) var newestTicket: UInt64 = 0
    /// The number of the next frame that is accepted for sending.
    package private(set) var nextSequence: UInt64 = 0

    /// The last frame that was accepted or deferred and then lost, unless a newer one was submitted since.
    var lost: (ticket: UInt64, cause: DropCause)?

    /// The waiters for the frames up to a ticket.
    var finishers: [(id: UInt64, ticket: UInt64)] = []
    /// The waiters for a free shared buffer.
    var bufferWaiters: [UInt64] = []
    /// Frames up to this ticket are not held back by the pacing.
    var flushedTicket: UInt64 = 0

    /// The statistics so far.
    package internal(set) var statistics = SampleUploader.Statistics()

    var effects = Effects()

    /// Creates a machine without a receiver, for the uploader with a number that no other one in the process has.
    package init(_ configuration: Configuration, owner: UInt64) {
        pool = SharedPool(owner: owner)
        ownConfiguration = configuration
        self.configuration = configuration
        memoryLimit = max(0, configuration.maximumMemory ?? .max)
        pacer = FramePacer(configuration.pacing)
    }

    /// Returns the effects of the last event; empty until the next one.
    package mutating func takeEffects() -> Effects {
        var taken = Effects()
        swap(&taken, &effects)
        return taken
    }

    // MARK: Events

    /// Handles new terms: the receiver has stated something, connected or disconnected.
    ///
    /// A snapshot that is not newer than the last one is ignored.
    package mutating func termsChanged(_ new: ReceiverTerms, at now: UInt64) {
        guard !hasTerms || new.revision > terms.revision else { return }
        let (old, oldBarrier) = (terms, barrier)
        (terms, hasTerms) = (new, true)
        if new.isConnected {
            isClosed = false
            if !old.isConnected || old.connection != new.connection {
                // A new receiver has seen nothing.
                oweLatest()
                reference.digest = nil
            } else if new.refreshes > old.refreshes || (oldBarrier != nil && barrier == nil) {
                oweLatest()
            }
        }
        if new.preferences != old.preferences || new.connection != old.connection { hasRefusedPreferences = false }
        if new.preferences != old.preferences { reconfigure() }
        share(after: old, at: now)
        if let cause = barrier, let frame = waiting.take() { keep(frame, cause) }
        advance(at: now)
    }

    /// Applies a new configuration of the program; the memory limit stays as it was.
    package mutating func update(_ new: Configuration, at now: UInt64) {
        ownConfiguration = new
        reconfigure()
        share(after: terms, at: now)
        advance(at: now)
    }

    /// Owes the receiver the latest frame, or the next one if there is none.
    package mutating func requestFrame(at now: UInt64) {
        oweLatest()
        advance(at: now)
    }

    /// Forces the next submitted frame through pacing.
    package mutating func passNextFrame() {
        pacer.refresh()
    }

    /// Handles the passing of the time in ``timer``.
    package mutating func deadlinePassed(at now: UInt64) {
        timer = nil
        advance(at: now)
    }

    /// Handles the permanent end of the connection: no receiver will get what is held.
    package mutating func close(at now: UInt64) {
        isClosed = true
        if let frame = waiting.take() {
            statistics.drop(.notConnected)
            lose(frame, .notConnected)
            discard(frame)
        }
        if let deferral = deferral.take() {
            lose(deferral.frame, .notConnected)
            discard(deferral.frame)
        }
        if let frame = sentFrame.take() { discard(frame) }
        advance(at: now)
    }

    // MARK: Decisions

    /// The reason that no frame may be sent now; nil if one may.
    @inline(__always)
    var barrier: DropCause? {
        guard terms.isConnected else { return .notConnected }
        if terms.isPaused { return .paused }
        return terms.wants.contains(.frames) ? nil : .notWanted
    }

    /// Requests an upload if one is possible, resumes finished waiters, and sets the timer.
    mutating func advance(at now: UInt64) {
        if pool.isOpen || bufferWaitEnd != nil { manageBuffers(at: now) }
        if case .idle = activity, nextSource(at: now) != nil {
            activity = .starting
            effects.startsUpload = true
        }
        settleFinishers()
        settleBufferWaiters(at: now)
        setTimer(at: now)
    }

    /// Owes the receiver the latest frame.
    ///
    /// If that is deferred, an older one that is waiting or in progress settles nothing.
    mutating func oweLatest() {
        isOwed = true
        deferral?.isOwed = true
    }

    private mutating func reconfigure() {
        let old = EncodingPlan.Settings(configuration)
        configuration = ownConfiguration.preferring(terms.preferences)
        edition += 1
        if EncodingPlan.Settings(configuration) != old {
            settingsEdition += 1
            reference.digest = nil
        }
        if pacer.pacing != configuration.pacing { pacer.pacing = configuration.pacing }
        renewDeferral()
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

    /// Takes back the number of the frame in progress, which is not sent after all; newer frames, which are still to be
    /// sent, move up.
    mutating func takeBackNumber(of frame: inout UploadFrame) {
        guard let sequence = frame.sequence.take() else { return }
        nextSequence &-= 1
        if let number = waiting?.sequence, number > sequence { waiting?.sequence = number - 1 }
        if let number = deferral?.frame.sequence, number > sequence { deferral?.frame.sequence = number - 1 }
    }

    /// Discards a frame that is no longer needed, to be released outside the lock.
    mutating func discard(_ frame: UploadFrame) {
        if frame.content != nil { effects.discarded.add(frame) }
    }
}
