internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// Frames in shared memory: the same frames, uploads and rules, but images are copied to a buffer instead of encoded, or
/// were drawn in one.
extension UploaderMachine {
    // MARK: The receiver

    /// Begins or ends sharing, as the receiver's terms and the configuration say.
    mutating func share(after old: ReceiverTerms, at now: UInt64) {
        // A receiver that declines skips what is on its way.
        if terms.connection == old.connection, sharing.isLatestShared, old.acceptsSharedMemory,
            !terms.acceptsSharedMemory
        {
            slots.oweLatest()
        }
        if sharing.follow(terms, after: old, configuration.sharing, at: now) { leaveBuffers() }
    }

    /// Images in shared buffers are from now on like others, and counted as such.
    private mutating func leaveBuffers() {
        effects.dropsBuffersBefore = sharing.pool.firstLease
        slots.waiting?.leaveBuffer()
        slots.deferral?.frame.leaveBuffer()
        slots.sent?.leaveBuffer()
    }

    /// Handles a lack of memory, or of descriptors, to share, or another uploader that does: the frame is encoded, and so
    /// are the following ones until the next connection.
    mutating func stopSharing(for upload: FrameSlots.Upload) {
        var upload = upload
        sharing.refuse()
        leaveBuffers()
        upload.frame.leaveBuffer()
        returnToQueue(upload)
    }

    /// Handles the refusal of the submitted message, because another uploader shares memory on the connection.
    package mutating func sharingRefused(at now: UInt64) {
        guard case .sending(var upload) = slots.activity else { return }
        slots.activity = .idle
        settleBuffer(of: &upload, isSent: false)
        damageLog.takeBack()
        if upload.connection == terms.connection {
            stopSharing(for: upload)
        } else {
            fail(upload, .notConnected, at: now)
        }
        advance(at: now)
    }

    /// Handles the last reference to an image in a shared buffer.
    package mutating func leaseEnded(_ lease: SharedPool.Lease, at now: UInt64) {
        sharing.pool.ended(lease)
        advance(at: now)
    }

    // MARK: The program

    /// Returns a buffer for the program to draw in; nil if none is free, and whether it needs new memory.
    ///
    /// Buffers leave enough memory to encode an image of the same size, for whatever cannot be sent in a buffer.
    package mutating func lend(
        _ size: BufferSize,
        _ format: PixelFormat,
        _ byteCount: Int
    ) -> (lease: SharedPool.Lease, needsNewMemory: Bool)? {
        guard sharing.pool.isOpen, SharedFrameHeader.Buffer.byteCounts.contains(byteCount),
            let index = sharing.pool.freeIndex(for: byteCount)
        else { return nil }
        let growth = sharing.pool.growth(of: index, for: byteCount)
        if growth > 0, memoryLimit < .max {
            let need = EncodingRecipe.Settings(configuration).need(of: size, format)
            guard makeRoom(toGrow: growth, beside: need) else { return nil }
        }
        let lease = sharing.pool.lease(index, byteCount: byteCount)
        return (lease, !sharing.pool.isAnnounced(lease))
    }

    /// Handles a lack of memory for a buffer that was to be lent.
    package mutating func lendingFailed(_ lease: SharedPool.Lease, at now: UInt64) {
        sharing.pool.failed(lease)
        advance(at: now)
    }

    /// Waits until ``lend(_:_:_:)`` has a buffer; ``Effects/finished`` contains `id` when it has, or when waiting is
    /// futile.
    package mutating func awaitBuffer(_ id: UInt64, at now: UInt64) {
        sharing.waiters.append(id)
        advance(at: now)
    }

    /// Whether no buffer is free, and the receiver, or a frame in progress, is expected to free one.
    package func expectsBuffer(at now: UInt64) -> Bool {
        if barrier == nil, sharing.greetingTime(terms, at: now) != nil { return true }
        guard sharing.pool.isOpen, !sharing.pool.hasFree else { return false }
        return sharing.pool.isAnyWithReceiver || slots.pendingCount > 0
    }

    mutating func settleBufferWaiters(at now: UInt64) {
        let isInVain = sharing.hasWaited(at: now)
        guard isInVain || !expectsBuffer(at: now) else { return }
        effects.finished += sharing.takeWaiters(isInVain: isInVain)
    }

    // MARK: Waiting for a buffer

    /// Releases the frame sent last if the next one needs its buffer, and limits the wait for a free buffer.
    mutating func manageBuffers(at now: UInt64) {
        let isFrameWaiting = isFrameWaitingForBuffer(at: now)
        if isFrameWaiting, slots.waiting != nil || slots.deferral != nil, let lease = slots.sent?.lease,
            sharing.pool.canSend(lease), let frame = slots.sent.take()
        {
            discard(frame)
        }
        let isCallerWaiting = !sharing.waiters.isEmpty && sharing.pool.isOpen && expectsBuffer(at: now)
        sharing.wait(isFrameWaiting || isCallerWaiting, at: now)
    }

