import FrameSocket
import Locking

/// The senders and their images, and the viewers.
///
/// Unless a viewer has selected a sender, the image is from the sender that connected last, of those that have sent
/// any.
final class PreviewStage: Sendable {
    /// The state of one sender.
    struct Sender {
        let id: Int
        let peer: PeerPolicy.Credentials?
        var isPaused = false
        var statistics = ReceptionStatistics()
        var meter = PreviewMeter()
        /// Bytes of JPEG, without padding.
        var byteCount: UInt64 = 0
        /// Frames that were superseded by newer ones before this program handled them.
        var superseded = 0
        /// Frames that are not valid images.
        var undecodable = 0
        var image: PreviewImage?
    }

    /// The state of all.
    struct State {
        /// In the order in which they connected.
        var senders: [Sender] = []
        /// How the most recently ended sender ended.
        var lastEnd: CloseReason?

        fileprivate var imageCount = 0

        /// Returns the sender that a viewer selected, if connected; without a selection, the sender whose image is
        /// shown or awaited.
        func sender(_ choice: Int?) -> Sender? {
            guard let choice else { return senders.last { $0.image != nil } ?? senders.last }
            return senders.first { $0.id == choice }
        }
    }

    /// Those who watch.
    let audience: PreviewAudience

    /// The limits of JPEGs that have to be rotated.
    private let limits: JPEGDecoder.Limits

    /// Distinguishes this preview's images from those of another one at the same address, which numbers its own alike.
    private let identity: String
    private let locked = Locked(State())
    private let tending = Locked<(@Sendable () -> Void)?>(nil)

    init(maximumViewers: Int, limits: JPEGDecoder.Limits = JPEGDecoder.Limits()) {
        audience = PreviewAudience(maximum: maximumViewers)
        self.limits = limits
        var generator = SystemRandomNumberGenerator()
        identity = String(generator.next() as UInt32, radix: 36)
    }

    /// By which a viewer knows whether it has an image.
    func tag(of image: PreviewImage) -> String { "\(identity)-\(image.number)" }

    /// The current state.
    var state: State { locked.withLock { $0 } }

    // MARK: Senders

    func begin(_ connection: FrameConnection) {
        locked.withLock { $0.senders.append(Sender(id: connection.id, peer: connection.peer)) }
    }

    /// Handles a frame; returns the error if it is not a valid image.
    func take(_ frame: Frame, of connection: FrameConnection) -> TurboJPEGError? {
        let number = locked.withLock { state in
            state.imageCount += 1
            return state.imageCount
        }
        let isWatched = audience.count > 0
        let image: Result<PreviewImage, TurboJPEGError> = Result { () throws(TurboJPEGError) in
            try frame.reading { () throws(TurboJPEGError) in
                let image = try PreviewImage(frame, number: number, limits: limits)
                // Done here, where nobody waits for it, and not once for every viewer.
                if isWatched { _ = try image.jpeg() }
                return image
            }
        }
        let byteCount = frame.jpegByteCount
        change(connection.id) { sender in
            sender.statistics.add(frame)
            sender.meter.add(frame, byteCount: byteCount)
            sender.byteCount += UInt64(byteCount)
            sender.superseded = connection.statistics.supersededFrames
            if case .success(let image) = image { sender.image = image } else { sender.undecodable += 1 }
        }
        if case .failure(let error) = image { return error }
        audience.wake()
        return nil
    }

    func take(_ status: SenderStatus, of connection: FrameConnection) {
        change(connection.id) { $0.isPaused = status.state == .paused }
    }

    func end(_ connection: FrameConnection, reason: CloseReason) {
        locked.withLock { state in
            state.senders.removeAll { $0.id == connection.id }
            state.lastEnd = reason
        }
        // The image of another sender may be visible now.
        audience.wake()
    }

    private func change(_ id: Int, _ body: (inout Sender) -> Void) {
        locked.withLock { state in
            guard let index = state.senders.firstIndex(where: { $0.id == id }) else { return }
            body(&state.senders[index])
        }
    }

    // MARK: Viewers

    /// Registers `body` to be called whenever the viewers are checked.
    func tends(_ body: @escaping @Sendable () -> Void) {
        tending.withLock { $0 = body }
    }

    /// Checks the viewers; must be called a few times a second.
    func tend() {
        tending.withLock { $0 }?()
        audience.tend()
    }
}
