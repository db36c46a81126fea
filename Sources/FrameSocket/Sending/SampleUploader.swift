internal import Dispatch
public import FrameTransport
public import FrameWire
internal import Locking
public import TurboJPEG

/// Takes pictures, and sends the latest of them as fast as the receiver takes them.
///
///     let connection = SocketConnection(path: "/run/user/1000/rtc_SSFD")
///     let uploader = SampleUploader(connection: connection, configuration: .init(quality: 80, scale: .half))
///     uploader.send(picture, orientation: .up)
///
/// Handing a picture in never blocks: scaling, encoding and sending happen on a queue of the uploader's own. One frame is
/// encoded and sent at a time, one waits, and a newer one takes its place; live video is worth nothing late. A picture
/// that cannot be encoded costs that one frame. Where the pacing leaves out unchanged pictures, handing one in that is due
/// also costs one pass over its bytes.
///
/// A receiver may ask for a pause, another rate, size or quality, or a frame now; the uploader obeys.
public final class SampleUploader: Sendable {
    /// What became of a frame when it was handed in.
    public enum Outcome: Sendable, Hashable {
        /// It will be sent, unless a newer one comes before its turn, it cannot be encoded, or the connection ends.
        case taken
        /// It will not be sent.
        case dropped(DropCause)
    }

    /// Where frames go.
    public let connection: SocketConnection

    private let encoder = FrameEncoder()
    private let queue = DispatchQueue(label: "framesocket.encode", qos: .userInitiated)
    private let state: Locked<State>

    /// Held while a frame is offered, so that frames pass the gate in their order; never taken inside ``state``.
    private let gate: Locked<FrameGate>

    private struct State {
        /// What the program has set.
        var own: Configuration
        /// What the receiver prefers.
        var preferences = ControlPreferences()
        /// What follows from both.
        var configuration: Configuration
        var budget: SendingBudget
        var waiting: Offer?
        var isBusy = false
        var nextSequence: UInt64 = 0
        var statistics = SendingStatistics()
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
    }

    /// A frame that was handed in.
    private struct Offer: Sendable {
        let content: FrameEncoder.Content
        let orientation: FrameOrientation
        let timestamp: UInt64
        let sequence: UInt64
        let offeredAt: UInt64
    }

    /// A frame that is encoded and sent.
    private struct Turn: Sendable {
        let orientation: FrameOrientation
        let timestamp: UInt64
        let sequence: UInt64
        let configuration: Configuration
        let need: MemoryNeed
        private var content: FrameEncoder.Content?

        init(_ offer: consuming Offer, _ configuration: Configuration, _ need: MemoryNeed) {
            (orientation, timestamp, sequence) = (offer.orientation, offer.timestamp, offer.sequence)
            (content, self.configuration, self.need) = (offer.content, configuration, need)
        }

        /// Encodes the frame and lets go of what it was made of: nothing holds a large picture while its JPEG is sent.
        ///
        /// The content is gone afterwards, so that a second call would have nothing to encode.
        mutating func encode(with encoder: FrameEncoder) throws(TurboJPEGError) -> FrameEncoder.Picture {
            guard let content = content.take() else {
                throw TurboJPEGError(.encodeFailed, "The frame has been encoded before.")
            }
            return try encoder.encode(content, orientation, configuration)
        }
    }

    /// An uploader that opens `connection` and sends to it.
    public init(connection: SocketConnection, configuration: Configuration = .init()) {
        self.connection = connection
        let budget = SendingBudget(configuration.maximumMemory)
        state = Locked(State(own: configuration, configuration: configuration, budget: budget))
        gate = Locked(FrameGate(configuration.pacing))
        connection.onRequest { [weak self] in self?.obey($0) }
        connection.open()
    }

    /// Does what the receiver asks for.
    private func obey(_ request: ControlRequest) {
        switch request {
        case .prefer(let preferences):
            changeState { $0.preferences = preferences }
        case .hello:
            // A receiver that introduces itself has preferred nothing yet, and seen nothing.
            changeState { $0.preferences = ControlPreferences() }
            requestFrame()
        case .refresh, .resume:
            requestFrame()
        case .pause, .stop, .ping:
            // The connection itself sees to these.
            break
        }
    }

