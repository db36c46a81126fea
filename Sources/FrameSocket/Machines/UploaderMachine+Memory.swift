/// The memory that frames take.
extension UploaderMachine {
    /// The bytes of all frames held, with what the one under way takes at most.
    package var heldBytes: Int {
        turnBytes + (waiting?.byteCount ?? 0) + (deferral?.frame.byteCount ?? 0) + (sentFrame?.byteCount ?? 0)
    }

    var turnBytes: Int {
        switch activity {
        case .idle, .starting: 0
        case .encoding(let turn), .sending(let turn): turn.byteCount
        }
    }

    /// The plan for a frame under the configuration that applies.
    ///
    /// If what the receiver prefers would take too much memory, the program's own configuration applies.
    func plan(for frame: borrowing UploadFrame) -> EncodingPlan? {
        guard let content = frame.content else { return frame.plan }
        if let plan = frame.plan, plan.edition == edition { return plan }
        func plan(_ configuration: Configuration) -> EncodingPlan {
            EncodingPlan(
                content,
                frame.orientation,
                EncodingPlan.Settings(configuration),
                edition: edition,
                limit: memoryLimit
            )
        }
        let preferred = plan(configuration)
        guard preferred.need.total > memoryLimit, terms.preferences != .init() else { return preferred }
        return plan(ownConfiguration)
    }

    /// Whether a frame can be encoded within the limit, and can wait beside the one under way.
    func hasRoom(for frame: borrowing UploadFrame) -> Bool {
        (frame.plan?.need.total ?? 0) <= memoryLimit && frame.byteCount <= memoryLimit - turnBytes
    }

    /// Whether a frame can be kept while an older one waits, and while that is encoded.
    func fits(_ frame: borrowing UploadFrame, beside waiting: UploadFrame) -> Bool {
        frame.byteCount <= memoryLimit - max(turnBytes + waiting.byteCount, waiting.plan?.need.total ?? 0)
    }

    /// Gives up the frame that was sent if `byteCount` bytes beside the frame under way would not fit otherwise.
    mutating func makeRoom(for byteCount: Int) {
        guard let frame = sentFrame, byteCount > memoryLimit - turnBytes - frame.byteCount else { return }
        sentFrame = nil
        discard(frame)
    }
}
