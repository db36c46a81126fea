internal import FrameSocket
internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// The images of a sender's program, and the shared buffers that its uploader copies them to.
extension World {
    // MARK: Submitting

    /// The content of a frame that was offered, with its entry if it was copied; nil if it is not submitted at all.
    func content(_ sender: SimSender, _ number: UInt32) -> (content: FrameContent, entry: UInt64?)? {
        let offer = sender.offers[Int(number) - 1]
        switch offer.kind {
        case .none:
            let message = message(sender, number, sequence: nil)
            return (.jpeg(message.jpeg, message.bufferSize), nil)
        case .ordinary:
            return ImageContent.image(identity(sender, number), offer.size).map { (.pixels($0), nil) }
        case .mixed:
            return copy(sender, number)
        }
    }

    private func identity(_ sender: SimSender, _ number: UInt32) -> Content.Identity {
        let offer = sender.offers[Int(number) - 1]
        return Content.Identity(
            sender: sender.plan.identity,
            number: number,
            length: UInt32(offer.size.width * offer.size.height),
            content: offer.content
        )
    }

    /// An image that is copied when it is submitted, in the size that is sent.
    private func copy(_ sender: SimSender, _ number: UInt32) -> (content: FrameContent, entry: UInt64?)? {
        let offer = sender.offers[Int(number) - 1]
        guard let image = ImageContent.image(identity(sender, number), offer.size) else { return nil }
        let before = sender.uploader?.machine.statistics.drops ?? [:]
        let damage = damage(
            of: sender,
            number,
            isWhole: sender.uploader?.machine.configuration.scale == .full
        )
        switch handle(sender, { $0.offerCopy(of: image, orientation: offer.orientation, damage: damage, at: now) }) {
        case .copy(let recipe, let entry):
            return ImageContent.image(identity(sender, number), recipe.output.canvas)
                .map { (.scaled($0, by: recipe.output), entry) }
        case .decided(let outcome):
            decided(outcome, number, of: sender, after: before)
            return nil
        case nil: return nil
        }
    }

    // MARK: Copying

    /// The memory of a buffer, unless the system has no memory or no descriptor left.
    func memory(of place: Sharing.Place, _ sender: SimSender) -> SharedMemory? {
        guard let memory = try? sender.store.memory(of: place) else { return nil }
        if !sharedMemory.contains(where: { $0.memory === memory }) {
            if descriptors >= descriptorLimit || random.chance(sender.plan.failingBuffers) { return nil }
            sharedMemory.append(WeakMemory(memory: memory))
        }
        check(
            .heldBuffersStay,
            !isHeld(memory),
            "sender \(sender.index) is about to write to buffer \(place.index), which its receiver has"
        )
        return memory
    }

    /// Copies an image to its buffer, as a job says.
    func copyToBuffer(
        _ job: EncodingJob,
        _ place: Sharing.Place,
        _ memory: SharedMemory?,
        _ content: FrameContent,
        _ identity: Content.Identity,
        _ digest: UInt64?,
        of sender: SimSender
    ) -> EncodingResult {
        // Memory may fail at any time, most of all if that says nothing about the present connection.
        let isEarlier = !(sender.uploader?.machine.sharing.isCurrent(place) ?? false)
        guard !(isEarlier && sender.racing.chance(50)), let memory = memory ?? self.memory(of: place, sender) else {
            coverage.count(.notShared)
            return .notShared
        }
        let size = job.recipe?.output.canvas ?? BufferSize(width: 1, height: 1)
        let image = content.pixels.flatMap { pixels in
            (pixels.width, pixels.height) == (size.width, size.height) ? pixels : ImageContent.image(identity, size)
        }
        do {
            guard let image else { return .failed(TurboJPEGError(.encodeFailed, "there are no pixels")) }
            let isWhole = content.pixels.map { $0.width == size.width && $0.height == size.height } ?? false
            let copy = try sender.store.copy(
                image,
                Self.orientation(of: job),
                to: place,
                in: memory,
                damagedRows(of: job, isWhole: isWhole)
            )
            coverage.count(.copiedFrame)
            return .shared(copy, digest: digest)
        } catch {
            return .failed(error)
        }
    }

    /// The JPEG of an image.
    func encodedImage(_ job: EncodingJob, _ identity: Content.Identity) -> FrameMessage {
        let size = job.recipe?.output.canvas ?? BufferSize(width: 16, height: 1)
        var identity = identity
        identity.isImage = false
        identity.length = Self.length(size, quality: job.quality ?? job.recipe?.settings.quality ?? 80)
        return FrameMessage(
            jpeg: Content.bytes(identity, pool: pool),
            info: FrameInfo(bufferSize: size, orientation: Self.orientation(of: job))
        )
    }

    /// The length of the JPEG of an image.
    static func length(_ size: BufferSize, quality: Int) -> UInt32 {
        UInt32(Content.headerByteCount + size.width * size.height * quality / 160)
    }

    /// The quality of the JPEG of an image, by its length.
    static func quality(of identity: Content.Identity, _ header: FrameHeader) -> Int {
        guard header.contentLength > 0 else { return .max }
        let pixels = header.bufferSize.width * header.bufferSize.height
        return (Int(identity.length) - Content.headerByteCount + 1) * 160 / max(1, pixels)
    }

    private static func orientation(of job: EncodingJob) -> FrameOrientation {
        job.recipe?.appliesOrientation == true ? .up : job.orientation
    }

    /// Whose image a content is.
    static func identity(of content: FrameContent) -> Content.Identity? {
        if case .jpeg(let jpeg, _) = content { return jpeg.withSpan { Content.identify($0) } }
        return content.pixels.flatMap { ImageContent.identify($0) }
    }
}
