package import FrameTransport
package import FrameWire
package import TurboJPEG

/// Decides what the receiver of a ``SampleUploader`` is sent: it compares what the receiver should have with what it has.
///
/// A value without I/O, clock, thread or lock. Every event changes what is known; then ``next(at:)`` says what follows. Call
/// ``takeEffects()`` after every event to get what has to be done. Times are in nanoseconds of the monotonic clock.
package struct UploaderMachine: Sendable {
    package typealias Configuration = SampleUploader.Configuration
    typealias Cause = SampleUploader.DropCause

    // MARK: What there is

    /// The program's configuration.
    package private(set) var ownConfiguration: Configuration
    /// The configuration in effect, with the receiver's preferences.
    package private(set) var configuration: Configuration
    /// How frames look by that, and its number, which changes whenever that does.
    private var settings: EncodingRecipe.Settings
    private var look = 0
    /// The recipe for the last pixels with these settings, which most likely also applies to the next.
    private var lastRecipe: EncodingRecipe?

    /// The receiver's terms.
    package private(set) var terms = ReceiverTerms()

    /// The newest image; its ticket is 0 before the first.
    var newest = Frame()
    /// What that is made from; nil once it has been given up, or while the encoder has it.
    var content: FrameContent?
    /// What is being encoded or sent.
    var work = Work()
    /// Whether ``beginUpload(unread:at:)`` is about to be called, which decides what is begun.
    var isTurnAsked = false
    /// The JPEG that was made last.
    var encoded = Encoded()
    /// What this receiver has been given last; nothing if it is owed the newest image, whatever it has.
    var given = Given()

    /// Images up to this ticket do not wait for their turn.
    var asked: UInt64 = 0
    /// The time before which nothing is tried again after a failure that the terms do not explain.
    var retryAt: UInt64 = 0
    /// The number of the next frame that is handed over.
    package internal(set) var nextNumber: UInt64 = 0
    var waiters: [(id: UInt64, ticket: UInt64)] = []
    /// Whether the connection has ended for good.
    var isClosed = false

    // MARK: Parts

    var pacer: FramePacer
    var quality: QualityControl
    package internal(set) var sharing = Sharing()
    let owner: UInt64
    private var stated = StatedDamage()
    var strips = DamageBasis()
    var copies = DamageBasis()
    /// What may have changed since the newest image, since the one in work, and since what the receiver has been given.
    var sinceNewest = Damage.nothing
    var sinceWork = Damage.nothing
    var sinceGiven = Damage.everything
    var watch = ConditionWatch()

    // MARK: Outputs

    package internal(set) var statistics = SampleUploader.Statistics()
    /// The time last requested by ``Effects/setsTimer``; nil if none is pending.
    package private(set) var timer: UInt64?
    var effects = Effects()

    /// The delay after a failed attempt.
    static let retryInterval: UInt64 = 100_000_000
    /// A frame that takes longer is sent to a slow receiver.
    static let longestTransfer: UInt64 = 250_000_000

    /// Creates a machine without a receiver, for the uploader with a number that no other one in the process has, over a
    /// connection that pads shorter bodies to so many bytes.
    package init(_ configuration: Configuration, owner: UInt64, shortestBody: Int = 0) {
        self.owner = owner
        ownConfiguration = configuration
        self.configuration = configuration.preferring(.init())
        settings = EncodingRecipe.Settings(self.configuration)
        pacer = FramePacer(self.configuration.pacing)
        quality = QualityControl(configuration, shortestBody: shortestBody)
    }

    /// Returns the effects of the last event; empty until the next one.
    package mutating func takeEffects() -> Effects {
        var taken = Effects()
        swap(&taken, &effects)
        return taken
    }

    // MARK: Submitted images

    /// Takes in a frame.
    ///
    /// - Parameters:
    ///   - content: What it is made from.
    ///   - orientation: Its orientation.
    ///   - timestamp: Its presentation time; nil for now.
    ///   - damage: What may have changed since the last submitted image; nil if anything, or if it was copied.
    ///   - entry: The number of a copied image; nil for any other.
    ///   - now: The time.
    /// - Returns: The decision.
    package mutating func offer(
        _ content: FrameContent,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil,
        damage: ImageDamage? = nil,
        entry: UInt64? = nil,
        at now: UInt64
    ) -> SampleUploader.Outcome {
        if let entry {
            // One that was submitted since, by another thread, may be older or newer.
            if entry != stated.count { addDamage(stated.next(nil, nil)) }
        } else {
            addDamage(stated.next(damage, .init(content, orientation)))
        }
        statistics.offered += 1
        guard !isClosed else { return drop(.notConnected, at: now) }
        let timestamp = timestamp ?? now
        var frame = Frame(newest.ticket + 1, timestamp, orientation, at: now)
        frame.sourceTime = pacer.offer(timestamp, at: now)
        frame.follow(look, recipe(for: content, orientation), content)
        guard frame.isWithin(configuration.limits) else { return drop(.outsideLimits, at: now) }
        replaceNewest(by: frame, content, at: now)
        if !isAsked { pacer.hold(until: turn) }
        noteLackOfRoom(at: now)
        advance(at: now)
        return switch newest.state {
        case .deferred(let cause): .deferred(cause)
        case .dropped(let cause): .dropped(cause)
        case .pending, .sent: .taken
        }
    }

    private mutating func replaceNewest(by frame: Frame, _ content: FrameContent, at now: UInt64) {
        if work.frame.ticket != newest.ticket {
            if newest.state == .pending { noteDelay(at: now) }
            replace(newest, by: frame.ticket)
        }
        effects.discard(self.content)
        (newest, self.content, sinceNewest) = (frame, content, .nothing)
    }

    /// Decides how to copy an image that is about to be submitted; it is not copied if no receiver can ever get it.
    package mutating func offerCopy(
        of image: borrowing PixelBuffer,
        color: PixelBuffer.Color = .jpeg,
        orientation: FrameOrientation,
        damage: ImageDamage? = nil,
        at now: UInt64
    ) -> CopyAdmission {
        let recipe = EncodingRecipe(copying: image, orientation, settings, isShared: sharing.isOpen)
        let (size, format) = (image.size, image.format)
        let copy = StatedDamage.Copy(color: color, output: recipe.output, format: recipe.format)
        addDamage(stated.next(damage, .init(size: size, format: format, orientation: orientation, copy: copy)))
        if !isClosed, configuration.limits.accept(recipe.output.canvas) { return .copy(recipe, entry: stated.count) }
        statistics.offered += 1
        return .decided(drop(isClosed ? .notConnected : .outsideLimits, at: now))
    }

    /// Counts a submitted frame that cannot be encoded.
    package mutating func offerFailed(_ error: TurboJPEGError, at now: UInt64) -> SampleUploader.Outcome {
        statistics.offered += 1
        statistics.lastEncodingError = error
        return drop(.encodingFailed, at: now)
    }

    private mutating func drop(_ cause: Cause, at now: UInt64) -> SampleUploader.Outcome {
        statistics.drops[cause, default: 0] += 1
        if newest.isFinal { newest.isOutdated = true }
        advance(at: now)
        return .dropped(cause)
    }

    private mutating func recipe(for content: FrameContent, _ orientation: FrameOrientation) -> EncodingRecipe? {
        if let lastRecipe, lastRecipe.applies(to: content, orientation) { return lastRecipe }
        let recipe = EncodingRecipe(content, orientation, settings)
        if recipe?.input != nil { lastRecipe = recipe }
        return recipe
    }

    private mutating func addDamage(_ damage: Damage) {
        sinceNewest.add(damage)
        sinceWork.add(damage)
        sinceGiven.add(damage)
        strips.add(damage)
        copies.add(damage)
    }

    // MARK: Other events

    /// Handles new terms: the receiver has stated something, connected or disconnected.
    ///
    /// A snapshot that is not newer than the last one is ignored.
    package mutating func termsChanged(_ new: ReceiverTerms, at now: UInt64) {
        guard new.revision > terms.revision || terms.revision == 0 else { return }
        let (old, oldBarrier) = (terms, barrier)
        (terms, retryAt) = (new, 0)
        let isNew = new.isConnected && (!old.isConnected || old.connection != new.connection)
        if new.isConnected { isClosed = false }
        if isNew { quality.connect() }
        if new.preferences != old.preferences { follow(at: now) }
        let hasDeclined = old.acceptsSharedMemory && !new.acceptsSharedMemory && given.isShared
        share(after: old, at: now)
        // A receiver that declines skips what is on its way.
        if isNew || hasDeclined || new.refreshes > old.refreshes || (oldBarrier != nil && barrier == nil) {
            ask()
        }
        // Also what the program has set since the last frame was sent: the receiver may prefer just that.
        if new.preferences != old.preferences { lookAgain() }
        advance(at: now)
    }

    /// Applies a new configuration of the program.
    package mutating func update(_ new: Configuration, at now: UInt64) {
        if newest.refusal == .outsideLimits { newest.refusal = nil }
        ownConfiguration = new
        follow(at: now)
        if !new.keepsLatestImage { effects.discard(giveUpImages()) }
        share(after: terms, at: now)
        advance(at: now)
    }

    /// Owes the receiver the latest frame, or the next one if there is none.
    package mutating func requestFrame(at now: UInt64) {
        ask()
        advance(at: now)
    }

    /// Forces the next submitted frame through pacing.
    package mutating func passNextFrame() { asked = newest.ticket + 1 }

    /// Gives up the image of the latest frame if its JPEG is there, or being made, and returns it, to be released outside any lock.
    @discardableResult
    package mutating func giveUpImages() -> FrameContent? {
        let isBeingEncoded = work.stage == .encoding && !work.isShared && work.frame.ticket == newest.ticket
        return encoded.frame.ticket == newest.ticket || isBeingEncoded ? content.take() : nil
    }

    /// Handles the passing of the time in ``timer``.
    package mutating func deadlinePassed(at now: UInt64) {
        timer = nil
        advance(at: now)
    }

    /// Handles the permanent end of the connection: no receiver will get what is held.
    ///
    /// - Parameters:
    ///   - told: Whether the caller of the newest frame is told of its loss.
    ///   - now: The time.
    package mutating func close(told: Bool = false, at now: UInt64) {
        isClosed = true
        if !newest.isFinal, work.frame.ticket != newest.ticket {
            count(newest.ticket, newest.state, as: .dropped(.notConnected))
        }
        if told { newest.isOutdated = true }
        effects.discard(content.take())
        effects.discard(encoded.message.take())
        encoded = Encoded()
        // Without a receiver nothing is difficult, even if the last frame is slow to end.
        watch = ConditionWatch()
        updateConditions(at: now)
        advance(at: now)
    }

    /// Owes the receiver the newest image, in its own terms and the program's latest.
    private mutating func ask() {
        (given, asked) = (Given(), max(asked, newest.ticket))
        // What is being encoded for the same receiver will do.
        let isOnItsWay = work.stage == .encoding && work.frame.ticket == newest.ticket
        if !isOnItsWay || work.connection != terms.connection { lookAgain() }
    }

    /// Has the newest image made with the latest settings.
    mutating func lookAgain() {
        // The encoder may have it.
        guard let content else { return newest.look = look }
        newest.follow(look, recipe(for: content, newest.orientation), content)
    }

    private mutating func follow(at now: UInt64) {
        configuration = ownConfiguration.preferring(terms.preferences)
        quality.follow(configuration, at: now)
        let new = EncodingRecipe.Settings(configuration)
        if new != settings { (settings, look, lastRecipe) = (new, look + 1, nil) }
        guard pacer.pacing != configuration.pacing else { return }
        pacer.pacing = configuration.pacing
        effects.statesRate = true
    }

    private mutating func share(after old: ReceiverTerms, at now: UInt64) {
        let drops = sharing.follow(terms, after: old, isAllowed: configuration.sharesMemory, at: now)
        if drops { effects.dropsBuffersBefore = sharing.generation }
    }

    mutating func stopSharing() {
        sharing.refuse()
        effects.dropsBuffersBefore = sharing.generation
    }

    // MARK: Waiting

    /// Waits for every frame up to `ticket`, by default every frame submitted so far; ``Effects/finished`` contains `id`
    /// when all of them are sent or dropped.
    ///
    /// A frame that only the pacing holds back is sent at once. Frames that no receiver can get now are not waited for,
    /// nor are frames submitted later: ``causeOfLoss(upTo:)`` tells of them.
    package mutating func finish(_ id: UInt64, upTo ticket: UInt64? = nil, at now: UInt64) {
        waiters.append((id, ticket ?? newest.ticket))
        advance(at: now)
    }

    /// Ends the wait under `id`.
    package mutating func cancelWait(_ id: UInt64, at now: UInt64) {
        waiters.removeAll { $0.id == id }
        advance(at: now)
    }

    /// The number of waiters.
    package var waiterCount: Int { waiters.count }

    /// Returns why the newest frame up to `ticket` has not been sent; nil if it has, or if a newer frame has taken its
    /// place, or if the pacing has left it out.
    package func causeOfLoss(upTo ticket: UInt64) -> SampleUploader.DropCause? {
        guard newest.ticket <= ticket else { return nil }
        return switch newest.state {
        case .deferred(let cause): barrier ?? cause
        case .dropped(let cause): newest.isOutdated || newest.isGiven ? nil : cause
        case .pending, .sent: nil
        }
    }

    /// Whether a frame up to `ticket` is still to be sent or dropped.
    package func isPending(upTo ticket: UInt64) -> Bool { firstPending.map { $0 <= ticket } ?? false }

    /// The ticket of the first frame that is still to be sent or dropped; nil if there is none.
    ///
    /// Inlined, because a call would copy the machine.
    @inline(__always)
    private var firstPending: UInt64? {
        if work.stage != .none, !work.isRepeat { return work.frame.ticket }
        let isPending =
            switch newest.state {
            case .pending: true
            // Another user of the connection may be busy for any time.
            case .deferred(let cause): barrier == nil && cause != .superseded
            case .sent, .dropped: false
            }
        return isPending ? newest.ticket : nil
    }

    // MARK: What follows from an event

    /// Asks for a turn if something can be begun, resumes finished waiters, and sets the timer.
    mutating func advance(at now: UInt64) {
        recognizeUnchanged()
        if !newest.isFinal, work.frame.ticket != newest.ticket { stand(at: now) }
        if !waiters.isEmpty { finishWaiters() }
        var deadline: UInt64?
        if let step = next(at: now), step.time > now || !isTurnAsked {
            if step.time > now {
                deadline = step.time
            } else {
                (isTurnAsked, effects.startsUpload, effects.asksUnread) = (true, true, quality.isActive)
            }
        }
        if watch.isActive {
            updateConditions(at: now)
            deadline = [deadline, watch.deadline].compactMap(\.self).min()
        }
        // A timer that fires too early is set again, which is cheaper than setting it for every frame.
        guard let deadline, timer.map({ deadline < $0 }) ?? true else { return }
        timer = deadline
        effects.setsTimer = true
    }

    private mutating func finishWaiters() {
        let first = firstPending
        while let index = waiters.firstIndex(where: { first == nil || $0.ticket < first ?? 0 }) {
            effects.finished.append(waiters.remove(at: index).id)
        }
    }
}
