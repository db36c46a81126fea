internal import FrameSocket
internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// The queue of an uploader that encodes, and what its events do.
extension World {
    func takeTurn(_ sender: SimSender) {
        sender.hasTurn = false
        // Its clock was read before the lock was acquired, as for an offer.
        let before = now - random.time(in: 0...20_000)
        sender.isBeginning = true
        let begun = handle(sender) { $0.beginUpload(at: before) } ?? nil
        sender.isBeginning = false
        guard let job = begun else { return }
        check(.oneFrameAtATime, sender.job == nil, "uploader \(sender.index) encodes two frames at once")
        sender.job = job
        if let identity = job.content.flatMap(Self.identity) { checkDamage(of: job, identity.number, sender) }
        if let content = job.content, let identity = Self.identity(of: content),
            let machine = sender.uploader?.machine,
            // What was scaled before stays as it is.
            !content.isScaled || sender.encoded[identity.number] == nil
        {
            let terms = machine.terms
            sender.encoded[identity.number] = (SimSender.Look(machine), terms.connection)
        }
        check(.integrity, Self.hasRecipeForContent(job), "uploader \(sender.index) has the recipe of another image")
        if job.place == nil, job.content?.pixels != nil, awaitsBuffer(sender) { coverage.count(.waitedInVain) }
        // It takes its memory soon, or late.
        sender.jobMemory = sender.racing.chance(50) ? job.place.flatMap { memory(of: $0, sender) } : nil
        var duration = sender.plan.encodingTime
        if job.place != nil, sender.plan.reopens, sender.racing.chance(8) {
            // A copy that outlasts its connection ends on the next one.
            if let receiver = receiver(of: sender) { letGo(receiver) }
            duration += sender.plan.retryInterval + 60_000_000
        }
        schedule(of: sender, after: duration) { [self] in encoded(sender) }
    }

    private func encoded(_ sender: SimSender) {
        guard let job = sender.job, let content = job.content else { return }
        sender.job = nil
        let memory = sender.jobMemory.take()
        guard let identity = Self.identity(of: content) else {
            return violate(.heldBuffersStay, "uploader \(sender.index): the image of a frame has changed")
        }
        let digest = Self.digest(of: content, job.orientation, identity.content)
        let result: EncodingResult
        if sender.encoderFails {
            coverage.count(.encodingFailed)
            sender.unsendable.insert(identity.number)
            // If a frame is owed, the one before goes out instead.
            allowRepeat(sender)
            result = .failed(TurboJPEGError(.encodeFailed, "The simulated encoder fails."))
        } else if case .against(digest) = job.comparison {
            coverage.count(.unchangedFrame)
            result = .unchanged(content, digest: digest)
        } else {
            let known = job.comparison == .none ? nil : digest
            if let place = job.place {
                result = copyToBuffer(job, place, memory, content, identity, known, of: sender)
            } else if case .jpeg(let jpeg, let size) = content {
                let image = FrameMessage(jpeg: jpeg, info: FrameInfo(bufferSize: size, orientation: job.orientation))
                result = .encoded(image, digest: known)
            } else {
                result = .encoded(encodedImage(job, identity), digest: known)
            }
        }
        switch result {
        case .encoded, .shared: sender.prepared[job.place != nil] = identity.number
        case .notShared, .unchanged, .failed: break
        }
        reportEncoded(result, of: job, sender)
        checkFinishersGoOn(sender)
        checkLatestIsKept(sender)
    }

    /// Reports the encoder's result, and checks what only the machine before it tells.
    private func reportEncoded(_ result: EncodingResult, of job: EncodingJob, _ sender: SimSender) {
        guard let uploader = sender.uploader else { return }
        let isSharing = uploader.machine.sharing.isOpen
        let isEarlier = job.place.map { !uploader.machine.sharing.isCurrent($0) } ?? false
        handle(sender) { $0.encoded(result, at: now) }
        switch result {
        case .notShared where isEarlier:
            let isSame = uploader.machine.sharing.isOpen == isSharing
            check(.buffersHaveOneConnection, isSame, "uploader \(sender.index) lacks memory for an earlier connection")
        case .notShared, .unchanged, .encoded, .shared, .failed: break
        }
    }

    /// Whether the recipe of a job, which says which pixels are read, is for its content.
    private static func hasRecipeForContent(_ job: EncodingJob) -> Bool {
        guard let content = job.content, let pixels = content.pixels else { return true }
        guard let input = job.recipe?.input else { return false }
        return input.size == content.size && input.format == pixels.format && input.orientation == job.orientation
    }
}
