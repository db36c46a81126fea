import Dispatch
import FrameSocket
import Locking

/// The senders and their images, and those who watch: pages that ask for one image after another, and programs that read the
/// stream.
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
        fileprivate(set) var senders: [Sender] = []
        /// How the most recently ended sender ended.
        fileprivate(set) var lastEnd: CloseReason?
        /// The sender of the latest image, if it has left, and none has come since.
        fileprivate(set) var last: Sender?
        /// Whether the preview has ended.
        fileprivate(set) var isClosed = false

        fileprivate var imageCount = 0
        /// When the place of each page, or program that reads the stream, is free again, by a name of its own.
        fileprivate var places: [String: UInt64] = [:]
        /// Those who wait for news, each on a thread of its own.
        fileprivate var waiting: [ObjectIdentifier: DispatchSemaphore] = [:]

        /// The number of viewers.
        var viewers: Int {
            let now = MonotonicClock.now()
            return places.values.count { $0 > now }
        }

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

    let maximumViewers: Int

    /// The limits of JPEGs that have to be rotated.
    private let limits: JPEGDecoder.Limits

    /// Distinguishes this preview's images from those of another one at the same address, which numbers its own alike.
    private let identity = PreviewAccess.makeToken().prefix(8)
    private let locked = Locked(State())

    init(maximumViewers: Int, limits: JPEGDecoder.Limits) {
        (self.maximumViewers, self.limits) = (maximumViewers, limits)
    }

    /// The current state.
    var state: State { locked.withLock { $0 } }

    /// Changes the state, and tells those who wait.
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, waiting) = locked.withLock { (body(&$0), Array($0.waiting.values)) }
        for semaphore in waiting { semaphore.signal() }
        return result
    }

    private func change(_ id: Int, _ body: (inout Sender, inout State) -> Void) {
        change { state in
            guard let index = state.senders.firstIndex(where: { $0.id == id }) else { return }
            var sender = state.senders[index]
            body(&sender, &state)
            state.senders[index] = sender
        }
    }

    // MARK: Senders

    /// Receives what one sender sends, to its end.
    func follow(_ connection: FrameConnection, report: @escaping @Sendable (ServerEvent) -> Void) async {
        let id = connection.id
        report(.connected(connection))
        change { $0.senders.append(Sender(id: id, peer: connection.peer)) }
        async let statuses: Void = followStatuses(of: connection, report)
        var failure: TransportError?
        do throws(TransportError) {
            for try await frame in connection.frames {
                if let error = take(frame, of: connection) {
                    report(.failed(connection: id, code: error.code.rawValue, message: error.advice))
                }
                await Listening.giveWay()
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

    private func followStatuses(of connection: FrameConnection, _ report: @Sendable (ServerEvent) -> Void) async {
        var last: SenderStatus?
        for await status in connection.statuses where status.differs(from: last) {
            last = status
            change(connection.id) { sender, _ in sender.isPaused = status.state == .paused }
            report(.status(status, connection: connection.id))
        }
    }

    /// Handles a frame; returns the error if it is not a valid image.
    private func take(_ frame: Frame, of connection: FrameConnection) -> TurboJPEGError? {
        let (number, isWatched) = locked.withLock { state in
            state.imageCount += 1
            return (state.imageCount, state.viewers > 0)
        }
        let image: Result<PreviewImage, TurboJPEGError> = Result { () throws(TurboJPEGError) in
            try frame.reading { () throws(TurboJPEGError) in
                let image = try PreviewImage(frame, number: number, of: identity, limits: limits)
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
        guard case .failure(let error) = image else { return nil }
        return error
    }

    private func end(_ id: Int, reason: CloseReason) {
        // The image stays, but not in the memory in which the server received it, which is needed for others.
        let sender = state.sender(id)
        let stays = (try? sender?.image?.jpeg()) != nil
        change { state in
            if stays, let image = sender?.image, image.number > state.last?.image?.number ?? 0 { state.last = sender }
            state.senders.removeAll { $0.id == id }
            state.lastEnd = reason
        }
    }

    // MARK: Viewers

    /// Keeps the place of a viewer, or admits it, until ``keep(_:for:)``; returns false if there are enough.
    func admit(_ viewer: String) -> Bool {
        locked.withLock { state in
            let now = MonotonicClock.now()
            state.places = state.places.filter { $0.value > now }
            let isFull = state.places.count >= maximumViewers
            guard !state.isClosed, !isFull || state.places[viewer] != nil else { return false }
            state.places[viewer] = .max
            return true
        }
    }

    /// Frees the place of a viewer after a time; at once if the preview has ended, as it has been told.
    func keep(_ viewer: String, for lifetime: Duration) {
        locked.withLock { state in
            guard state.places[viewer] != nil else { return }
            state.places[viewer] = state.isClosed ? nil : MonotonicClock.now() + lifetime.nanoseconds
        }
    }

    /// Waits until `isOver`, until the preview ends, or for some time.
    func wait(atMost limit: Duration, until isOver: (State) -> Bool) {
        let semaphore = DispatchSemaphore(value: 0)
        locked.withLock { $0.waiting[ObjectIdentifier(semaphore)] = semaphore }
        defer { locked.withLock { _ = $0.waiting.removeValue(forKey: ObjectIdentifier(semaphore)) } }
        // A wait with a timeout would follow the wall clock.
        let isLate = Locked(false)
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: limit.nanoseconds))) {
            isLate.withLock { $0 = true }
            semaphore.signal()
        }
        // Only now, since what happened before was announced to nobody.
        while !locked.withLock({ $0.isClosed || isOver($0) }), !isLate.withLock({ $0 }) { semaphore.wait() }
    }

    /// Ends streams and waits, and waits until all viewers have been told, but not long: one that reads nothing never would.
    func close() async {
        change { $0.isClosed = true }
        for _ in 0..<50 where state.viewers > 0 {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }
}

/// Images as a stream that browsers show in an `<img>`, each replacing the previous one (`multipart/x-mixed-replace`), at the
/// pace of one reader: once it has read an image, the next one is the latest.
///
/// Each part states its length, which strict readers need, and the boundary after an image is sent with it, since some
/// readers show an image only then. Browsers built on Blink show it when the *header of the next part* has been read,
/// which cannot be sent before the next image's length is known: see docs/decisions/0020.
final class PreviewStream: Sendable {
    /// Without a new image for this long, the last one is sent again, once.
    private static let stillness = Duration.milliseconds(200)
    /// How often it is checked whether the reader is still there, while there is nothing for it.
    private static let checkInterval = Duration.milliseconds(100)

    /// The value of the field `Content-Type`, and what comes before the first image.
    let type: String
    let start: [UInt8]

    private let boundary: String
    private let stage: PreviewStage
    /// The connection of the selected sender; nil for the latest.
    private let choice: Int?
    /// The number of the image that was sent last, and whether it was sent again.
    private let sent = Locked((number: Int?.none, isRepeated: false))

    /// Creates a stream, which has a place for as long as it exists; nil if there is none.
    init?(_ stage: PreviewStage, choosing choice: Int?) {
        // A JPEG may contain any bytes, and its sender must not be able to start a part of its own.
        let boundary = "image-" + PreviewAccess.makeToken()
        guard stage.admit(boundary) else { return nil }
        (self.stage, self.choice, self.boundary) = (stage, choice, boundary)
        (type, start) = ("multipart/x-mixed-replace; boundary=\(boundary)", Array("--\(boundary)\r\n".utf8))
    }

    deinit { stage.keep(boundary, for: .zero) }

    /// Returns an image with the next boundary, when there is one; nil at the end.
    func next(unless hasLeft: () -> Bool) -> [UInt8]? {
        sent.withLock { sent in
            let start = ContinuousClock.now
            while true {
                let state = stage.state
                let sender = state.sender(choice)
                // Connection numbers are not reused.
                if state.isClosed || hasLeft() || choice != nil && sender == nil { return nil }
                let number = sender?.image?.number
                let isDue = !sent.isRepeated && ContinuousClock.now - start >= Self.stillness
                if let image = sender?.image, number != sent.number || isDue, let jpeg = try? image.jpeg() {
                    sent = (number, number == sent.number)
                    let header = "Content-Type: image/jpeg\r\nContent-Length: \(jpeg.count)\r\n\r\n"
                    return Array(header.utf8) + jpeg + Array("\r\n--\(boundary)\r\n".utf8)
                }
                stage.wait(atMost: Self.checkInterval) { $0.sender(choice)?.image?.number != number }
            }
        }
    }
}
