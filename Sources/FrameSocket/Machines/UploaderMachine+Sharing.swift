internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// Frames in shared memory: the same frames, uploads and rules, but images are copied to a buffer instead of encoded, or
/// were drawn in one.
extension UploaderMachine {
    /// How a frame is uploaded.
    enum Route: Sendable, Hashable {
        case encode
        /// It is copied to this shared buffer, of this size.
        case share(index: Int, byteCount: Int)
        /// It is in a shared buffer that the receiver does not have, and is sent as it is.
        case asItIs
    }

    // MARK: The receiver

    /// Begins or ends sharing, as the receiver's terms and the configuration say, and takes back what was released.
    mutating func share(after old: ReceiverTerms, at now: UInt64) {
        let isNew = terms.connection != old.connection
        let mayShare = terms.isConnected && terms.acceptsSharedMemory && terms.connection != unsharedConnection
        let count = mayShare ? configuration.sharing.bufferCount : 0
        if isNew {
            // If memory cannot be shared, a hello changes nothing.
            let isWorthWaiting = terms.isConnected && terms.mayShareMemory && configuration.sharing != .off
            greetingEnd = isWorthWaiting ? now.addingClamping(Self.greetingTime) : nil
        }
        // A receiver that declines skips what is on its way.
        if !isNew, isLatestShared, old.acceptsSharedMemory, !terms.acceptsSharedMemory { oweLatest() }
        if isNew {
            pool.connect()
            (bufferWaitEnd, bufferPatience) = (nil, .max)
        }
        if isNew || count != pool.count {
            if pool.isOpen { endSharing() }
            if count > 0 { pool.open(count: count) }
            unsentRows = nil
        }
        guard !isNew, terms.releases != old.releases else { return }
        for index in SharedFrameHeader.Buffer.indices where terms.releases[index] != old.releases[index] {
            pool.released(index)
        }
    }

    /// Ends sharing on this connection: images in shared buffers are from now on like others, and counted as such.
    private mutating func endSharing() {
        pool.close()
        effects.dropsBuffersBefore = pool.firstLease
        waiting?.leaveBuffer()
        deferral?.frame.leaveBuffer()
        sentFrame?.leaveBuffer()
    }

    /// Handles a lack of memory, or of descriptors, to share, or another uploader that does: the frame is encoded, and so
    /// are the following ones until the next connection.
    mutating func stopSharing(for upload: Upload) {
        var upload = upload
        unsharedConnection = terms.connection
        endSharing()
        upload.frame.leaveBuffer()
        returnToQueue(upload)
    }

    /// Handles the refusal of the submitted message, because another uploader shares memory on the connection.
    package mutating func sharingRefused(at now: UInt64) {
        guard case .sending(var upload) = activity else { return }
        activity = .idle
        settleBuffer(of: &upload, isSent: false)
        if upload.connection == terms.connection {
            stopSharing(for: upload)
        } else {
            fail(upload, .notConnected, at: now)
        }
        advance(at: now)
    }

    /// Makes a frame whose upload led to nothing the next one again, unless a newer one waits.
    mutating func returnToQueue(_ upload: Upload) {
        if upload.isRepeat {
            isOwed = true
            keepSent(upload.frame)
        } else if let barrier {
            keep(upload.frame, barrier)
        } else if waiting == nil {
            waiting = upload.frame
        } else {
            statistics.drop(.superseded)
            discard(upload.frame)
        }
    }

    /// Handles the last reference to an image in a shared buffer.
    package mutating func leaseEnded(_ lease: SharedPool.Lease, at now: UInt64) {
        pool.ended(lease)
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
        guard pool.isOpen, SharedFrameHeader.Buffer.byteCounts.contains(byteCount),
            let index = pool.freeIndex(for: byteCount)
        else { return nil }
        let growth = pool.growth(of: index, for: byteCount)
        if growth > 0, memoryLimit < .max {
            let need = EncodingPlan.Settings(configuration).need(of: size, format)
            guard growth <= memoryLimit - heldBytes - need else { return nil }
        }
        let lease = pool.lease(index, byteCount: byteCount)
        return (lease, !pool.isAnnounced(lease))
    }

    /// Handles a lack of memory for a buffer that was to be lent.
    package mutating func lendingFailed(_ lease: SharedPool.Lease, at now: UInt64) {
        pool.failed(lease)
        advance(at: now)
    }

