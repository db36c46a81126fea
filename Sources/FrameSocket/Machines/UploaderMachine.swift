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
    private(set) var newest = Frame()
    /// What that is made from; nil once it has been given up, or while the encoder has it.
    private var content: FrameContent?
    /// What is being encoded or sent.
    private(set) var work = Work()
    /// Whether ``beginUpload(unread:at:)`` is about to be called, which decides what is begun.
    private var isTurnAsked = false
    /// The JPEG that was made last.
    private(set) var encoded = Encoded()
    /// What this receiver has been given last; nothing if it is owed the newest image, whatever it has.
    private(set) var given = Given()

    /// The newest image, if it cannot be sent with a look.
    private var refused: (ticket: UInt64, look: Int, cause: Cause)?
    /// Images up to this ticket do not wait for their turn.
    private var asked: UInt64 = 0
    /// The time before which nothing is tried again after a failure that the terms do not explain.
    private var retryAt: UInt64 = 0
    /// The number of the next frame that is handed over.
    package private(set) var nextNumber: UInt64 = 0
    private var waiters: [(id: UInt64, ticket: UInt64)] = []
    /// Whether the connection has ended for good.
    private var isClosed = false

    // MARK: Parts

    private var pacer: FramePacer
    private var quality: QualityControl
    package internal(set) var sharing = Sharing()
    private let owner: UInt64
    private var stated = StatedDamage()
    private var strips = DamageBasis()
    private var copies = DamageBasis()
    /// What may have changed since the newest image, since the one in work, and since what the receiver has been given.
    private var sinceNewest = Damage.nothing
    private var sinceWork = Damage.nothing
    private var sinceGiven = Damage.everything
    private var watch = ConditionWatch()

    // MARK: Outputs

    package private(set) var statistics = SampleUploader.Statistics()
    /// The time last requested by ``Effects/setsTimer``; nil if none is pending.
    package private(set) var timer: UInt64?
    private var effects = Effects()

    /// The delay after a failed attempt.
    private static let retryInterval: UInt64 = 100_000_000
    /// A frame that takes longer is sent to a slow receiver.
    private static let longestTransfer: UInt64 = 250_000_000

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

    // MARK: The comparison

    /// Returns what follows: the earliest of what each lack allows.
    mutating func next(at now: UInt64) -> Next {
        guard work.stage == .none, newest.ticket > 0, barrier == nil else { return .nothing }
        let earliest = max(now, retryAt, sharing.greetingTime(at: now) ?? 0)
        var next = Next.nothing
        if given.frame.ticket < newest.ticket {
            let from = isAsked ? 0 : turn
            next.take(step(.image, max(from, earliest), at: now), at: now)
            // The same again would take the room of something better.
            if given.frame.ticket == 0 || (from <= now && next != .nothing) { return next }
        } else {
            if lacksLook { next.take(step(.look, earliest, at: now), at: now) }
            if lacksSharpness { next.take(step(.sharpness, earliest, at: now), at: now) }
            if next != .nothing { return next }
        }
        guard let keepAlive = pacer.keepAlive else { return next }
        next.take(step(.life, max(given.at.addingClamping(keepAlive), earliest), at: now), at: now)
        return next
    }

    /// Whether the receiver has the newest image otherwise than it should look.
    private var lacksLook: Bool {
        given.frame.look != newest.look && content != nil
            && EncodingRecipe.differ(given.frame.recipe, newest.recipe, isShared: given.isShared)
    }

    /// Whether the receiver has the newest image at less than the highest quality.
    private var lacksSharpness: Bool {
        guard !sharing.isOpen, let used = given.quality, content != nil else { return false }
        return isCoarse(used, given.frame.recipe)
    }

    /// Returns how a lack is met, and when; nil if it cannot be.
    private mutating func step(_ lack: Lack, _ start: UInt64, at now: UInt64) -> Step? {
        guard canBeMade else {
            // What was made before is there for a receiver that has nothing else, unless other limits let it have the image.
            let isNewest = encoded.frame.ticket == newest.ticket
            let isWanted = !isExcluded && (given.frame.ticket == 0 || (lack == .image && isNewest))
            guard isWanted || lack == .life, encoded.isWithin(configuration.limits) else { return nil }
            return Step(.made, lack, at: max(start, room(for: encoded.byteCount, at: now)))
        }
        if sharing.isOpen, lack != .sharpness, let byteCount = newest.recipe?.sharedByteCount {
            if let place = sharing.place(for: byteCount) { return Step(.share(place), lack, at: start) }
            if sharing.waitEnd > now { return Step(.encode, lack, at: max(start, sharing.waitEnd)) }
        }
        let isMade = encoded.frame.ticket == newest.ticket
        let isAgain = lack == .life && given.frame.ticket < newest.ticket && encoded.frame.ticket == given.frame.ticket
        if isMade || isAgain, lack != .sharpness, lack == .life || !isNeedlesslyCoarse {
            let fits = isMade && !EncodingRecipe.differ(encoded.frame.recipe, newest.recipe, isShared: false)
            if fits || isAgain, encoded.isWithin(configuration.limits) {
                return Step(.made, lack, at: max(start, room(for: encoded.byteCount, at: now)))
            }
        }
        guard lack == .sharpness else {
            return Step(.encode, lack, at: max(start, room(for: contentByteCount, at: now)))
        }
        let sharpAt = quality.isActive ? quality.sharpeningTime(changedAt: newest.changedAt, at: now) : 0
        return Step(.encode, lack, at: max(start, sharpAt))
    }

    /// The time from which the newest image has its turn.
    private var turn: UInt64 {
        pacer.turn(of: newest.sourceTime, offeredAt: newest.offeredAt, isUnchanged: given.equal == newest.ticket)
    }

    /// Whether the newest image does not wait for its turn.
    private var isAsked: Bool {
        given.frame.ticket == 0 || newest.ticket <= asked || isFlushed(newest.ticket)
    }

    /// Whether somebody waits for a frame.
    private func isFlushed(_ ticket: UInt64) -> Bool {
        !waiters.isEmpty && waiters.contains { ticket <= $0.ticket }
    }

    /// Whether something can be made of the newest image.
    private var canBeMade: Bool {
        content != nil && newest.isWithin(configuration.limits) && causeOfRefusal == nil
    }

    /// Whether only the limits exclude the newest image.
    private var isExcluded: Bool {
        guard content != nil else { return false }
        if let causeOfRefusal { return causeOfRefusal == .outsideLimits }
        return !newest.isWithin(configuration.limits)
    }

    /// Why the newest image cannot be sent as it looks; nil if it can.
    private var causeOfRefusal: Cause? {
        guard let refused, refused.ticket == newest.ticket, refused.look == newest.look else { return nil }
        return refused.cause
    }

    /// Returns the time from which there is room for a JPEG; nil for a size that is not known yet.
    private func room(for byteCount: Int?, at now: UInt64) -> UInt64 {
        quality.isActive ? quality.holdEnd(for: byteCount, at: now) ?? 0 : 0
    }

    /// The size of the JPEG that the newest image is, if it is sent as it is.
    private var contentByteCount: Int? { content == nil ? nil : newest.byteCount }

    /// Whether an image of which this was made could be sharper.
    private func isCoarse(_ used: Int?, _ recipe: EncodingRecipe?) -> Bool {
        guard let used, let highest = recipe?.settings.quality else { return false }
        return used < min(highest, configuration.quality)
    }

    /// Whether the last JPEG has less than the maximum quality for a limit that is gone, such as that of another receiver.
    private var isNeedlesslyCoarse: Bool {
        !quality.isActive && isCoarse(encoded.quality, encoded.frame.recipe)
    }

    /// Whether the newest image is left out if it equals what the receiver has; one that is asked for never is.
    private var isCompared: Bool {
        pacer.pacing.comparesImages && newest.ticket > asked && given.frame.ticket > 0 && given.equal != newest.ticket
            && given.frame.look == newest.look && !pacer.sendsUnchanged(newest.sourceTime)
    }

    /// The reason that no frame may be sent now; nil if one may.
    private var barrier: Cause? {
        guard terms.isConnected, !isClosed else { return .notConnected }
        if terms.isPaused { return .paused }
        return terms.wants.contains(.frames) ? nil : .notWanted
    }

    /// What the newest image waits for: what its caller is told, and what the statistics count.
    private mutating func standing(_ old: Frame.State, at now: UInt64) -> Frame.State {
        if let barrier {
            // What has held it back first is what is counted.
            if case .deferred = old { return old }
            return .deferred(barrier)
        }
        if retryAt > now, case .deferred = old { return old }
        let ticket = newest.ticket
        let isMade = encoded.frame.ticket == ticket
        let isWithin =
            content == nil
            ? !isMade || encoded.isWithin(configuration.limits) : newest.isWithin(configuration.limits)
        if !isWithin { return .dropped(.outsideLimits) }
        // What is being encoded is given by then.
        let isNext = ticket <= asked || (given.frame.ticket == 0 && work.stage != .encoding) || isFlushed(ticket)
        if !isNext, turn > now { return .deferred(.paced) }
        if sharing.isOpen, newest.recipe?.sharedByteCount != nil { return .pending }
        return room(for: isMade ? encoded.byteCount : contentByteCount, at: now) > now ? .deferred(.paced) : .pending
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
        replaceNewest(by: frame, content)
        if !isAsked { pacer.hold(until: turn) }
        noteLackOfRoom(at: now)
        advance(at: now)
        return switch newest.state {
        case .deferred(let cause): .deferred(cause)
        case .dropped(let cause): .dropped(cause)
        case .pending, .sent: .taken
        }
    }

    private mutating func replaceNewest(by frame: Frame, _ content: FrameContent) {
        if work.frame.ticket != newest.ticket {
            if newest.state == .pending { noteDelay() }
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
        let copy = StatedDamage.Copy(color: color, output: recipe.output, format: recipe.image.format)
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
        if refused?.cause == .outsideLimits { refused = nil }
        ownConfiguration = new
        follow(at: now)
        if !new.keepsLatestImage { giveUpImages() }
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

    /// Gives up the image of the latest frame if its JPEG is there, or being made.
    package mutating func giveUpImages() {
        let isBeingEncoded = work.stage == .encoding && work.frame.ticket == newest.ticket
        if encoded.frame.ticket == newest.ticket || isBeingEncoded { effects.discard(content.take()) }
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
    private mutating func lookAgain() {
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

    private mutating func stopSharing() {
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

    // MARK: The encoder

    /// Begins the upload requested by ``Effects/startsUpload``.
    ///
    /// Call it on the encoding queue, so that a newer frame can replace an older one until then.
    ///
    /// - Parameters:
    ///   - unread: The number of bytes that the receiver has not read yet, if ``Effects/asksUnread`` asked for it and the
    ///     system tells.
    ///   - now: The time.
    /// - Returns: The job to encode, to be reported with ``encoded(_:at:)``; nil if there is none.
    package mutating func beginUpload(unread: Int? = nil, at now: UInt64) -> EncodingJob? {
        guard isTurnAsked else { return nil }
        isTurnAsked = false
        quality.sample(unread: unread, at: now)
        var job: EncodingJob?
        if case .start(let target) = next(at: now) { job = start(target, at: now) }
        advance(at: now)
        return job
    }

    private mutating func start(_ target: Target, at now: UInt64) -> EncodingJob? {
        let isMade = target.form == .made
        let isLatest = !isMade || encoded.frame.ticket == newest.ticket
        let isCompared = isCompared
        takeTurn(target, isLatest: isLatest, at: now)
        work = Work(isLatest ? newest : encoded.frame, for: terms.connection, at: now)
        // It may look otherwise than what is wanted of it by now, if nothing else can be sent.
        if isMade { (work.frame.look, work.frame.recipe) = (encoded.frame.look, encoded.frame.recipe) }
        sinceWork = isLatest ? sinceNewest : .everything
        work.isRepeat = work.frame.isGiven || !isLatest
        work.isSharpening = target.lack == .sharpness
        if isLatest, !work.isRepeat {
            if work.frame.state == .pending {
                statistics.queueAge.add(nanoseconds: now.subtractingClamping(work.frame.offeredAt))
            }
            count(work.frame.ticket, work.frame.state, as: .pending)
            work.frame.state = .pending
        }
        if isMade {
            (work.message, work.quality) = (encoded.message, encoded.quality)
            handOver(at: now)
            return nil
        }
        return encode(target, isCompared: isCompared, at: now)
    }

    private mutating func takeTurn(_ target: Target, isLatest: Bool, at now: UInt64) {
        let isNew = target.lack == .image && !isAsked
        if isNew, isLatest {
            pacer.take(newest.sourceTime, at: now)
        } else if isLatest {
            // What waits for its turn counts from the image before it, not from its repeats.
            pacer.restart(at: now)
        }
    }

    private mutating func encode(_ target: Target, isCompared: Bool, at now: UInt64) -> EncodingJob? {
        let digest = isCompared && target.lack == .image ? given.frame.digest : nil
        let comparison: EncodingJob.Comparison =
            if !pacer.pacing.comparesImages || (digest == nil && work.frame.digest != nil) {
                .none
            } else if let digest {
                .against(digest)
            } else {
                .compute
            }
        var job = EncodingJob(
            orientation: work.frame.orientation,
            comparison: comparison,
            recipe: work.frame.recipe
        )
        if case .share(let place) = target.form {
            sharing.fill(place)
            (job.place, work.place) = (place, place)
            job.rows = copies.take(work.frame.recipe, followedBy: sinceWork)
        } else {
            if quality.isActive { chooseQuality(at: now) }
            job.quality = work.quality
            job.rows = strips.take(work.frame.recipe, followedBy: sinceWork)
        }
        // The image of a copy is returned.
        let keepsImage = !work.isShared && configuration.keepsLatestImage
        job.content = keepsImage ? content : content.take()
        return job
    }

    /// Chooses the quality of an image that is encoded; a JPEG that is sent as it is, or rotated, keeps its own.
    private mutating func chooseQuality(at now: UInt64) {
        guard let highest = work.frame.recipe?.settings.quality else { return }
        if case .jpeg? = content { return }
        // A frame that had to wait for so long that the source is still by now is sharp at once, if there is room.
        let isStill = quality.sharpeningTime(changedAt: work.frame.changedAt, at: now) <= now
        let isSharp = work.isSharpening || isStill
        work.quality = min(quality.begin(sharpening: isSharp, interval: pacer.interval, at: now), highest)
    }

    /// Handles the result of the encoder.
    package mutating func encoded(_ result: EncodingResult, at now: UInt64) {
        guard work.stage == .encoding else { return }
        quality.gaveUp()
        switch result {
        case .encoded(let message, let digest):
            statistics.encoding.add(nanoseconds: now.subtractingClamping(work.beganAt))
            work.frame.digest = digest ?? work.frame.digest
            work.message = message
            let made = Encoded(work.frame, message, work.quality)
            // The size of a submitted JPEG may have been stated wrongly.
            guard made.isWithin(configuration.limits) else {
                refuse(.outsideLimits)
                break
            }
            let hasRoom = hasRoom(made.byteCount, at: now)
            if hasRoom || newest.ticket != work.frame.ticket || content == nil { keep(made) }
            let isGiven = hasRoom && barrier == nil && !isInVain(at: now)
            if isGiven { handOver(at: now) } else { giveUp() }
        case .shared(var copy, let content, let digest):
            statistics.encoding.add(nanoseconds: now.subtractingClamping(work.beganAt))
            putBack(content)
            work.frame.digest = digest ?? work.frame.digest
            let isCurrent = sharing.isCurrent(copy.place)
            if isCurrent { sharing.copied(&copy) }
            let isGiven = isCurrent && barrier == nil && !isInVain(at: now)
            if isGiven { handOver(copy, at: now) } else { giveUp() }
        case .notShared(let content):
            putBack(content)
            copies.putBack()
            // The connection may have ended meanwhile, or the receiver has declined.
            if let place = work.place, sharing.isCurrent(place) { stopSharing() }
            giveUp()
        case .unchanged(let content, let digest):
            putBack(content)
            putBackDamage()
            work.frame.digest = digest
            let isSame = given.frame.digest == digest && given.frame.look == work.frame.look
            if isSame { settleUnchanged() } else { giveUp() }
        case .failed(let error):
            statistics.lastEncodingError = error
            putBackDamage()
            refuse(.encodingFailed)
        }
        if work.stage == .encoding { endWork() }
        advance(at: now)
    }

    private mutating func endWork() {
        // It may be the last reference to a program's memory.
        effects.discard(work.message)
        work = Work()
    }

    /// Takes in the size of a JPEG, and returns whether there is room for it.
    private mutating func hasRoom(_ byteCount: Int, at now: UInt64) -> Bool {
        guard quality.isActive, let used = work.quality else { return true }
        return quality.encoded(byteCount, quality: used, sharpening: used > quality.level, at: now)
    }

    /// Keeps the JPEG of a frame, and its image only if something else can be made of that for another receiver.
    private mutating func keep(_ made: Encoded) {
        guard !isClosed else { return }
        effects.discard(encoded.message)
        encoded = made
        guard newest.ticket == made.frame.ticket else { return }
        if !configuration.keepsLatestImage || content?.isAdaptable == false { effects.discard(content.take()) }
    }

    private mutating func putBack(_ content: FrameContent) {
        guard newest.ticket == work.frame.ticket, self.content == nil, !isClosed else {
            return effects.discard(content)
        }
        self.content = content
        if newest.look != work.frame.look { lookAgain() }
    }

    private mutating func putBackDamage() {
        if work.isShared { copies.putBack() } else { strips.putBack() }
    }

    // MARK: What becomes of work

    /// Whether what has been made is not what the receiver should have by now.
    private mutating func isInVain(at now: UInt64) -> Bool {
        let isNewest = newest.ticket == work.frame.ticket
        if work.isSharpening, !isNewest { return true }
        let isStale = isNewest && EncodingRecipe.differ(work.frame.recipe, newest.recipe, isShared: work.isShared)
        // What this receiver no longer prefers is on its way to it all the same, unless it has the image.
        if isStale, given.frame.ticket == work.frame.ticket { return true }
        guard work.connection != terms.connection else { return false }
        if sharing.greetingTime(at: now) != nil { return true }
        // For another receiver it is made again, if the image is still there.
        guard isNewest, content != nil else { return false }
        let isCoarse = !quality.isActive && isCoarse(work.quality, work.frame.recipe)
        let isPixels = newest.recipe?.sharedByteCount != nil
        return isStale || isCoarse || (sharing.isOpen && isPixels && !work.isShared)
    }

    /// Gives what was made to the connection: a copy, or the JPEG.
    private mutating func handOver(_ copy: SharedCopy? = nil, at now: UInt64) {
        if work.frame.number == nil {
            (work.frame.number, work.isNumbered) = (nextNumber, true)
            nextNumber &+= 1
        }
        settle()
        var info = FrameInfo(bufferSize: BufferSize(width: 0, height: 0), orientation: work.frame.orientation)
        if configuration.sendsTiming { (info.timestamp, info.sequence) = (work.frame.timestamp, work.frame.number) }
        if let copy {
            let isNew = sharing.submitted(copy.place, at: now)
            effects.message = copy.message(info, isNew: isNew, owner: owner)
            // The JPEG is older.
            effects.discard(encoded.message)
            encoded = Encoded()
        } else if let message = work.message {
            let (jpeg, made) = (message.jpeg, message.info)
            (info.bufferSize, info.orientation) = (made.bufferSize, made.orientation)
            effects.message = FrameMessage(jpeg: jpeg, info: info)
            work.byteCount = jpeg.count
            quality.submitted(jpeg.count, at: now)
        }
        guard effects.message != nil else { return }
        effects.connection = terms.connection
        given = Given(frame: work.frame, isShared: work.isShared, quality: work.quality, at: now)
        sinceGiven = sinceWork
        statistics.quality = work.quality
        (work.stage, work.beganAt, work.revision, work.connection) = (.sending, now, terms.revision, terms.connection)
    }

    /// Handles the outcome of the submitted message: `failure` is nil if all of it was accepted.
    package mutating func sent(_ failure: SampleUploader.DropCause?, at now: UInt64) {
        guard work.stage == .sending else { return }
        if let place = work.place { sharing.settled(place, isSent: failure == nil) }
        if let failure {
            fail(failure, at: now)
        } else {
            given.at = now
            let duration = now.subtractingClamping(work.beganAt)
            if duration >= Self.longestTransfer, !isClosed { watch.note(.receiverSlow) }
            if !work.isShared { quality.sent(work.byteCount, beganAt: work.beganAt, at: now) }
            if work.isRepeat {
                statistics.repeats += 1
                if work.isSharpening { statistics.sharpened += 1 }
            } else {
                settle(.sent)
                if work.isShared { statistics.shared += 1 }
                statistics.bytes &+= UInt64(work.byteCount)
                statistics.transfer.add(nanoseconds: duration)
            }
        }
        endWork()
        advance(at: now)
    }

    /// Handles the refusal of the submitted message, because another uploader shares memory on the connection.
    package mutating func sharingRefused(at now: UInt64) {
        guard work.stage == .sending, let place = work.place else { return }
        sharing.settled(place, isSent: false)
        let isCurrent = work.connection == terms.connection
        if isCurrent { stopSharing() }
        fail(isCurrent ? .superseded : .notConnected, at: now)
        // It can be sent as a JPEG at once.
        if isCurrent { retryAt = 0 }
        endWork()
        advance(at: now)
    }

    /// What could not be sent is owed, if it is still the newest.
    private mutating func fail(_ cause: Cause, at now: UInt64) {
        given = Given()
        if work.revision == terms.revision { retryAt = now.addingClamping(Self.retryInterval) }
        let isNewest = newest.ticket == work.frame.ticket
        // A connection that ended before has had nothing of it.
        if isNewest, work.isNumbered, cause != .connectionLost, let number = work.frame.number,
            nextNumber == number &+ 1
        {
            (work.frame.number, nextNumber) = (nil, number)
        }
        settle(work.isRepeat ? nil : isNewest && !isClosed ? .deferred(cause) : .dropped(cause))
    }

    /// What comes of an image that the receiver does not get now.
    private mutating func giveUp() {
        pacer.putBack()
        if work.isRepeat || newest.ticket == work.frame.ticket { return settle() }
        if let barrier { settle(.dropped(barrier)) } else { replace(work.frame, by: newest.ticket) }
    }

    /// A frame cannot be sent as it looks.
    private mutating func refuse(_ cause: Cause) {
        pacer.putBack()
        refused = (work.frame.ticket, work.frame.look, cause)
        guard !work.isRepeat else { return }
        settle(.dropped(cause))
        if newest.ticket == work.frame.ticket {
            effects.discard(content.take())
        } else {
            passOn(work.frame, to: newest.ticket)
        }
    }

    /// A newer frame has taken the place of one: if that was about to be sent, its number is a gap.
    private mutating func replace(_ frame: Frame, by newer: UInt64) {
        switch frame.state {
        case .pending, .deferred(.superseded): count(frame.ticket, frame.state, as: .dropped(.superseded))
        case .dropped(.encodingFailed), .dropped(.outsideLimits): break
        case .deferred:
            if frame.ticket <= asked { asked = max(asked, newer) }
            return
        case .sent, .dropped: return
        }
        passOn(frame, to: newer)
    }

    /// What was asked for is now a newer image, and the number is a gap.
    private mutating func passOn(_ frame: Frame, to newer: UInt64) {
        if frame.ticket <= asked, frame.state != .dropped(.encodingFailed) { asked = max(asked, newer) }
        if frame.number == nil { nextNumber &+= 1 }
    }

    private mutating func settleUnchanged() {
        guard given.frame.ticket > 0 else { return }
        pacer.putBack()
        sinceGiven = sinceWork
        // Unchanged images may have a rate of their own.
        if newest.ticket == work.frame.ticket, !pacer.pacing.skipsUnchanged, !isFlushed(work.frame.ticket) {
            given.equal = work.frame.ticket
            return settle()
        }
        equate(work.frame)
    }

    /// A frame shows what the receiver has: it is given already.
    private mutating func equate(_ frame: Frame) {
        if encoded.frame.ticket == given.frame.ticket { encoded.frame.ticket = frame.ticket }
        given.frame.ticket = frame.ticket
        count(frame.ticket, frame.state, as: .dropped(pacer.pacing.skipsUnchanged ? .unchanged : .paced))
        guard newest.ticket == frame.ticket else { return }
        newest.become(given.frame)
        if !configuration.keepsLatestImage, encoded.frame.ticket == frame.ticket { effects.discard(content.take()) }
    }

    /// Settles an image that by its damage shows what the receiver has.
    private mutating func recognizeUnchanged() {
        let isKnown = given.equal == newest.ticket
        guard isKnown || sinceGiven.isNothing, work.stage == .none, barrier == nil,
            given.frame.ticket > 0, given.frame.ticket < newest.ticket, isKnown || isCompared
        else { return }
        if pacer.pacing.skipsUnchanged || isFlushed(newest.ticket) {
            equate(newest)
        } else {
            given.equal = newest.ticket
        }
    }

    /// Brings what is known of the frame in work to where it is kept, and counts what became of it.
    private mutating func settle(_ state: Frame.State? = nil) {
        if let state { count(work.frame.ticket, work.frame.state, as: state) }
        if newest.ticket == work.frame.ticket {
            (newest.number, newest.digest) = (work.frame.number, work.frame.digest)
        }
        guard encoded.frame.ticket == work.frame.ticket else { return }
        (encoded.frame.number, encoded.frame.digest) = (work.frame.number, work.frame.digest)
        encoded.frame.state = state ?? work.frame.state
    }

    /// Counts the newest image as what it waits for.
    private mutating func stand(at now: UInt64) {
        let state = standing(newest.state, at: now)
        statistics.move(newest.state, to: state)
        newest.state = state
        if case .dropped = state { effects.discard(content.take()) }
    }

    /// Counts a frame once: as under way, as sent, or as not sent for one cause.
    private mutating func count(_ ticket: UInt64, _ old: Frame.State, as new: Frame.State) {
        statistics.move(old, to: new)
        if newest.ticket == ticket { newest.state = new }
    }

    // MARK: What follows from an event

    /// Asks for a turn if something can be begun, resumes finished waiters, and sets the timer.
    private mutating func advance(at now: UInt64) {
        recognizeUnchanged()
        if !newest.isFinal, work.frame.ticket != newest.ticket { stand(at: now) }
        if !waiters.isEmpty { finishWaiters() }
        var deadline: UInt64?
        switch next(at: now) {
        case .nothing: break
        case .at(let time): deadline = time
        case .start:
            if !isTurnAsked { (isTurnAsked, effects.startsUpload, effects.asksUnread) = (true, true, quality.isActive) }
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

    // MARK: Difficulties

    /// Notes what a frame has waited for that a newer one replaces.
    private mutating func noteDelay() {
        switch work.stage {
        case .encoding: watch.note(.encoderSlow)
        case .sending: watch.note(.receiverSlow)
        case .none: if sharing.isOpen, !sharing.hasFree { watch.note(.receiverSlow) }
        }
    }

    private mutating func noteLackOfRoom(at now: UInt64) {
        guard quality.isActive, barrier == nil, let difficulty = difficulty(at: now) else { return }
        watch.note(difficulty)
    }

    private func difficulty(at now: UInt64) -> SampleUploader.Conditions? {
        quality.difficulty(for: contentByteCount, interval: pacer.interval, at: now)
    }

    private mutating func updateConditions(at now: UInt64) {
        // What has begun lasts while an image is held back for it, whether or not the source offers another.
        let isHeldBack = !statistics.conditions.isEmpty && newest.state == .deferred(.paced)
        let conditions = watch.update(lasting: isHeldBack ? difficulty(at: now) : nil, at: now)
        guard conditions != statistics.conditions else { return }
        statistics.conditions = conditions
        effects.tellsConditions = true
    }

    // MARK: What tests ask

    /// The ticket of the newest image.
    package var newestTicket: UInt64 { newest.ticket }

    /// The number of images that are held.
    package var heldImageCount: Int {
        (content?.pixels == nil ? 0 : 1) + (work.stage == .encoding ? 1 : 0)
    }

    /// The ticket of the frame that a new receiver would get; nil if there is none.
    package var latestTicket: UInt64? {
        let tickets = [content == nil ? 0 : newest.ticket, encoded.frame.ticket, work.frame.ticket]
        return tickets.first { $0 > 0 }
    }

    /// Since when a receiver has had nothing, if something could be sent again.
    package var silentSince: UInt64? {
        guard work.stage == .none, !isTurnAsked, barrier == nil, given.frame.ticket > 0,
            !isCoarse(given.quality, given.frame.recipe), canBeMade || encoded.isWithin(configuration.limits)
        else { return nil }
        return given.at
    }

    /// Returns the time until which the newest image waits for a shared buffer; nil if it does not.
    package func bufferWaitEnd(at now: UInt64) -> UInt64? {
        guard sharing.isOpen, !sharing.hasFree, sharing.waitEnd > now, work.stage == .none, barrier == nil,
            newest.recipe?.sharedByteCount != nil
        else { return nil }
        return sharing.waitEnd
    }

    /// Returns the time before which there is no room for the newest image, or for the JPEG that was made last; nil if there
    /// is.
    package func holdEnd(at now: UInt64) -> UInt64? {
        let made = encoded.message == nil ? 0 : room(for: encoded.byteCount, at: now)
        let end = max(made, room(for: contentByteCount, at: now))
        guard end > now else { return nil }
        return end
    }
}
