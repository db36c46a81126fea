internal import FrameWire
internal import TurboJPEG

/// The memory that frames take.
extension UploaderMachine {
    /// The bytes of every frame held, including the most that the one in progress may take.
    package var heldBytes: Int {
        turnBytes + (waiting?.byteCount ?? 0) + (deferral?.frame.byteCount ?? 0) + (sentFrame?.byteCount ?? 0)
            + pool.byteCount
    }

    /// The maximum number of bytes to hold besides the shared buffers.
    @inline(__always)
    var frameLimit: Int { pool.isOpen ? memoryLimit - pool.byteCount : memoryLimit }

    @inline(__always)
    var turnBytes: Int {
        switch activity {
        case .idle, .starting: 0
        case .encoding(let upload), .sending(let upload): upload.byteCount
        }
    }

    /// Gives a frame the plan for the configuration in effect.
    ///
    /// If what the receiver prefers would take too much memory, the program's own configuration applies.
    mutating func makePlan(for frame: inout UploadFrame) {
        guard let content = frame.content else { return }
        // The shared buffers may have taken memory since a plan was made, or returned it.
        if let plan = frame.plan, isCurrent(plan) { return }
        if let lastPlan, isCurrent(lastPlan), lastPlan.applies(to: content, frame.orientation) {
            frame.plan = lastPlan
            return
        }
        frame.plan = plan(content, frame.orientation, configuration)
        if frame.totalByteCount > frameLimit,
            reclaimBuffersForPreferredSize(frame.byteCount, total: frame.totalByteCount)
        {
            frame.plan = plan(content, frame.orientation, configuration)
        }
        if frame.totalByteCount > frameLimit, isPreferenceInEffect {
            frame.plan = plan(content, frame.orientation, ownConfiguration)
            refusePreferences()
        }
        if frame.plan?.shape != nil { lastPlan = frame.plan }
    }

    @inline(__always)
    private func isCurrent(_ plan: EncodingPlan) -> Bool {
        plan.isCurrent(configuration, edition: edition, limit: frameLimit)
    }

    /// Returns the plan for copying a submitted image at the size that is sent.
    ///
    /// As with every frame, what the receiver prefers applies only if there is memory for it.
    mutating func scaling(
        of image: borrowing PixelBuffer,
        color: VideoColor = .jpeg,
        orientation: FrameOrientation
    ) -> CopyPlan {
        func plan(_ settings: Configuration) -> CopyPlan {
            CopyPlan(image, orientation, .init(settings), color: color, isShared: pool.isOpen, limit: frameLimit)
        }
        var preferred = plan(configuration)
        if preferred.byteCount > frameLimit, reclaimBuffersForPreferredSize(0, total: preferred.byteCount) {
            preferred = plan(configuration)
        }
        guard preferred.byteCount > frameLimit, isPreferenceInEffect else { return preferred }
        refusePreferences()
        return plan(ownConfiguration)
    }

    /// Whether the receiver's preferences change how images are encoded, and not only how often.
    private var isPreferenceInEffect: Bool {
        EncodingPlan.Settings(configuration) != EncodingPlan.Settings(ownConfiguration)
    }

    /// Releases the memory of shared buffers for a frame of the size that the receiver prefers.
    ///
    /// A preferred quality is not worth it: shared images have none.
    ///
    /// - Parameters:
    ///   - byteCount: The bytes that the frame takes while it waits.
    ///   - total: The bytes that it takes while it is encoded.
    /// - Returns: Whether the memory limit leaves more room for frames than before.
    private mutating func reclaimBuffersForPreferredSize(_ byteCount: Int, total: Int) -> Bool {
        guard terms.preferences.size != nil, total <= frameLimit + reclaimableBytes else { return false }
        let limit = frameLimit
        reclaimBuffers(for: byteCount, total: total)
        return frameLimit > limit
    }

    /// The bytes of shared buffers that neither the receiver nor the program has.
    private var reclaimableBytes: Int {
        guard pool.isOpen else { return 0 }
        let leases = [sentFrame?.lease, deferral?.frame.lease, waiting?.lease].compactMap(\.self)
        return pool.freeByteCount + leases.filter { pool.canSend($0) }.reduce(0) { $0 + $1.byteCount }
    }

    /// Tells the receiver, once, that there is no memory for what it prefers.
    private mutating func refusePreferences() {
        guard !hasRefusedPreferences else { return }
        hasRefusedPreferences = true
        effects.refusesPreferencesOf = terms.connection
    }

    @inline(__always)
    private func plan(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ configuration: Configuration
    ) -> EncodingPlan? {
        EncodingPlan(content, orientation, .init(configuration), edition: edition, limit: frameLimit)
    }

    /// Returns whether a frame can be encoded within the limit, and can wait beside the one in progress.
    @inline(__always)
    func hasRoom(for frame: borrowing UploadFrame) -> Bool {
        hasRoom(for: frame.byteCount, total: frame.totalByteCount)
    }

    @inline(__always)
    private func hasRoom(for byteCount: Int, total: Int) -> Bool {
        total <= frameLimit && byteCount <= frameLimit - turnBytes
    }

    /// Returns whether `byteCount` bytes can be kept while an older frame waits, and while that frame is encoded.
    @inline(__always)
    func fitsBesideWaiting(_ byteCount: Int) -> Bool {
        guard let waiting else { return true }
        return byteCount <= frameLimit - max(turnBytes + waiting.byteCount, waiting.totalByteCount)
    }

    /// Releases the memory of shared buffers if a frame would not fit beside it: first of free buffers, then of those
    /// with older frames.
    @inline(__always)
    mutating func reclaimBuffers(for frame: borrowing UploadFrame) {
        reclaimBuffers(for: frame.byteCount, total: frame.totalByteCount)
    }

    @inline(__always)
    private mutating func reclaimBuffers(for byteCount: Int, total: Int) {
        guard pool.isOpen, pool.byteCount > 0, !hasRoom(for: byteCount, total: total) else { return }
        effects.reclaimed += pool.reclaim()
        guard !hasRoom(for: byteCount, total: total) else { return }
        if let lease = sentFrame?.lease, abandonBuffer(of: lease) { sentFrame?.leaveBuffer() }
        if let lease = deferral?.frame.lease, abandonBuffer(of: lease) { deferral?.frame.leaveBuffer() }
        if let lease = waiting?.lease, abandonBuffer(of: lease) { waiting?.leaveBuffer() }
    }

    private mutating func abandonBuffer(of lease: SharedPool.Lease) -> Bool {
        guard pool.canSend(lease) else { return false }
        effects.reclaimed.append(pool.abandon(lease))
        return true
    }

    /// Releases the sent frame if `byteCount` bytes would otherwise not fit beside the frame in progress.
    mutating func makeRoom(for byteCount: Int) {
        guard let sent = sentFrame?.byteCount, byteCount > frameLimit - turnBytes - sent else { return }
        if let frame = sentFrame.take() { discard(frame) }
    }
}