    /// Waits until ``lend(_:_:_:)`` has a buffer; ``Effects/finished`` contains `id` when it has, or when waiting is
    /// futile.
    package mutating func awaitBuffer(_ id: UInt64, at now: UInt64) {
        bufferWaiters.append(id)
        advance(at: now)
    }

    /// Whether no buffer is free, and the receiver, or a frame in progress, is expected to free one.
    package func expectsBuffer(at now: UInt64) -> Bool {
        if barrier == nil, greetingTime(at: now) != nil { return true }
        guard pool.isOpen, !pool.hasFree else { return false }
        return pool.isAnyWithReceiver || pendingCount > 0
    }

    mutating func settleBufferWaiters(at now: UInt64) {
        guard !bufferWaiters.isEmpty else { return }
        let isInVain = hasWaitedForBuffer(at: now)
        guard isInVain || !expectsBuffer(at: now) else { return }
        if isInVain { bufferPatience = Self.shortestBufferWait }
        effects.finished += bufferWaiters
        bufferWaiters = []
    }

    // MARK: Uploads

    /// Sends the frame that was just accepted if it was drawn in a shared buffer.
    ///
    /// All that remains is to write a header, for which no other thread has to be woken.
    mutating func sendDrawn(at now: UInt64) {
        guard case .idle = activity, let frame = waiting, let lease = drawn(in: frame)?.claim.lease,
            pool.canSend(lease), case .waiting? = nextSource(at: now)
        else { return }
        // The frame needs no job. If it should have lost its buffer to the memory limit just now, it goes to the queue:
        // a job that nobody does would block the uploader.
        guard let content = beginWaiting(at: now)?.content, case .encoding(var upload) = activity else { return }
        activity = .idle
        if let lease = upload.lease { pool.ended(lease) }
        upload.frame.putBack(content)
        returnToQueue(upload)
    }

    /// The time that a new receiver has for its hello before it gets JPEGs, as a receiver without a hello does.
    private static let greetingTime: UInt64 = 500_000_000

    /// The time until which frames wait for the receiver's hello; nil if they do not.
    func greetingTime(at now: UInt64) -> UInt64? {
        guard let greetingEnd, now < greetingEnd, !terms.isGreeted else { return nil }
        return greetingEnd
    }

    /// The lease of the frame sent last, if it is in a shared buffer.
    package var sentLease: SharedPool.Lease? { sentFrame?.lease }

    /// Releases the frame sent last if the next one needs its buffer, and limits the wait for a free buffer.
    mutating func manageBuffers(at now: UInt64) {
        let isFrameWaiting = isFrameWaitingForBuffer(at: now)
        if isFrameWaiting, waiting != nil || deferral != nil, let lease = sentFrame?.lease,
            pool.canSend(lease), let frame = sentFrame.take()
        {
            discard(frame)
        }
        if isFrameWaiting || (!bufferWaiters.isEmpty && pool.isOpen && expectsBuffer(at: now)) {
            bufferWaitEnd = min(bufferWaitEnd ?? .max, now.addingClamping(bufferWait))
        } else if bufferWaitEnd != nil {
            bufferWaitEnd = nil
            if pool.hasFree { bufferPatience = bufferPatience.multipliedClamping(by: 2) }
        }
    }

    /// Whether a frame is due, no other is in progress, and every shared buffer is in use.
    package func isFrameWaitingForBuffer(at now: UInt64) -> Bool {
        switch activity {
        case .encoding, .sending: false
        // An upload that has been requested is still to decide.
        case .idle, .starting: pool.isOpen && nextNeedsBuffer && barrier == nil && candidate(at: now) != nil
        }
    }

    /// The time to wait for a free shared buffer: little if the receiver has none to release.
    private var bufferWait: UInt64 {
        pool.isAnyWithReceiver ? min(bufferPatience, longestBufferWait) : Self.shortestBufferWait
    }

    /// The time that a frame waits for a buffer after another frame has waited without success.
    static let shortestBufferWait: UInt64 = 20_000_000

    /// Whether the wait for a free shared buffer is over, and none is free.
    func hasWaitedForBuffer(at now: UInt64) -> Bool { bufferWaitEnd.map { $0 <= now } ?? false }

    /// Whether the next frame has to wait until a shared buffer is free.
    func awaitsBuffer(at now: UInt64) -> Bool { nextNeedsBuffer && !hasWaitedForBuffer(at: now) }

