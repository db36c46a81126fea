internal import FrameWire
internal import TurboJPEG

/// The memory that frames take, and the recipes that it allows.
///
/// What may be allocated is known beforehand: a recipe's ``MemoryNeed`` is the worst case, so that nothing has to be given
/// up while a frame is being encoded. The image that is kept behind a JPEG is spare: it is given up for anything newer,
/// and never stands in the way.
extension UploaderMachine {
    /// The bytes of the shared buffers and every frame held, including the most that the one in progress may take.
    package var heldBytes: Int { sharing.pool.byteCount + slots.inProgressByteCount.needed + keptBytes }

    /// The bytes of what a lower limit makes the machine give up, besides free buffers.
    package var keptBytes: Int {
        slots.inProgressByteCount.spare + (slots.waiting?.byteCount ?? 0) + (slots.deferral?.frame.byteCount ?? 0)
            + (slots.sent?.byteCount ?? 0)
    }

    /// The maximum number of bytes to hold besides the shared buffers.
    @inline(__always)
    var frameLimit: Int { sharing.pool.isOpen ? memoryLimit - sharing.pool.byteCount : memoryLimit }

    // MARK: Recipes

    /// Gives a frame the recipe for the configuration in effect.
    ///
    /// If what the receiver prefers would take too much memory, the program's own configuration applies.
    mutating func makeRecipe(for frame: inout UploadFrame) {
        guard let content = frame.content else { return }
        // The shared buffers may have taken memory since a recipe was made, or returned it.
        if let recipe = frame.recipe, isCurrent(recipe) { return }
        let orientation = frame.orientation
        if let lastRecipe, isCurrent(lastRecipe), lastRecipe.applies(to: content, orientation) {
            frame.recipe = lastRecipe
            return
        }
        frame.recipe = recipe(content, orientation, configuration)
        if frame.totalByteCount > frameLimit,
            reclaimBuffersForPreferredSize(frame.byteCount, total: frame.totalByteCount)
        {
            frame.recipe = recipe(content, orientation, configuration)
        }
        if frame.totalByteCount > frameLimit, isPreferenceInEffect {
            frame.recipe = recipe(content, orientation, ownConfiguration)
            refusePreferences()
        }
        if frame.recipe?.input != nil { lastRecipe = frame.recipe }
    }

    @inline(__always)
    private func isCurrent(_ recipe: EncodingRecipe) -> Bool {
        recipe.isCurrent(configuration, edition: edition, limit: frameLimit)
    }

    @inline(__always)
    private func recipe(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ configuration: Configuration
    ) -> EncodingRecipe? {
        EncodingRecipe(content, orientation, .init(configuration), edition: edition, limit: frameLimit)
    }

    /// Returns the recipe for copying a submitted image at the size that is sent.
    ///
    /// As with every frame, what the receiver prefers applies only if there is memory for it.
    mutating func copying(
        _ image: borrowing PixelBuffer,
        color: PixelBuffer.Color = .jpeg,
        orientation: FrameOrientation
    ) -> EncodingRecipe {
        let (isShared, limit) = (sharing.pool.isOpen, frameLimit)
        func recipe(_ settings: Configuration, _ limit: Int) -> EncodingRecipe {
            .init(copying: image, orientation, .init(settings), color: color, isShared: isShared, limit: limit)
        }
        var preferred = recipe(configuration, limit)
        if preferred.need.total > frameLimit, reclaimBuffersForPreferredSize(0, total: preferred.need.total) {
            preferred = recipe(configuration, frameLimit)
        }
        guard preferred.need.total > frameLimit, isPreferenceInEffect else { return preferred }
        refusePreferences()
        return recipe(ownConfiguration, frameLimit)
    }

    /// Whether the receiver's preferences change how images are encoded, and not only how often.
    private var isPreferenceInEffect: Bool {
        EncodingRecipe.Settings(configuration) != EncodingRecipe.Settings(ownConfiguration)
    }

    /// Tells the receiver, once, that there is no memory for what it prefers.
    private mutating func refusePreferences() {
        guard !hasRefusedPreferences else { return }
        hasRefusedPreferences = true
        effects.refusesPreferencesOf = terms.connection
    }

    // MARK: Room

    /// Returns whether a frame can be encoded within the limit, and can wait beside the one in progress.
    @inline(__always)
    func hasRoom(for frame: borrowing UploadFrame) -> Bool {
        hasRoom(for: frame.byteCount, total: frame.totalByteCount)
    }

