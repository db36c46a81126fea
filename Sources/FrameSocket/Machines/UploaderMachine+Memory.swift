internal import FrameWire
internal import TurboJPEG

/// The memory that frames take, and the recipes that it allows.
///
/// What may be allocated is known beforehand: a recipe's ``MemoryNeed`` is the worst case, so that nothing has to be given
/// up while a frame is being encoded. The image that is kept behind a JPEG is spare: it is given up for anything newer,
/// and never stands in the way.
extension UploaderMachine {
    /// The bytes of every frame held, including the most that the one in progress may take.
    package var heldBytes: Int { slots.inProgressByteCount.needed + keptBytes }

    /// The bytes of what a lower limit makes the machine give up.
    package var keptBytes: Int {
        slots.inProgressByteCount.spare + (slots.waiting?.byteCount ?? 0) + (slots.deferral?.frame.byteCount ?? 0)
            + (slots.sent?.byteCount ?? 0)
    }

    // MARK: Recipes

    /// Gives a frame the recipe for the configuration in effect.
    ///
    /// If what the receiver prefers would take too much memory, the program's own configuration applies.
    mutating func makeRecipe(for frame: inout UploadFrame) {
        guard let content = frame.content else { return }
        if let recipe = frame.recipe, isCurrent(recipe) { return }
        let orientation = frame.orientation
        if let lastRecipe, isCurrent(lastRecipe), lastRecipe.applies(to: content, orientation) {
            frame.recipe = lastRecipe
            return
        }
        frame.recipe = recipe(content, orientation, configuration)
        if frame.totalByteCount > memoryLimit, isPreferenceInEffect {
            frame.recipe = recipe(content, orientation, ownConfiguration)
            refusePreferences()
        }
        if frame.recipe?.input != nil { lastRecipe = frame.recipe }
    }

    @inline(__always)
    private func isCurrent(_ recipe: EncodingRecipe) -> Bool {
        recipe.isCurrent(configuration, edition: edition, limit: memoryLimit)
    }

    @inline(__always)
    private func recipe(
        _ content: FrameContent,
        _ orientation: FrameOrientation,
        _ configuration: Configuration
    ) -> EncodingRecipe? {
        EncodingRecipe(content, orientation, .init(configuration), edition: edition, limit: memoryLimit)
    }

    /// Returns the recipe for copying a submitted image at the size that is sent.
    ///
    /// As with every frame, what the receiver prefers applies only if there is memory for it.
    mutating func copying(
        _ image: borrowing PixelBuffer,
        color: PixelBuffer.Color = .jpeg,
        orientation: FrameOrientation
    ) -> EncodingRecipe {
        let (isShared, limit) = (sharing.pool.isOpen, memoryLimit)
        func recipe(_ settings: Configuration) -> EncodingRecipe {
            .init(copying: image, orientation, .init(settings), color: color, isShared: isShared, limit: limit)
        }
        let preferred = recipe(configuration)
        guard preferred.need.total > limit, isPreferenceInEffect else { return preferred }
        refusePreferences()
        return recipe(ownConfiguration)
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
            || (total <= memoryLimit && byteCount <= memoryLimit - slots.inProgressByteCount.needed)
    }

    /// Returns whether `byteCount` bytes can be kept while an older frame waits, and while that frame is encoded.
    @inline(__always)
    func fitsBesideWaiting(_ byteCount: Int) -> Bool {
        guard memoryLimit < .max, let waiting = slots.waiting else { return true }
        let others = max(slots.inProgressByteCount.needed + waiting.byteCount, waiting.totalByteCount)
        return byteCount <= memoryLimit - others
    }

    /// Returns whether the image of a frame can be kept beside everything else.
    func isRoomToAdopt(_ frame: borrowing UploadFrame) -> Bool {
        memoryLimit == .max || frame.byteCount <= memoryLimit - heldBytes
    }

    /// Releases what is kept of the sent frame if `byteCount` bytes would otherwise not fit beside the frame in progress:
    /// first its image, then its JPEG.
    mutating func makeRoom(for byteCount: Int) {
        guard memoryLimit < .max, slots.sent != nil else { return }
        let (needed, spareInProgress) = slots.inProgressByteCount
        let (kept, spare) = (slots.sent?.byteCount ?? 0, slots.sent?.spareByteCount ?? 0)
        let room = memoryLimit - needed - spareInProgress - kept
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
        return byteCount <= memoryLimit - others
    }

    /// Gives up what exceeds a limit that the program has lowered, the oldest first.
    ///
    /// The frame in progress is completed.
    mutating func fitIntoMemory() {
        guard heldBytes > memoryLimit else { return }
        giveUpImages()
        guard heldBytes > memoryLimit else { return }
        if let frame = slots.sent.take() { discard(frame) }
        guard heldBytes > memoryLimit else { return }
        if let frame = slots.waiting.take() { reject(frame, .overMemoryBudget, isRepeat: false) }
        guard heldBytes > memoryLimit, let deferral = slots.deferral.take() else { return }
        statistics.takeBack(deferral.cause)
        reject(deferral.frame, .overMemoryBudget, isRepeat: false)
    }
}
