internal import FrameTransport
internal import FrameWire

/// Decides which frames go on: a pacer, and what tells it whether a frame changed.
struct FrameGate: Sendable {
    private var pacer: FramePacer
    private var detector = ChangeDetector()

    init(_ pacing: Pacing) {
        pacer = FramePacer(pacing)
    }

    var pacing: Pacing {
        get { pacer.pacing }
        set { pacer.pacing = newValue }
    }

    /// Why a frame is dropped; nil where it goes on.
    mutating func causeToDrop(
        _ content: FrameEncoder.Content,
        _ orientation: FrameOrientation,
        at timestamp: UInt64
    ) -> DropCause? {
        switch pacer.decide(at: timestamp, isChanged: detector.isChanged(content, orientation)) {
        case .drop(let cause):
            return cause
        case .take:
            detector.keep()
            return nil
        }
    }

    /// Sees to it that the next frame goes on, whatever the pacing.
    mutating func refresh() {
        pacer.refresh()
    }

    /// Takes the next frame for changed, for the receiver does not have the last one.
    mutating func forget() {
        detector.forget()
    }
}

extension ChangeDetector {
    fileprivate mutating func isChanged(_ content: FrameEncoder.Content, _ orientation: FrameOrientation) -> Bool {
        switch content {
        case .pixels(let picture): isChanged(picture, orientation: orientation)
        case .jpeg(let jpeg, _), .resizableJPEG(let jpeg, _):
            jpeg.withBytes { isChanged($0, orientation: orientation) }
        }
    }
}
