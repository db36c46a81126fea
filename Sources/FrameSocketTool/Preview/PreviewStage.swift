import FrameSocket
import Locking

/// The current image, its sender, and the viewers.
///
/// Unless a viewer has selected a sender, the image is from the sender that connected last, of those that have sent
/// any.
final class PreviewStage: Sendable {
    /// The state of one sender.
    struct Sender {
        let id: Int
        let peer: PeerCredentials?
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
        var isClosed = false

        fileprivate(set) var seats: [ObjectIdentifier: Seat] = [:]
        fileprivate var imageCount = 0

        /// Returns the sender that a viewer selected, if connected; without a selection, the sender whose image is
        /// shown or awaited.
        func sender(_ choice: Int?) -> Sender? {
            guard let choice else { return senders.last { $0.image != nil } ?? senders.last }
            return senders.first { $0.id == choice }
        }
        /// The number of viewers.
        var viewerCount: Int { seats.count }
    }

    /// A viewer, and the answer that it feeds.
    struct Seat {
        let viewer: PreviewViewer
        let stream: HTTPStream
    }

    /// The maximum number of viewers.
    let maximumViewers: Int

    /// The limits of JPEGs that have to be rotated.
    private let limits: JPEGLimits

    private let locked = Locked(State())
    private let tending = Locked<(@Sendable () -> Void)?>(nil)

    init(maximumViewers: Int, limits: JPEGLimits = JPEGLimits()) {
        self.maximumViewers = maximumViewers
        self.limits = limits
    }

    /// The current state.
    var state: State { locked.withLock { $0 } }

    // MARK: Senders

    func begin(_ connection: FrameConnection) {
        locked.withLock { $0.senders.append(Sender(id: connection.id, peer: connection.peer)) }
    }

    /// Handles a frame; returns the error if it is not a valid image.
    func take(_ frame: Frame, of connection: FrameConnection) -> TurboJPEGError? {
        let (number, isWatched) = locked.withLock { state in
            state.imageCount += 1
            return (state.imageCount, !state.seats.isEmpty)
        }
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
            sender.superseded = connection.supersededFrames
            if case .success(let image) = image { sender.image = image } else { sender.undecodable += 1 }
        }
        if case .failure(let error) = image { return error }
        wakeViewers()
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
        wakeViewers()
    }

    private func change(_ id: Int, _ body: (inout Sender) -> Void) {
        locked.withLock { state in
            guard let index = state.senders.firstIndex(where: { $0.id == id }) else { return }
            body(&state.senders[index])
        }
    }

    // MARK: Viewers

    /// Admits another viewer, of the sender it selected if any; nil if there are enough viewers.
    func admit(choosing choice: Int? = nil) -> (stream: HTTPStream, contentType: String)? {
        let viewer = PreviewViewer(of: self, choosing: choice)
        let stream = HTTPStream {
            viewer.supply(&$0)
        } released: { [weak self] in
            self?.leave(viewer)
        }
        let isAdmitted = locked.withLock { state in
            guard state.seats.count < maximumViewers, !state.isClosed else { return false }
            state.seats[ObjectIdentifier(viewer)] = Seat(viewer: viewer, stream: stream)
            return true
        }
        return isAdmitted ? (stream, viewer.contentType) : nil
    }

    private func leave(_ viewer: PreviewViewer) {
        locked.withLock { _ = $0.seats.removeValue(forKey: ObjectIdentifier(viewer)) }
    }

    private var seats: [Seat] { locked.withLock { Array($0.seats.values) } }

    private func wakeViewers() {
        for seat in seats { seat.stream.wake() }
    }

    /// Registers `body` to be called whenever the viewers are checked.
    func tends(_ body: @escaping @Sendable () -> Void) {
        tending.withLock { $0 = body }
    }

    /// Checks the viewers; must be called a few times a second.
    func tend() {
        tending.withLock { $0 }?()
        let now = MonotonicClock.now()
        for seat in seats {
            seat.stream.checkClient()
            if seat.viewer.wantsRepetition(at: now) { seat.stream.wake() }
        }
    }

    /// Ends the viewers' streams; new ones are not admitted.
    func close() {
        locked.withLock { $0.isClosed = true }
        wakeViewers()
    }

    /// Waits until all have read the end, but not long: a viewer that reads nothing never would.
    func emptied() async {
        for _ in 0..<50 where state.viewerCount > 0 {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }
}
