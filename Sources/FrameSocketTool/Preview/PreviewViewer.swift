import FrameSocket
import Locking

/// A reader of the stream with a pace of its own: once it has read an image, the next one is the latest.
final class PreviewViewer: Sendable {
    /// The number of nanoseconds without a new image after which the last one is sent again, once.
    ///
    /// Browsers built on WebKit or Blink show a part once the next one arrives, and would otherwise not show a still
    /// image.
    static let stillness: UInt64 = 200_000_000

    private struct State {
        var parts = MultipartStream()
        /// The number of the image that was added last.
        var shown: Int?
        var addedAt: UInt64 = 0
        var isRepeated = false

        func wantsRepetition(at now: UInt64) -> Bool {
            shown != nil && !isRepeated && now > addedAt && now - addedAt >= PreviewViewer.stillness
        }
    }

    /// The value of the field `Content-Type`.
    let contentType: String

    // Weak: the stage holds the viewers.
    private weak let stage: PreviewStage?
    /// The connection of the selected sender; nil for the latest.
    private let choice: Int?
    private let locked: Locked<State>

    init(of stage: PreviewStage, choosing choice: Int?) {
        self.choice = choice
        let state = State()
        contentType = state.parts.contentType
        locked = Locked(state)
        self.stage = stage
    }

    /// Whether the last image is to be sent again.
    func wantsRepetition(at now: UInt64) -> Bool {
        locked.withLock { $0.parts.isIdle && $0.wantsRepetition(at: now) }
    }

    /// Writes what the viewer gets next.
    func supply(_ room: inout MutableSpan<UInt8>) -> HTTPStream.Supply {
        locked.withLock { state in
            if state.parts.isIdle {
                guard let stage, !stage.audience.isClosed else { return .end }
                let sender = stage.state.sender(choice)
                if let image = sender?.image {
                    add(image, to: &state)
                } else {
                    // Connection numbers are not reused.
                    if choice != nil, sender == nil { return .end }
                    // The sender has left: there is nothing to repeat.
                    state.isRepeated = true
                }
            }
            let count = state.parts.write(to: &room)
            return count > 0 ? .bytes(count) : .later
        }
    }

    private func add(_ image: PreviewImage, to state: inout State) {
        let now = MonotonicClock.now()
        let isNew = image.number != state.shown
        guard isNew || state.wantsRepetition(at: now), let jpeg = try? image.jpeg() else { return }
        state.parts.add(jpeg)
        state.shown = image.number
        state.addedAt = now
        state.isRepeated = !isNew
    }
}