    /// The ticket of the frame that is next to need a shared buffer, if there is one.
    package var nextTicket: UInt64? { waiting?.ticket ?? deferral?.frame.ticket ?? sentFrame?.ticket }

    /// Whether no shared buffer is free, and the next frame needs one.
    private var nextNeedsBuffer: Bool {
        let frame = waiting ?? deferral?.frame ?? sentFrame
        guard let frame, frame.content?.pixels != nil, !pool.hasFree else { return false }
        guard let claim = (frame.bufferedImage ?? drawn(in: frame))?.claim else {
            // An image may be too large for any buffer.
            return frame.plan.map { $0.sharedByteCount != nil } ?? true
        }
        return !pool.canSend(claim.lease)
    }

    /// Returns the image of a frame that the program drew in a shared buffer, if it is sent as it is.
    private func drawn(in frame: borrowing UploadFrame) -> BufferedImage? {
        guard case .pixels(let pixels) = frame.content, frame.plan?.output.isIdentity ?? true,
            frame.plan?.isTurning != true
        else { return nil }
        return BufferedImage(drawn: pixels)
    }

    /// Recognizes an image that the program drew in a shared buffer.
    mutating func moveToBuffer(_ frame: inout UploadFrame) {
        guard pool.isOpen, let image = drawn(in: frame), pool.isCurrent(image.claim.lease) else { return }
        frame.recognize(image)
    }

    /// Returns how to upload a frame whose plan has been made.
    func route(of frame: borrowing UploadFrame) -> Route {
        guard pool.isOpen else { return .encode }
        if let lease = frame.bufferedImage?.claim.lease, pool.canSend(lease) { return .asItIs }
        guard let size = frame.plan?.sharedByteCount, let index = pool.freeIndex(for: size),
            pool.growth(of: index, for: size) <= memoryLimit - heldBytes - frame.totalByteCount
        else { return .encode }
        return .share(index: index, byteCount: size)
    }

    /// Handles an image that was copied to its shared buffer.
    mutating func takeCopied(
        _ image: consuming BufferedImage,
        _ orientation: FrameOrientation,
        of upload: consuming Upload,
        _ digest: UInt64?,
        at now: UInt64
    ) {
        upload.frame.orientation = orientation
        if let digest { upload.frame.digest = digest }
        guard pool.isCurrent(image.claim.lease) else {
            // The connection has ended meanwhile, or the receiver has declined.
            upload.frame.become(.scaled(image.pixels))
            return returnToQueue(upload)
        }
        defer { sharedOrientation = orientation }
        if let unsentRows, let rows = image.changedRows, orientation == sharedOrientation {
            image.changedRows = rows.joined(with: unsentRows)
        } else {
            image.changedRows = nil
        }
        unsentRows = image.changedRows
        upload.frame.become(.shared(image))
        upload.byteCount = upload.frame.byteCount
        submitEncoded(upload, at: now)
    }

    /// Records the outcome of a frame for its shared buffer, and for the changed rows of the next frame.
    mutating func settleBuffer(of upload: inout Upload, isSent: Bool) {
        guard var image = upload.frame.bufferedImage else { return }
        pool.settled(image.claim.lease, isSent: isSent)
        guard pool.isCurrent(image.claim.lease) else { return upload.frame.leaveBuffer() }
        guard isSent else { return }
        switch image.origin {
        case .copied: unsentRows = 0..<0
        // The next image is compared with the one copied last, which the receiver does not have.
        case .drawn: unsentRows = nil
        case .sent: break
        }
        (image.origin, image.changedRows) = (.sent, 0..<0)
        upload.frame.recognize(image)
    }
}

extension Range<Int> {
    /// Returns the smallest range that contains both; an empty one adds nothing.
    fileprivate func joined(with other: Range<Int>) -> Range<Int> {
        if isEmpty { return other }
        guard !other.isEmpty else { return self }
        return Swift.min(lowerBound, other.lowerBound)..<Swift.max(upperBound, other.upperBound)
    }
}

extension UploadFrame {
    /// Treats the image in a shared buffer as one in ordinary memory.
    mutating func leaveBuffer() {
        if let image = bufferedImage { become(.scaled(image.pixels)) }
    }

    /// The lease of the buffer that the image is in, if it is in one.
    var lease: SharedPool.Lease? {
        if let image = bufferedImage { return image.claim.lease }
        guard case .pixels(let pixels) = content else { return nil }
        return (pixels.lender as? SharedClaim)?.lease
    }
}
