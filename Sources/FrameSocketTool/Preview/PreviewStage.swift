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
        /// The sender of the latest image, if it has left, and none has come since.
        var last: Sender?

        fileprivate var imageCount = 0

        /// Returns the sender that a viewer selected, if connected; without a selection, the sender whose image is
        /// shown or awaited.
        func sender(_ choice: Int?) -> Sender? {
            guard let choice else { return senders.last { $0.image != nil } ?? senders.last }
            return senders.first { $0.id == choice }
        }

        /// Returns the image that a page shows, which stays when its sender has left.
        func image(_ choice: Int?) -> PreviewImage? {
            sender(choice)?.image ?? (choice == nil ? last?.image : nil)
        }
    }

    /// Those who watch.
    let audience: PreviewAudience

    /// The limits of JPEGs that have to be rotated.
    private let limits: JPEGDecoder.Limits

    /// Distinguishes this preview's images from those of another one at the same address, which numbers its own alike.
    private let identity = PreviewAccess.makeToken().prefix(8)
    private let locked = Locked(State())

    init(maximumViewers: Int, limits: JPEGDecoder.Limits = JPEGDecoder.Limits()) {
        audience = PreviewAudience(maximum: maximumViewers)
        self.limits = limits
    }

    /// By which a viewer knows whether it has an image.
    func tag(of image: PreviewImage) -> String { "\"\(identity)-\(image.number)\"" }

    /// The current state.
    var state: State { locked.withLock { $0 } }

    /// Receives what one sender sends, to its end.
    func follow(_ connection: FrameConnection, report: @escaping @Sendable (Reception.Event) -> Void) async {
        let id = connection.id
        report(.connected(connection))
        locked.withLock { $0.senders.append(Sender(id: id, peer: connection.peer)) }
        async let statuses: Void = connection.followStates { status in
            change(id) { sender, _ in sender.isPaused = status.state == .paused }
            report(.status(status, connection: id))
        }
        var failure: TransportError?
        do throws(TransportError) {
            for try await frame in connection.frames {
                guard let error = take(frame, of: connection) else { continue }
                report(.failed(connection: id, code: error.code.rawValue, message: error.advice))
            }
        } catch {
            failure = error
            report(.broken(connection: id, error))
        }
        let reason = await connection.ended()
        await statuses
        end(id, reason: reason)
        report(.closed(connection: id, reason: reason, told: failure))
    }

    /// Handles a frame; returns the error if it is not a valid image.
    private func take(_ frame: Frame, of connection: FrameConnection) -> TurboJPEGError? {
        let number = locked.withLock { state in
            state.imageCount += 1
            return state.imageCount
        }
        let isWatched = audience.count > 0
        let image: Result<PreviewImage, TurboJPEGError> = Result { () throws(TurboJPEGError) in
            try frame.reading { () throws(TurboJPEGError) in
                let image = try PreviewImage(frame, number: number, limits: limits)
                // Done here, where nobody waits for it.
                if isWatched { _ = try image.jpeg() }
                return image
            }
        }
        change(connection.id) { sender, state in
            let byteCount = frame.jpegByteCount
            sender.statistics.add(frame)
            sender.meter.add(receivedAt: frame.receivedAt, timestamp: frame.timestamp, byteCount: byteCount)
            sender.byteCount += UInt64(byteCount)
            sender.superseded = connection.statistics.supersededFrames
            guard case .success(let image) = image else { return sender.undecodable += 1 }
            sender.image = image
            state.last = nil
        }
        if case .failure(let error) = image { return error }
        audience.wake()
        return nil
    }

    private func end(_ id: Int, reason: CloseReason) {
        // The image stays, and the memory in which the server received it is needed for others.
        let kept = state.sender(id)?.image?.keep()
        locked.withLock { state in
            if let kept, kept.number > state.last?.image?.number ?? 0 { state.last = state.sender(id) }
            state.senders.removeAll { $0.id == id }
            state.lastEnd = reason
        }
        // The image of another sender may be visible now.
        audience.wake()
    }

    private func change(_ id: Int, _ body: (inout Sender, inout State) -> Void) {
        locked.withLock { state in
            guard let index = state.senders.firstIndex(where: { $0.id == id }) else { return }
            var sender = state.senders[index]
            body(&sender, &state)
            state.senders[index] = sender
        }
    }
}
