internal import FrameTransport

/// Frames in shared memory: the same frames, uploads and rules, but images are copied to a buffer instead of encoded.
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
        if sharing.follow(terms, after: old, isAllowed: configuration.sharesMemory, at: now) { dropBuffers() }
    }

    private mutating func dropBuffers() { effects.dropsBuffersBefore = sharing.pool.generation }

    /// Handles a lack of memory, or of descriptors, to share, or another uploader that does: the frame is encoded, and so
    /// are the following ones until the next connection.
    mutating func stopSharing(for upload: consuming FrameSlots.Upload) {
        sharing.refuse()
        dropBuffers()
        returnToQueue(upload)
    }

    /// Handles the refusal of the submitted message, because another uploader shares memory on the connection.
    package mutating func sharingRefused(at now: UInt64) {
        guard case .sending(let upload) = slots.activity else { return }
        slots.activity = .idle
        if let copy = upload.copy { sharing.settled(copy, isSent: false) }
        if upload.connection == terms.connection {
            stopSharing(for: upload)
        } else {
            fail(upload, .notConnected, at: now)
        }
        advance(at: now)
    }

    // MARK: Waiting for a buffer

    /// Whether a frame is due, no other is in progress, and the receiver has every shared buffer.
    package mutating func isFrameWaitingForBuffer(at now: UInt64) -> Bool {
        switch slots.activity {
        case .encoding, .sending: false
        // An upload that has been requested is still to decide.
        case .idle, .starting: nextNeedsBuffer() && barrier == nil && candidate(at: now) != nil
        }
    }

    /// Whether the next frame has to wait until a shared buffer is free.
    mutating func awaitsBuffer(at now: UInt64) -> Bool {
        sharing.pool.isOpen && nextNeedsBuffer() && !sharing.hasWaited(at: now)
    }

    /// Whether no shared buffer is free, and the next frame needs one.
    private mutating func nextNeedsBuffer() -> Bool {
        guard sharing.pool.isOpen, !sharing.pool.hasFree, !sharing.hasGivenUp, let frame = slots.next, frame.hasPixels
        else { return false }
        // An image may be too large for any buffer.
        return frame.recipe.map { $0.sharedByteCount != nil } ?? true
    }

    // MARK: Uploads

    /// Handles an image that was copied to its shared buffer.
    mutating func takeCopied(_ copy: consuming SharedCopy, of upload: consuming FrameSlots.Upload, at now: UInt64) {
        // The connection may have ended meanwhile, or the receiver has declined.
        guard sharing.pool.isCurrent(copy.place) else { return returnToQueue(upload) }
        sharing.copied(&copy)
        upload.frame.becomeShared()
        upload.copy = copy
        submitPrepared(upload, at: now)
    }
}