    /// Why no frame may go at present; nil where one may.
    private var barrier: DropCause? {
        guard connection.isOpen else { return .notConnected }
        if connection.isPaused { return .paused }
        return connection.wants.contains(.pictures) ? nil : .notWanted
    }

    /// What has been done so far.
    public var statistics: SendingStatistics { state.withLock { $0.statistics } }

    /// How frames are treated at present: as the program has set it, but for what the receiver prefers.
    public var configuration: Configuration { state.withLock { $0.configuration } }

    /// Changes the configuration from the next frame on, from any thread.
    ///
    ///     uploader.update { $0.pacing = .framesPerSecond(5) }
    ///
    /// The memory budget stays what it was at the beginning, whatever is assigned. `change` runs while frames are held
    /// back, and must not use the uploader.
    public func update(_ change: (inout Configuration) -> Void) {
        changeState { change(&$0.own) }
    }

    private func changeState(_ change: (inout State) -> Void) {
        gate.withLock { gate in
            let pacing = state.withLock { state in
                change(&state)
                state.configuration = state.own.preferring(state.preferences)
                return state.configuration.pacing
            }
            if gate.pacing != pacing { gate.pacing = pacing }
        }
    }

    /// Sees to it that the next frame that is handed in passes the pacing, changed or not.
    ///
    /// For a receiver that begins to watch, or has lost a frame.
    public func requestFrame() {
        gate.withLock { $0.refresh() }
    }

    /// Hands in a picture.
    ///
    /// Never blocks, and keeps no more than a reference to the picture.
    ///
    /// - Parameters:
    ///   - picture: the pixels. Changing the buffer afterwards changes a copy.
    ///   - orientation: how the picture lies.
    ///   - timestamp: the presentation time in nanoseconds; by default now, by `MonotonicClock`.
    /// - Returns: whether the picture was taken, or why it was dropped.
    @discardableResult
    public func send(_ picture: PixelBuffer, orientation: FrameOrientation = .up, timestamp: UInt64? = nil) -> Outcome {
        offer(.pixels(picture), orientation, timestamp)
    }

    /// Hands in a picture that is a JPEG already, to be sent as it is.
    ///
    /// Never blocks. Quality and size of the configuration do not apply.
    ///
    /// - Parameters:
    ///   - jpeg: the JPEG.
    ///   - bufferSize: the picture's size, as the message's head is to state it.
    ///   - orientation: how the picture lies.
    ///   - timestamp: the presentation time in nanoseconds; by default now, by `MonotonicClock`.
    /// - Returns: whether the picture was taken, or why it was dropped.
    @discardableResult
    public func send(
        jpeg: FrameBytes,
        bufferSize: BufferSize,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil
    ) -> Outcome {
        offer(.jpeg(jpeg, bufferSize), orientation, timestamp)
    }

    /// Hands in a JPEG, to be sent in the configured size.
    ///
    /// Never blocks. Where the size is another than its own the JPEG is decoded in the least size that will do, scaled, and
    /// encoded in the configured quality; else it is sent as it is.
    ///
    /// - Parameters:
    ///   - jpeg: the JPEG.
    ///   - orientation: how the picture lies.
    ///   - timestamp: the presentation time in nanoseconds; by default now, by `MonotonicClock`.
    /// - Returns: whether the picture was taken, or why it was dropped; `encodingFailed` where it is no JPEG.
    @discardableResult
    public func send(
        resizing jpeg: FrameBytes,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil
    ) -> Outcome {
        do throws(TurboJPEGError) {
            let header = try jpeg.withBytes { bytes throws(TurboJPEGError) in try JPEGHeader(inspecting: bytes) }
            let size = BufferSize(width: header.width, height: header.height)
            return offer(.resizableJPEG(jpeg, size), orientation, timestamp)
        } catch {
            state.withLock { state in
                state.statistics.offered += 1
                state.statistics.drop(.encodingFailed)
                state.statistics.lastEncodingError = error
            }
            return .dropped(.encodingFailed)
        }
    }

