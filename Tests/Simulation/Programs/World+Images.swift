internal import FrameSocket
internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// The images of a sender's program, and the shared buffers that its uploader copies them to or lends it.
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
        case .drawn:
            return drawing(sender, number).map { (.pixels($0), nil) }
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

    /// An image that is drawn in a buffer of the uploader, which the program may have got long ago.
    private func drawing(_ sender: SimSender, _ number: UInt32) -> PixelBuffer? {
        if !sender.plan.hoardsBuffers || random.chance(5) { sender.keptDrawings.removeAll() }
        // The only reference: what is drawn in an image with another one is drawn in a copy.
        guard var image = takeCanvas(sender, number) else { return nil }
        ImageContent.draw(identity(sender, number), in: &image)
        if image.lender != nil { coverage.count(.drawnFrame) }
        return image
    }

    /// The image to draw a frame in; one of another uploader decides the frame's size.
    private func takeCanvas(_ sender: SimSender, _ number: UInt32) -> PixelBuffer? {
        if let image = foreignCanvas(sender) {
            sender.offers[Int(number) - 1].size = BufferSize(width: image.width, height: image.height)
            return image
        }
        let size = sender.offers[Int(number) - 1].size
        if let image = sender.canvas.take(), image.width == size.width, image.height == size.height { return image }
        return makeBuffer(sender, size)
    }

    /// An image that another uploader has lent: the program may mistake one for the other.
    private func foreignCanvas(_ sender: SimSender) -> PixelBuffer? {
        guard random.chance(60) else { return nil }
        for other in senders where other !== sender {
            if other.canvas?.lender != nil {
                coverage.count(.foreignBuffer)
                return other.canvas.take()
            }
            if let claim = other.keptDrawings.last?.lender as? SharedClaim, claim.isWritable {
                coverage.count(.foreignBuffer)
                return other.keptDrawings.popLast()
            }
        }
        return nil
    }

    /// The program has submitted an image: it may keep it, and get a buffer for the next one.
    func submitted(_ content: FrameContent, of sender: SimSender) {
        guard let image = content.pixels, image.lender != nil else { return }
        if random.chance(20) { sender.keptDrawings.append(image) }
        let size = BufferSize(width: image.width, height: image.height)
        if sender.plan.hoardsBuffers { hoard(sender, size) }
        guard sender.canvas == nil, random.chance(40) else { return }
        if random.chance(20) {
            // It draws the next image over this one, which the receiver may have.
            coverage.count(.redrawnImage)
            return sender.canvas = image
        }
        if random.chance(70) { return sender.canvas = makeBuffer(sender, size) }
        // Between the decision and the memory other threads may have their turns.
        guard let (lease, isNew) = lend(sender, size) else { return }
        schedule(.draw(lease, isNew: isNew, size), of: sender, after: random.time(in: 1_000...3_000_000))
        if random.chance(60) { awaitBuffer(of: sender, cancelledAfter: nil) }
    }

    /// The program takes every buffer that is free.
    private func hoard(_ sender: SimSender, _ size: BufferSize) {
        while let image = makeBuffer(sender, size), image.lender != nil {
            coverage.count(.hoardedBuffers)
            sender.keptDrawings.append(image)
        }
    }

    private func makeBuffer(_ sender: SimSender, _ size: BufferSize) -> PixelBuffer? {
        if let (lease, isNew) = lend(sender, size), let image = buffer(sender, lease, isNew, size) { return image }
        return try? PixelBuffer(width: size.width, height: size.height, format: .gray)
    }

    private func lend(_ sender: SimSender, _ size: BufferSize) -> (SharedPool.Lease, isNew: Bool)? {
        guard let count = try? PixelBuffer.byteCount(width: size.width, height: size.height, format: .gray),
            let (lease, needsNewMemory) = handle(sender, { $0.lend(size, .gray, count) }) ?? nil
        else { return nil }
        return (lease, needsNewMemory)
    }

    /// The image in a buffer that was lent.
    private func buffer(
        _ sender: SimSender,
        _ lease: SharedPool.Lease,
        _ isNew: Bool,
        _ size: BufferSize
    ) -> PixelBuffer? {
        guard let claim = claim(lease, isNew: isNew, of: sender) else {
            handle(sender) { $0.lendingFailed(lease, at: now) }
            return nil
        }
        sender.store.willDraw(in: lease)
        return try? unsafe PixelBuffer(
            in: claim.memory.bytes,
            lentBy: claim,
            width: size.width,
            height: size.height,
            format: .gray
        )
    }

    /// The memory of a buffer that was lent some time ago.
    func draw(_ lease: SharedPool.Lease, _ isNew: Bool, _ size: BufferSize, of sender: SimSender) {
        let image = buffer(sender, lease, isNew, size)
        if sender.canvas == nil { sender.canvas = image }
    }

    /// Programs release the images that they have and have not submitted.
    func releaseDrawings() {
        for sender in senders {
            sender.canvas = nil
            sender.keptDrawings.removeAll()
        }
    }

    // MARK: Copying

    /// The claim to a buffer, unless the system has no memory or no descriptor left.
    private func claim(_ lease: SharedPool.Lease, isNew: Bool, of sender: SimSender) -> SharedClaim? {
        if isNew, descriptors >= descriptorLimit || random.chance(sender.plan.failingBuffers) { return nil }
        let (outlet, index) = (outlet, sender.index)
        let claim = try? sender.store.claim(lease, isNew: isNew) { outlet.leases.append((index, $0)) }
        guard let claim else { return nil }
        sender.claims.removeAll { $0.claim == nil }
        sender.claims.append(WeakClaim(claim: claim))
        if !sharedMemory.contains(where: { $0.memory === claim.memory }) {
            sharedMemory.append(WeakMemory(memory: claim.memory))
        }
        check(
            .heldBuffersStay,
            !isHeld(claim.memory),
            "sender \(sender.index) is about to write to buffer \(lease.index), which its receiver has"
        )
        return claim
    }

    /// Copies an image to its buffer, as a job says.
    func copyToBuffer(
        _ job: EncodingJob,
        _ lease: SharedPool.Lease,
        _ content: FrameContent,
        _ identity: Content.Identity,
        _ digest: UInt64?,
        of sender: SimSender
    ) -> EncodingResult {
        // Memory may fail at any time, most of all if that says nothing about the present connection.
        let isEarlier = !(sender.uploader?.machine.sharing.pool.isCurrent(lease) ?? false)
        guard !(isEarlier && sender.racing.chance(50)), let claim = claim(lease, isNew: job.needsNewMemory, of: sender)
        else {
            coverage.count(.notShared)
            return .notShared(content)
        }
        let size = job.recipe?.output.canvas ?? BufferSize(width: 1, height: 1)
        let image = content.pixels.flatMap { pixels in
            (pixels.width, pixels.height) == (size.width, size.height) ? pixels : ImageContent.image(identity, size)
        }
        do {
            guard let image else { return .failed(TurboJPEGError(.encodeFailed, "there are no pixels")) }
            let isWhole = content.pixels.map { $0.width == size.width && $0.height == size.height } ?? false
            let filled = try sender.store.fill(claim, with: image, damagedRows(of: job, isWhole: isWhole))
            coverage.count(.copiedFrame)
            return .shared(filled, Self.orientation(of: job), digest: digest)
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
