internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

// What is encoded and sent, and what becomes of it.
extension UploaderMachine {
    // MARK: The encoder

    /// Begins the upload requested by ``Effects/startsUpload``.
    ///
    /// Until it is called, a newer frame can replace an older one.
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
        if let step = next(at: now), step.time <= now { job = start(step, at: now) }
        advance(at: now)
        return job
    }

    private mutating func start(_ step: Step, at now: UInt64) -> EncodingJob? {
        let isMade = if case .made = step.form { true } else { false }
        let isLatest = !isMade || encoded.frame.ticket == newest.ticket
        let isCompared = isCompared
        takeTurn(step.lack, isLatest: isLatest, at: now)
        if isLatest { work.frame = newest } else { work.frame = encoded.frame }
        (work.stage, work.connection, work.beganAt) = (.encoding, terms.connection, now)
        // It may look otherwise than what is wanted of it by now, if nothing else can be sent.
        if isMade { (work.frame.look, work.frame.recipe) = (encoded.frame.look, encoded.frame.recipe) }
        sinceWork = isLatest ? sinceNewest : .everything
        work.isRepeat = work.frame.isGiven || !isLatest
        work.isSharpening = step.lack == .sharpness
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
        return encode(step, isCompared: isCompared, at: now)
    }

    private mutating func takeTurn(_ lack: Lack, isLatest: Bool, at now: UInt64) {
        let isNew = lack == .image && !isAsked
        if isNew, isLatest {
            pacer.take(newest.sourceTime, at: now)
        } else if isLatest {
            // What waits for its turn counts from the image before it, not from its repeats.
            pacer.restart(at: now)
        }
    }

    private mutating func encode(_ step: Step, isCompared: Bool, at now: UInt64) -> EncodingJob? {
        let digest = isCompared && step.lack == .image ? given.frame.digest : nil
        let comparison: EncodingJob.Comparison =
            if !pacer.pacing.comparesImages || (digest == nil && work.frame.digest != nil) {
                .none
            } else if let digest {
                .against(digest)
            } else {
                .compute
            }
        let rows: RowSet?
        if case .share(let place) = step.form {
            sharing.fill(place)
            work.place = place
            rows = copies.take(work.frame.recipe, followedBy: sinceWork)
        } else {
            if quality.isActive { chooseQuality(at: now) }
            rows = strips.take(work.frame.recipe, followedBy: sinceWork)
        }
        // A copy leaves nothing else of the image.
        let keepsImage = work.isShared || configuration.keepsLatestImage
        return EncodingJob(
            content: keepsImage ? content : content.take(),
            orientation: work.frame.orientation,
            comparison: comparison,
            recipe: work.frame.recipe,
            quality: work.quality,
            place: work.place,
            rows: rows
        )
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
        quality.ended()
        switch result {
        case .encoded(let message, let digest, let changedPart):
            statistics.encoding.add(nanoseconds: now.subtractingClamping(work.beganAt))
            work.frame.digest = digest ?? work.frame.digest
            work.message = message
            let made = Encoded(work.frame, message, work.quality)
            // The size of a submitted JPEG may have been stated wrongly.
            guard made.isWithin(configuration.limits) else {
                refuse(.outsideLimits)
                break
            }
            let hasRoom = hasRoom(made.byteCount, changedPart, at: now)
            if hasRoom || newest.ticket != work.frame.ticket || content == nil { keep(made) }
            let isGiven = hasRoom && barrier == nil && !isInVain(at: now)
            if isGiven { handOver(at: now) } else { giveUp() }
        case .shared(var copy, let digest):
            statistics.encoding.add(nanoseconds: now.subtractingClamping(work.beganAt))
            work.frame.digest = digest ?? work.frame.digest
            let isCurrent = sharing.isCurrent(copy.place)
            if isCurrent { sharing.copied(&copy) }
            let isGiven = isCurrent && barrier == nil && !isInVain(at: now)
            if isGiven { handOver(copy, at: now) } else { giveUp() }
        case .notShared:
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

    /// Takes in a JPEG's size and how much of it is new, and returns whether there is room for it.
    private mutating func hasRoom(_ byteCount: Int, _ changedPart: Double?, at now: UInt64) -> Bool {
        guard quality.isActive, let used = work.quality else { return true }
        return quality.encoded(byteCount, quality: used, changedPart: changedPart, at: now)
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
            if duration >= Self.longestTransfer, !isClosed { watch.note(.receiverSlow, at: now) }
            let byteCount = work.message?.jpeg.count
            if let byteCount { quality.sent(byteCount, beganAt: work.beganAt, at: now) }
            if work.isRepeat {
                statistics.repeats += 1
                if work.isSharpening { statistics.sharpened += 1 }
            } else {
                settle(.sent)
                if work.isShared { statistics.shared += 1 }
                statistics.bytes &+= UInt64(byteCount ?? 0)
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
        if newest.ticket == work.frame.ticket, newest.look == work.frame.look { newest.refusal = cause }
        guard !work.isRepeat else { return }
        settle(.dropped(cause))
        if newest.ticket == work.frame.ticket {
            effects.discard(content.take())
        } else {
            passOn(work.frame, to: newest.ticket)
        }
    }

    /// A newer frame has taken the place of one: if that was about to be sent, its number is a gap.
    mutating func replace(_ frame: Frame, by newer: UInt64) {
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
    mutating func recognizeUnchanged() {
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
    mutating func stand(at now: UInt64) {
        let state = standing(newest.state, at: now)
        statistics.move(newest.state, to: state)
        newest.state = state
        if case .dropped = state { effects.discard(content.take()) }
    }

    /// Counts a frame once: as under way, as sent, or as not sent for one cause.
    mutating func count(_ ticket: UInt64, _ old: Frame.State, as new: Frame.State) {
        statistics.move(old, to: new)
        if newest.ticket == ticket { newest.state = new }
    }
}
