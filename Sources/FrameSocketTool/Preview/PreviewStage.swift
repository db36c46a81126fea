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
    func follow(_ connection: FrameConnection, report: @escaping @Sendable (ServerEvent) -> Void) async {
        let id = connection.id
        report(.connected(connection))
        locked.withLock { $0.senders.append(Sender(id: id, peer: connection.peer)) }
        async let statuses: Void = followStatuses(of: connection, report)
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

/// The current rate of one sender's frames, and their latency.
struct PreviewMeter {
    /// The length of the window in nanoseconds, and the least of it that makes a rate.
    private static let window: UInt64 = 2_000_000_000
    private static let leastWindow: UInt64 = 1_000_000_000

    /// The maximum number of frames that are remembered, whatever the rate.
    private static let capacity = 512

    private struct Sample {
        let receivedAt: UInt64
        let byteCount: Int
        let latency: UInt64?
    }

    private var samples: [Sample] = []
    private var firstAt: UInt64?

    /// Adds a frame whose JPEG has `byteCount` bytes without its padding.
    mutating func add(receivedAt: UInt64, timestamp: UInt64?, byteCount: Int) {
        if firstAt == nil { firstAt = receivedAt }
        let (age, isAhead) = receivedAt.subtractingReportingOverflow(timestamp ?? .max)
        samples.append(Sample(receivedAt: receivedAt, byteCount: byteCount, latency: isAhead ? nil : age))
        if samples.count > Self.capacity { samples.removeFirst(samples.count - Self.capacity) }
    }

    /// Frames and bytes per second until `now`; nil until a second has passed since the first frame.
    func rates(at now: UInt64) -> (frames: Double, bytes: Double)? {
        guard let firstAt, let oldest = samples.first, now > firstAt,
            now - firstAt >= Self.leastWindow
        else { return nil }
        // The frame with which the measurement begins is not in it: a second after the first of ten a second there are ten.
        let start = max(now > Self.window ? now - Self.window : 0, oldest.receivedAt)
        let recent = samples.filter { $0.receivedAt > start }
        guard now > start else { return nil }
        let seconds = Double(now - start) / 1e9
        let bytes = recent.reduce(0) { $0 + Double($1.byteCount) } / seconds
        return (Double(recent.count) / seconds, bytes.rounded())
    }

    /// The time from presentation to last byte of the latest frames that state one.
    func latency(at now: UInt64) -> TimeSummary {
        var summary = TimeSummary()
        for sample in samples where now < sample.receivedAt &+ Self.window {
            if let latency = sample.latency { summary.add(nanoseconds: latency) }
        }
        return summary
    }
}

extension PreviewStage.State {
    /// The headline of a page: `none` if nobody is connected, `waiting` before the first frame, `live`, or `paused` if the
    /// sender has announced that it sends none for now.
    private static func summary(of sender: PreviewStage.Sender?) -> String {
        guard let sender else { return "none" }
        if sender.isPaused { return "paused" }
        return sender.image == nil ? "waiting" : "live"
    }

    /// The state for a page and for scripts, of the selected sender or of the latest, as a JSON object; times are in
    /// nanoseconds.
    func json(choosing choice: Int?, endpoint: SocketEndpoint, audience: PreviewAudience) -> String {
        let now = MonotonicClock.now()
        let shown = sender(choice)
        var line = JSONLine(event: "state")
        line.add("state", Self.summary(of: shown))
        line.add("path", endpoint.description)
        line.add("senders", senders.count)
        line.add("viewers", audience.count)
        line.add("maximumViewers", audience.maximum)
        line.add("choices", senders.map { $0.description(at: nil) })
        if let shown { shown.describe(in: &line, at: now) }
        if let lastEnd { line.add("lastEnd", lastEnd.description) }
        if shown?.image == nil, choice == nil, let last { line.add("last", last.description(at: now)) }
        return line.text
    }
}

extension PreviewStage.Sender {
    /// Who it is, and its image, with its age if a time is given.
    fileprivate func description(at now: UInt64?) -> JSONLine {
        var line = JSONLine()
        identify(in: &line)
        measure(in: &line, at: now)
        return line
    }

    fileprivate func describe(in line: inout JSONLine, at now: UInt64) {
        identify(in: &line)
        line.add("frames", statistics.frames)
        line.add("bytes", byteCount)
        line.add("missing", statistics.missing)
        line.add("superseded", superseded)
        line.add("undecodable", undecodable)
        if let (frames, bytes) = meter.rates(at: now) {
            line.add("framesPerSecond", frames, digits: 2)
            line.add("bytesPerSecond", UInt64(exactly: bytes) ?? .max)
        }
        let latency = meter.latency(at: now)
        if latency.count > 0 {
            line.add("latency", latency.mean.nanoseconds)
            line.add("latencyMaximum", latency.maximum.nanoseconds)
        }
        measure(in: &line, at: now)
    }

    private func identify(in line: inout JSONLine) {
        line.add("connection", id)
        guard let peer else { return }
        line.add("pid", peer.processID)
        line.add("uid", peer.userID)
    }

    private func measure(in line: inout JSONLine, at now: UInt64?) {
        guard let image else { return }
        line.add("width", image.size.width)
        line.add("height", image.size.height)
        guard let now else { return }
        line.add("orientation", image.orientation.rawValue)
        line.add("age", now > image.receivedAt ? now - image.receivedAt : 0)
    }
}