    /// Waits until no frame is waiting or under way.
    public func finish() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.isBusy { state.idleWaiters.append(continuation) }
                return !state.isBusy
            }
            if isIdle { continuation.resume() }
        }
    }

    private func offer(
        _ content: FrameEncoder.Content,
        _ orientation: FrameOrientation,
        _ timestamp: UInt64?
    ) -> Outcome {
        let now = MonotonicClock.now()
        let timestamp = timestamp ?? now
        let (cause, mustStart) = gate.withLock { gate -> (DropCause?, Bool) in
            let barrier = barrier
            // A receiver that comes, or comes back, has seen nothing.
            if barrier == .notConnected { gate.forget() }
            let paced = barrier ?? gate.causeToDrop(content, orientation, at: timestamp)
            return state.withLock { state in
                state.statistics.offered += 1
                var cause = paced
                let need = encoder.memoryNeed(content, orientation, state.configuration)
                if cause == nil, !state.budget.allows(need) { cause = .overMemoryBudget }
                // Numbers count what was meant to be sent, so that a gap is a loss and not the pacing.
                let sequence = state.nextSequence
                if paced == nil || paced == .notConnected { state.nextSequence += 1 }
                if let cause {
                    if cause == .overMemoryBudget { gate.forget() }
                    state.statistics.drop(cause)
                    return (cause, false)
                }
                if state.waiting != nil { state.statistics.drop(.superseded) }
                state.waiting = Offer(
                    content: content,
                    orientation: orientation,
                    timestamp: timestamp,
                    sequence: sequence,
                    offeredAt: now
                )
                defer { state.isBusy = true }
                return (nil, !state.isBusy)
            }
        }
        if mustStart { queue.async { self.sendWaiting() } }
        return cause.map { .dropped($0) } ?? .taken
    }

    /// Encodes and sends the frame that waits; runs on the queue, for one frame at a time.
    private func sendWaiting() {
        let startedAt = MonotonicClock.now()
        guard var turn = beginTurn(at: startedAt) else {
            return settle(isLost: true) { $0.drop(.overMemoryBudget) }
        }
        do throws(TurboJPEGError) {
            let picture = try turn.encode(with: encoder)
            state.withLock { $0.budget.releaseContent(turn.need) }
            let sendsTiming = turn.configuration.sendsTiming
            let message = FrameMessage(
                jpeg: picture.jpeg,
                bufferSize: picture.bufferSize,
                orientation: picture.orientation,
                timestamp: sendsTiming ? turn.timestamp : nil,
                sequence: sendsTiming ? turn.sequence : nil
            )
            send(message, encodingBeganAt: startedAt)
        } catch {
            settle(isLost: true) { statistics in
                statistics.drop(.encodingFailed)
                statistics.lastEncodingError = error
            }
        }
    }

    /// Takes the frame that waits; nil where the configuration has changed so that it no longer fits the budget.
    private func beginTurn(at now: UInt64) -> Turn? {
        state.withLock { state in
            guard let offer = state.waiting.take() else { return nil }
            state.statistics.queueAge.add(nanoseconds: now &- offer.offeredAt)
            let need = encoder.memoryNeed(offer.content, offer.orientation, state.configuration)
            guard state.budget.allows(need) else { return nil }
            state.budget.begin(need)
            return Turn(offer, state.configuration, need)
        }
    }

    private func send(_ message: FrameMessage, encodingBeganAt startedAt: UInt64) {
        let encodedAt = MonotonicClock.now()
        do throws(TransportError) {
            try connection.submit(message) { result in
                let sentAt = MonotonicClock.now()
                let cause: DropCause? = if case .failure(let error) = result { DropCause(sending: error) } else { nil }
                self.settle(isLost: cause != nil) { statistics in
                    statistics.encoding.add(nanoseconds: encodedAt &- startedAt)
                    if let cause { return statistics.drop(cause) }
                    statistics.sent += 1
                    statistics.bytes &+= UInt64(message.jpeg.count)
                    statistics.transfer.add(nanoseconds: sentAt &- encodedAt)
                }
            }
        } catch {
            settle(isLost: true) { $0.drop(DropCause(sending: error)) }
        }
    }

    /// Ends one frame's turn, and begins that of the next one.
    private func settle(isLost: Bool, _ record: (inout SendingStatistics) -> Void) {
        if isLost { gate.withLock { $0.forget() } }
        let (isMore, waiters) = state.withLock { state in
            record(&state.statistics)
            state.budget.end()
            state.isBusy = state.waiting != nil
            defer { if !state.isBusy { state.idleWaiters = [] } }
            return (state.isBusy, state.isBusy ? [] : state.idleWaiters)
        }
        if isMore { queue.async { self.sendWaiting() } }
        for waiter in waiters { waiter.resume() }
    }
}
