internal import FrameWire
internal import TurboJPEG

/// The memory that frames take.
extension UploaderMachine {
    /// The bytes of all frames held, with what the one under way takes at most.
    package var heldBytes: Int {
        turnBytes + (waiting?.byteCount ?? 0) + (deferral?.frame.byteCount ?? 0) + (sentFrame?.byteCount ?? 0)
    }

    @inline(__always)
    var turnBytes: Int {
        switch activity {
        case .idle, .starting: 0
        case .encoding(let turn), .sending(let turn): turn.byteCount
        }
    }

    /// Gives a frame the plan for the configuration that applies.
    ///
    /// If what the receiver prefers would take too much memory, the program's own configuration applies.
    mutating func makePlan(for frame: inout UploadFrame) {
        guard let content = frame.content else { return }
        if let plan = frame.plan, plan.edition == edition { return }
        if let lastPlan, lastPlan.applies(to: content, frame.orientation, edition: edition) {
            frame.plan = lastPlan
            return
        }
        frame.plan = plan(content, frame.orientation, configuration)
        if frame.totalByteCount > memoryLimit, terms.preferences != .init() {
            frame.plan = plan(content, frame.orientation, ownConfiguration)
            refusePreferences()
        }
        if frame.plan?.shape != nil { lastPlan = frame.plan }
    }

    /// How an image that is copied when it is offered comes to the size that is sent.
    ///
    /// As with every frame, what the receiver prefers applies only if there is memory for it.
    mutating func scaling(of image: borrowing PixelBuffer, orientation: FrameOrientation) -> CopyPlan {
        let preferred = CopyPlan(image, orientation, .init(configuration), limit: memoryLimit)
        guard preferred.byteCount > memoryLimit, terms.preferences != .init() else { return preferred }
        refusePreferences()
        return CopyPlan(image, orientation, .init(ownConfiguration), limit: memoryLimit)
    }

    /// Lets the receiver know, once, that there is no memory for what it prefers.
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
        EncodingPlan(content, orientation, .init(configuration), edition: edition, limit: memoryLimit)
    }

    /// Whether a frame can be encoded within the limit, and can wait beside the one under way.
    @inline(__always)
    func hasRoom(for frame: borrowing UploadFrame) -> Bool {
        frame.totalByteCount <= memoryLimit && frame.byteCount <= memoryLimit - turnBytes
    }

    /// Whether `byteCount` bytes can be kept while an older frame waits, and while that is encoded.
    @inline(__always)
    func fitsBesideWaiting(_ byteCount: Int) -> Bool {
        guard let waiting else { return true }
        return byteCount <= memoryLimit - max(turnBytes + waiting.byteCount, waiting.totalByteCount)
    }

    /// Gives up the frame that was sent if `byteCount` bytes beside the frame under way would not fit otherwise.
    mutating func makeRoom(for byteCount: Int) {
        guard let sent = sentFrame?.byteCount, byteCount > memoryLimit - turnBytes - sent else { return }
        if let frame = sentFrame.take() { discard(frame) }
    }
}
