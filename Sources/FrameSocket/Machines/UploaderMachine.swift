package import FrameTransport
internal import FrameWire

/// Decides which frame of a ``SampleUploader`` waits, is encoded, sent, kept, or sent again.
///
/// A value without I/O, clock, thread or lock. Every event changes the state; call ``takeEffects()`` after every event
/// to get what has to be done. Times are in nanoseconds of the monotonic clock.
///
/// It asks three parts, in this order: ``SendSchedule`` whether a submitted frame is sent, ``FrameSlots`` where it is kept,
/// and ``SharingSession`` whether it goes out in a shared buffer. What is made of a frame is said by its ``EncodingRecipe``.
package struct UploaderMachine: Sendable {
    package typealias Configuration = SampleUploader.Configuration

    // MARK: Configuration and terms

    /// The program's configuration.
    package private(set) var ownConfiguration: Configuration

    /// The configuration in effect, with the receiver's preferences.
    package private(set) var configuration: Configuration

    /// The number of the configuration; a frame's recipe belongs to one of them.
    private(set) var edition: UInt64 = 0

    /// The number of the settings of the encoder; an image that was encoded with others looks different.
    private(set) var look: UInt64 = 0

    /// The look that the receiver has asked for last; a frame that was sent before it did is prepared again.
    private var preferredLook: UInt64 = 0

    /// The recipe for the last pixels, which most likely also applies to the next.
    var lastRecipe: EncodingRecipe?

    /// The receiver's terms.
    package private(set) var terms = ReceiverTerms()
    private var hasTerms = false

    /// Whether the connection has ended for good.
    private(set) var isClosed = false

    // MARK: Parts

    /// The frames.
    package internal(set) var slots = FrameSlots()

    /// What is due when.
    var schedule: SendSchedule

    /// The quality of what is encoded, and the time before which nothing is.
    var quality: QualityControl

    /// What is shared with the receiver.
    package internal(set) var sharing: SharingSession

    /// What is difficult.
    var watch = ConditionWatch()

    /// The time last requested by ``Effects/setsTimer``; nil if none is pending.
    package private(set) var timer: UInt64?

    /// What may have changed in the submitted images.
    var damageLog = DamageLog()

    /// The statistics so far.
    package internal(set) var statistics = SampleUploader.Statistics()

    var effects = Effects()

    /// Creates a machine without a receiver, for the uploader with a number that no other one in the process has, over a
    /// connection that pads shorter bodies to so many bytes.
    package init(_ configuration: Configuration, owner: UInt64, shortestBody: Int = 0) {
        sharing = SharingSession(owner: owner)
        ownConfiguration = configuration
        self.configuration = configuration.preferring(.init())
        schedule = SendSchedule(self.configuration.pacing)
        quality = QualityControl(configuration, shortestBody: shortestBody)
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
                slots.oweLatest()
                quality.connect()
                schedule.reference.digest = nil
            } else if new.refreshes > old.refreshes || (oldBarrier != nil && barrier == nil) {
                slots.oweLatest()
            }
        }
        if new.preferences != old.preferences {
            reconfigure(at: now)
            // Also what the program has set since the last frame was sent: the receiver may prefer just that.
            preferredLook = look
        }
        share(after: old, at: now)
        if let cause = barrier, let frame = slots.waiting.take() { keep(frame, cause) }
        advance(at: now)
    }

    /// Applies a new configuration of the program.
    package mutating func update(_ new: Configuration, at now: UInt64) {
        ownConfiguration = new
        reconfigure(at: now)
        if !new.keepsLatestImage { giveUpImages() }
        share(after: terms, at: now)
        advance(at: now)
    }

    /// Owes the receiver the latest frame, or the next one if there is none.
    package mutating func requestFrame(at now: UInt64) {
        slots.oweLatest()
        advance(at: now)
    }

    /// Forces the next submitted frame through pacing.
    package mutating func passNextFrame() {
        schedule.pacer.refresh()
    }

    /// Gives up images that are kept for other receivers, because the program needs the memory for its next one: their
    /// JPEGs stay, and images without one until a newer frame is on its way.
    package mutating func giveUpImages() { slots.giveUpSpares(to: &effects.discarded) }

    /// Handles the passing of the time in ``timer``.
    package mutating func deadlinePassed(at now: UInt64) {
        timer = nil
        advance(at: now)
    }

    /// Handles the permanent end of the connection: no receiver will get what is held.
    package mutating func close(at now: UInt64) {
        isClosed = true
        if let frame = slots.waiting.take() {
            statistics.drop(.notConnected)
            slots.lose(frame, .notConnected)
            discard(frame)
        }
        if let deferral = slots.deferral.take() {
            slots.lose(deferral.frame, .notConnected)
            discard(deferral.frame)
        }
        if let frame = slots.sent.take() { discard(frame) }
        updateConditions(at: now)
        advance(at: now)
    }

    // MARK: Waiting

    /// Waits for every frame up to `ticket`, by default every frame submitted so far; ``Effects/finished`` contains `id`
    /// when all of them are sent or dropped.
    ///
    /// A frame that only the pacing holds back is sent at once. Frames that no receiver can get now are not waited for,
    /// nor are frames submitted later: ``causeOfLoss(upTo:)`` tells of them.
    package mutating func finish(_ id: UInt64, upTo ticket: UInt64? = nil, at now: UInt64) {
        slots.finish(id, upTo: ticket ?? slots.newestTicket)
        advance(at: now)
    }

    /// Returns why the newest frame up to `ticket` has not been sent; nil if it has, or if a newer frame has taken its
    /// place, or if the pacing has left it out.
    package func causeOfLoss(upTo ticket: UInt64) -> SampleUploader.DropCause? {
        if let deferral = slots.deferral, deferral.frame.ticket <= ticket { return barrier ?? deferral.cause }
        guard let lost = slots.lost, lost.ticket <= ticket else { return nil }
        return lost.cause
    }

    /// Whether a frame up to `ticket` is still to be sent or dropped.
    package func isPending(upTo ticket: UInt64) -> Bool { oldestPendingTicket.map { $0 <= ticket } ?? false }

    /// The oldest frame that is neither sent nor dropped.
    @inline(__always)
    private var oldestPendingTicket: UInt64? {
        if let (ticket, isRepeat) = slots.inProgress, !isRepeat { return ticket }
        if let ticket = slots.waiting?.ticket { return ticket }
        guard let deferral = slots.deferral, barrier == nil else { return nil }
        // A frame that was held back for another cause follows at once, or when the terms say why its attempt has failed;
        // but another user of the connection may be busy for any time.
        let isBusy = deferral.cause == .superseded && schedule.hasFailed(under: terms.revision)
        return isBusy ? nil : deferral.frame.ticket
    }

    /// Ends the wait under `id`.
    package mutating func cancelWait(_ id: UInt64) {
        slots.finishers.removeAll { $0.id == id }
    }

    /// The number of waiters.
    package var waiterCount: Int { slots.finishers.count }

    // MARK: Decisions

    /// The reason that no frame may be sent now; nil if one may.
    @inline(__always)
    var barrier: SampleUploader.DropCause? {
        guard terms.isConnected else { return .notConnected }
        if terms.isPaused { return .paused }
        return terms.wants.contains(.frames) ? nil : .notWanted
    }

    /// Requests an upload if one is possible, resumes finished waiters, and sets the timer.
    mutating func advance(at now: UInt64) {
        if sharing.pool.isOpen || sharing.isWaiting { sharing.wait(isFrameWaitingForBuffer(at: now), at: now) }
        if case .idle = slots.activity, nextSource(at: now) != nil {
            slots.activity = .starting
            (effects.startsUpload, effects.asksUnread) = (true, quality.isActive)
        }
        if !slots.finishers.isEmpty {
            let finished = slots.takeFinished(before: oldestPendingTicket ?? .max)
            if effects.finished.isEmpty { effects.finished = finished } else { effects.finished += finished }
        }
        if watch.isActive { updateConditions(at: now) }
        setTimer(at: now)
    }

    /// Returns the frame that can be sent now; nil if there is none.
    ///
    /// `mutating`, as is every question of more than a few lines on a frame's way, although it changes nothing: the
    /// compiler copies the 1,600 bytes of the machine for a call that is not.
    mutating func nextSource(at now: UInt64) -> FrameSlots.Source? {
        guard barrier == nil, schedule.retryTime(under: terms.revision, at: now) == nil else { return nil }
        if sharing.greetingTime(terms, at: now) != nil || awaitsBuffer(at: now) { return nil }
        if quality.isActive, holdEnd(at: now) != nil { return nil }
        return candidate(at: now)
    }

    /// Returns the frame that is due, whether a shared buffer is free for it or not.
    mutating func candidate(at now: UInt64) -> FrameSlots.Source? {
        if slots.waiting != nil { return .waiting }
        if let cause = slots.deferral?.cause, let dueAt = slots.deferral?.dueAt,
            let ticket = slots.deferral?.frame.ticket
        {
            // Any cause other than the pacing is a barrier that is gone, or an attempt that failed.
            if slots.isOwed || slots.deferral?.isOwed == true || cause != .paced { return .deferred(isForced: true) }
            if ticket <= slots.flushedTicket || dueAt <= now { return .deferred(isForced: false) }
            // Meanwhile the receiver is kept alive by what it has.
        }
        guard slots.sent != nil, slots.sent?.excludedBy != edition else { return nil }
        if slots.isOwed || (slots.sent?.decidedFor ?? 0 < preferredLook && slots.sent?.content != nil) { return .sent }
        // A repeat as it was would take the room.
        if slots.sent?.quality != nil, let time = sharpeningTime(at: now) { return time <= now ? .sent : nil }
        return schedule.repeatTime.map { $0 <= now } ?? false ? .sent : nil
    }

    private mutating func reconfigure(at now: UInt64) {
        let old = EncodingRecipe.Settings(configuration)
        let wasAdapted = quality.isActive
        configuration = ownConfiguration.preferring(terms.preferences)
        edition += 1
        quality.follow(configuration, at: now)
        let isNewLook = EncodingRecipe.Settings(configuration) != old
        // An image that was sent at less than the quality that is wanted now has not been sent yet.
        if isNewLook || (wasAdapted && !quality.isActive) { schedule.reference.digest = nil }
        if isNewLook { look += 1 }
        if schedule.pacer.pacing != configuration.pacing {
            schedule.pacer.pacing = configuration.pacing
            effects.statesRate = true
        }
        renewDeferral()
    }

    /// Gives the deferred frame, if there is one, the time at which the pacing in effect releases it.
    mutating func renewDeferral() {
        guard let held = slots.deferral.take() else { return }
        slots.deferral = schedule.deferral(of: held.frame, held.cause)
        slots.deferral?.isOwed = held.isOwed
    }

    private mutating func updateConditions(at now: UInt64) {
        // Without a receiver nothing is difficult, even if the last frame is slow to end.
        if isClosed { watch = ConditionWatch() }
        // What has begun lasts while an image is held back for it, whether or not the source offers another.
        var lasting: SampleUploader.Conditions?
        if !statistics.conditions.isEmpty, slots.deferral?.cause == .paced {
            let byteCount = slots.deferral?.frame.knownByteCount
            lasting = quality.difficulty(for: byteCount, interval: schedule.interval, at: now)
        }
        let conditions = watch.update(lasting: lasting, at: now)
        guard conditions != statistics.conditions else { return }
        statistics.conditions = conditions
        effects.tellsConditions = true
    }

    /// Discards a frame that is no longer needed, to be released outside the lock.
    mutating func discard(_ frame: UploadFrame) { effects.discarded.add(frame) }

    // MARK: Deadlines

    /// Returns the time of the next call that the machine needs; nil if nothing depends on time.
    private mutating func nextDeadline(at now: UInt64) -> UInt64? {
        // When the frame in progress is done, whatever is due then follows at once.
        if barrier == nil, let time = sharing.greetingTime(terms, at: now) {
            return slots.next == nil ? nil : time
        }
        guard case .idle = slots.activity, barrier == nil else { return nil }
        // The end of a wait that has passed, with something else in the way, needs no call.
        if let waitEnd = sharing.waitEnd, now < waitEnd { return waitEnd }
        var again: UInt64?
        if slots.sent != nil, slots.sent?.excludedBy != edition {
            again = (slots.sent?.quality == nil ? nil : sharpeningTime(at: now)) ?? schedule.repeatTime
        }
        var deadline = slots.deferral?.dueAt
        if quality.isActive {
            deadline = dueTime(again: again, at: now)
        } else if let again {
            deadline = min(deadline ?? .max, again)
        }
        if let retryTime = schedule.retryTime(under: terms.revision, at: now) {
            deadline = slots.next == nil ? nil : retryTime
        }
        return deadline
    }

    /// Requests the timer if it is needed earlier than last requested.
    ///
    /// A timer that fires too early is set again, which is cheaper than setting it for every frame.
    private mutating func setTimer(at now: UInt64) {
        var deadline = nextDeadline(at: now)
        if watch.isActive, let end = watch.deadline { deadline = min(deadline ?? .max, end) }
        guard let deadline, timer.map({ deadline < $0 }) ?? true else { return }
        timer = deadline
        effects.setsTimer = true
    }

    // MARK: What tests ask

    /// The number of images that are held.
    package var heldImageCount: Int {
        let isEncoding = if case .encoding = slots.activity { true } else { false }
        let isSending = if case .sending(let upload) = slots.activity { upload.frame.hasPixels } else { false }
        let others = [slots.waiting, slots.deferral?.frame, slots.sent].count { $0?.hasPixels ?? false }
        return others + (isEncoding || isSending ? 1 : 0)
    }

    /// The time of the last frame, submitted by the source or sent, if nothing but the sent frame is held and it could be
    /// repeated.
    package var silentSince: UInt64? {
        guard case .idle = slots.activity, barrier == nil, slots.waiting == nil,
            slots.deferral?.cause ?? .paced == .paced, slots.sent != nil, slots.sent?.excludedBy != edition,
            sharpeningTime(at: 0) == nil
        else { return nil }
        return schedule.lastEventAt
    }
}