    @inline(__always)
    private func hasRoom(for byteCount: Int, total: Int) -> Bool {
        memoryLimit == .max
            || (total <= frameLimit && byteCount <= frameLimit - slots.inProgressByteCount.needed)
    }

    /// Returns whether `byteCount` bytes can be kept while an older frame waits, and while that frame is encoded.
    @inline(__always)
    func fitsBesideWaiting(_ byteCount: Int) -> Bool {
        guard memoryLimit < .max, let waiting = slots.waiting else { return true }
        let others = max(slots.inProgressByteCount.needed + waiting.byteCount, waiting.totalByteCount)
        return byteCount <= frameLimit - others
    }

    /// Returns whether the image of a frame can be kept beside everything else, and is in none of the shared buffers.
    func isRoomToAdopt(_ frame: borrowing UploadFrame) -> Bool {
        frame.lease == nil && (memoryLimit == .max || frame.byteCount <= memoryLimit - heldBytes)
    }

    /// Releases what is kept of the sent frame if `byteCount` bytes would otherwise not fit beside the frame in progress:
    /// first its image, then its JPEG.
    mutating func makeRoom(for byteCount: Int) {
        guard memoryLimit < .max, slots.sent != nil else { return }
        let (needed, spareInProgress) = slots.inProgressByteCount
        let (kept, spare) = (slots.sent?.byteCount ?? 0, slots.sent?.spareByteCount ?? 0)
        let room = frameLimit - needed - spareInProgress - kept
        guard byteCount > room else { return }
        if spare > 0, byteCount <= room + spare {
            effects.discarded.add(slots.sent?.takeSpare())
        } else if let frame = slots.sent.take() {
            discard(frame)
        }
    }

    /// Returns whether a frame can be encoded beside what is kept, releasing the sent frame if necessary.
    mutating func makeRoom(toEncode byteCount: Int) -> Bool {
        guard memoryLimit < .max else { return true }
        let others = slots.deferral?.frame.byteCount ?? 0
        makeRoom(for: byteCount + others)
        return byteCount <= frameLimit - others
    }

    /// Gives up what exceeds a limit that the program has lowered, the oldest first.
    ///
    /// The frame in progress is completed, and shared buffers that the receiver or the program has are theirs.
    mutating func fitIntoMemory() {
        guard heldBytes > memoryLimit else { return }
        giveUpImages()
        guard heldBytes > memoryLimit else { return }
        effects.reclaimed += sharing.pool.reclaim()
        guard heldBytes > memoryLimit else { return }
        if let frame = slots.sent.take() { discard(frame) }
        guard heldBytes > memoryLimit else { return }
        if let frame = slots.waiting.take() { reject(frame, .overMemoryBudget, isRepeat: false) }
        guard heldBytes > memoryLimit, let deferral = slots.deferral.take() else { return }
        statistics.takeBack(deferral.cause)
        reject(deferral.frame, .overMemoryBudget, isRepeat: false)
    }

    // MARK: Shared buffers

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
        guard sharing.pool.isOpen else { return 0 }
        let leases = [slots.sent?.lease, slots.deferral?.frame.lease, slots.waiting?.lease].compactMap(\.self)
        return sharing.pool.freeByteCount
            + leases.filter { sharing.pool.canSend($0) }.reduce(0) { $0 + $1.byteCount }
    }

    /// Releases the memory of shared buffers if a frame would not fit beside it: first of free buffers, then of those
    /// with older frames.
    @inline(__always)
    mutating func reclaimBuffers(for frame: borrowing UploadFrame) {
        reclaimBuffers(for: frame.byteCount, total: frame.totalByteCount)
    }

    @inline(__always)
    private mutating func reclaimBuffers(for byteCount: Int, total: Int) {
        guard memoryLimit < .max, sharing.pool.isOpen, sharing.pool.byteCount > 0,
            !hasRoom(for: byteCount, total: total)
        else { return }
        effects.reclaimed += sharing.pool.reclaim()
        guard !hasRoom(for: byteCount, total: total) else { return }
        if let lease = slots.sent?.lease, abandonBuffer(of: lease) { slots.sent?.leaveBuffer() }
        if let lease = slots.deferral?.frame.lease, abandonBuffer(of: lease) { slots.deferral?.frame.leaveBuffer() }
        if let lease = slots.waiting?.lease, abandonBuffer(of: lease) { slots.waiting?.leaveBuffer() }
    }

    private mutating func abandonBuffer(of lease: SharedPool.Lease) -> Bool {
        guard sharing.pool.canSend(lease) else { return false }
        effects.reclaimed.append(sharing.pool.abandon(lease))
        return true
    }
}