    /// Whether a frame is due, no other is in progress, and every shared buffer is in use.
    package mutating func isFrameWaitingForBuffer(at now: UInt64) -> Bool {
        switch slots.activity {
        case .encoding, .sending: false
        // An upload that has been requested is still to decide.
        case .idle, .starting: sharing.pool.isOpen && nextNeedsBuffer() && barrier == nil && candidate(at: now) != nil
        }
    }

    /// Whether the next frame has to wait until a shared buffer is free.
    mutating func awaitsBuffer(at now: UInt64) -> Bool { nextNeedsBuffer() && !sharing.hasWaited(at: now) }

    /// Whether no shared buffer is free, and the next frame needs one.
    private mutating func nextNeedsBuffer() -> Bool {
        guard !sharing.pool.hasFree, let frame = slots.next, frame.hasPixels else { return false }
        guard let claim = (frame.bufferedImage ?? drawn(in: frame))?.claim else {
            // An image may be too large for any buffer.
            return frame.recipe.map { $0.sharedByteCount != nil } ?? true
        }
        return !sharing.pool.canSend(claim.lease)
    }

    // MARK: Uploads

    /// Sends the frame that was just accepted if it was drawn in a shared buffer.
    ///
    /// All that remains is to write a header, for which no other thread has to be woken.
    mutating func sendDrawn(at now: UInt64) {
        guard case .idle = slots.activity, let frame = slots.waiting, let lease = drawn(in: frame)?.claim.lease,
            sharing.pool.canSend(lease), case .waiting? = nextSource(at: now)
        else { return }
        // The frame needs no job. If it should have lost its buffer to the memory limit just now, it goes to the queue:
        // a job that nobody does would block the uploader.
        guard let content = beginWaiting(at: now)?.content, case .encoding(var upload) = slots.activity else { return }
        slots.activity = .idle
        if let lease = upload.lease { sharing.pool.ended(lease) }
        damageLog.takeBack()
        upload.frame.putBack(content)
        returnToQueue(upload)
    }

    /// Returns the image of a frame that the program drew in a shared buffer, if it is sent as it is.
    private func drawn(in frame: borrowing UploadFrame) -> BufferedImage? {
        guard case .pixels(let pixels) = frame.content, frame.recipe?.output.isIdentity ?? true,
            frame.recipe?.appliesOrientation != true
        else { return nil }
        return BufferedImage(drawn: pixels, frame.orientation)
    }

    /// Recognizes an image that the program drew in a shared buffer.
    mutating func moveToBuffer(_ frame: inout UploadFrame) {
        guard sharing.pool.isOpen, let image = drawn(in: frame), sharing.pool.isCurrent(image.claim.lease) else {
            return
        }
        frame.recognize(image)
    }

    /// Returns a free buffer to copy a frame to; nil if there is none, or no memory for it.
    mutating func buffer(for frame: borrowing UploadFrame) -> (index: Int, byteCount: Int)? {
        guard let size = frame.recipe?.sharedByteCount, let index = sharing.pool.freeIndex(for: size) else {
            return nil
        }
        let growth = sharing.pool.growth(of: index, for: size)
        guard memoryLimit == .max || makeRoom(toGrow: growth, beside: frame.totalByteCount) else { return nil }
        return (index, size)
    }

    /// Returns whether a shared buffer can grow beside what is held and what a frame needs, giving up images if necessary.
    private mutating func makeRoom(toGrow growth: Int, beside need: Int) -> Bool {
        if growth > memoryLimit - need - heldBytes { giveUpImages() }
        return growth <= memoryLimit - need - heldBytes
    }

    /// Handles an image that was copied to its shared buffer.
    mutating func takeCopied(
        _ image: consuming BufferedImage,
        _ orientation: FrameOrientation,
        of upload: consuming FrameSlots.Upload,
        at now: UInt64
    ) {
        image.orientation = orientation
        guard sharing.pool.isCurrent(image.claim.lease) else {
            // The connection has ended meanwhile, or the receiver has declined.
            upload.frame.become(image)
            upload.frame.leaveBuffer()
            return returnToQueue(upload)
        }
        sharing.copied(&image)
        upload.frame.become(image)
        upload.byteCount = upload.frame.byteCount - upload.frame.spareByteCount
        submitPrepared(upload, at: now)
    }

    /// Records the outcome of a frame for its shared buffer, and for the changed rows of the next frame.
    mutating func settleBuffer(of upload: inout FrameSlots.Upload, isSent: Bool) {
        guard var image = upload.frame.bufferedImage else { return }
        sharing.pool.settled(image.claim.lease, isSent: isSent)
        guard sharing.pool.isCurrent(image.claim.lease) else { return upload.frame.leaveBuffer() }
        guard isSent else { return }
        sharing.sent(&image)
        upload.frame.recognize(image)
    }
}
