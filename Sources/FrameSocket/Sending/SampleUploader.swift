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
/// that cannot be encoded costs that one frame.
public final class SampleUploader: Sendable {
    /// How pictures are scaled, encoded and described.
    public struct Configuration: Sendable {
        /// The quality of the JPEGs, from 1 to 100.
        ///
        /// Default: 80.
        public var quality: Int

        /// The size of the JPEGs.
        ///
        /// Default: as the pictures are.
        public var scale: OutputScale

        /// How chroma is subsampled; planar pictures are always 4:2:0.
        ///
        /// Default: 4:2:0.
        public var subsampling: ChromaSubsampling

        /// Whether each frame tells its presentation time and number, which receivers that do not know them ignore.
        ///
        /// Default: true.
        public var sendsTiming: Bool

        /// A configuration with the defaults, but for what is given.
        public init(
            quality: Int = 80,
            scale: OutputScale = .full,
            subsampling: ChromaSubsampling = .yuv420,
            sendsTiming: Bool = true
        ) {
            self.quality = quality
            self.scale = scale
            self.subsampling = subsampling
            self.sendsTiming = sendsTiming
        }
    }

    /// What became of a frame when it was handed in.
    public enum Outcome: Sendable, Hashable {
        /// It will be sent, unless a newer one comes before its turn, or the connection ends.
        case taken
        /// It will not be sent.
        case dropped(DropCause)
    }

    /// Where frames go.
    public let connection: SocketConnection

    private let configuration: Configuration
    private let encoder: FrameEncoder
    private let queue = DispatchQueue(label: "framesocket.encode", qos: .userInitiated)
    private let state = Locked(State())

    private struct State {
        var waiting: Offer?
        var isBusy = false
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

    /// An uploader that opens `connection` and sends to it.
    public init(connection: SocketConnection, configuration: Configuration = .init()) {
        self.connection = connection
        self.configuration = configuration
        encoder = FrameEncoder(configuration)
        connection.open()
    }

    /// What has been done so far.
    public var statistics: SendingStatistics { state.withLock { $0.statistics } }

    /// Hands in a picture.
    ///
    /// Never blocks, and keeps no more than a reference to the picture.
    ///
    /// - Parameters:
    ///   - picture: the pixels. Changing the buffer afterwards changes a copy.
    ///   - orientation: how the picture lies; carried to the receiver, not applied.
    ///   - timestamp: the presentation time in nanoseconds; by default now, by `MonotonicClock`.
    /// - Returns: whether the picture was taken, or why it was dropped.
    @discardableResult
    public func send(_ picture: PixelBuffer, orientation: FrameOrientation = .up, timestamp: UInt64? = nil) -> Outcome {
        offer(.pixels(picture), orientation, timestamp)
    }

    /// Hands in a picture that is a JPEG already, to be sent as it is.
    ///
    /// Never blocks.
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
        let isConnected = connection.isOpen
        let (outcome, mustStart) = state.withLock { state -> (Outcome, Bool) in
            let sequence = UInt64(state.statistics.offered)
            state.statistics.offered += 1
            guard isConnected else {
                state.statistics.drop(.notConnected)
                return (.dropped(.notConnected), false)
            }
            if state.waiting != nil { state.statistics.drop(.superseded) }
            state.waiting = Offer(
                content: content,
                orientation: orientation,
                timestamp: timestamp ?? now,
                sequence: sequence,
                offeredAt: now
            )
            defer { state.isBusy = true }
            return (.taken, !state.isBusy)
        }
        if mustStart { queue.async { self.sendWaiting() } }
        return outcome
    }

    /// Encodes and sends the frame that waits; runs on the queue, for one frame at a time.
    private func sendWaiting() {
        let startedAt = MonotonicClock.now()
        let next = state.withLock { state in
            let offer = state.waiting.take()
            if let offer { state.statistics.queueAge.add(nanoseconds: startedAt &- offer.offeredAt) }
            return offer
        }
        guard let offer = next else { return }
        do throws(TurboJPEGError) {
            let (jpeg, bufferSize) = try encoder.encode(offer.content)
            let message = FrameMessage(
                jpeg: jpeg,
                bufferSize: bufferSize,
                orientation: offer.orientation,
                timestamp: configuration.sendsTiming ? offer.timestamp : nil,
                sequence: configuration.sendsTiming ? offer.sequence : nil
            )
            send(message, encodingBeganAt: startedAt)
        } catch {
            settle { statistics in
                statistics.drop(.encodingFailed)
                statistics.lastEncodingError = error
            }
        }
    }

    private func send(_ message: FrameMessage, encodingBeganAt startedAt: UInt64) {
        let encodedAt = MonotonicClock.now()
        do throws(TransportError) {
            try connection.submit(message) { result in
                let sentAt = MonotonicClock.now()
                self.settle { statistics in
                    statistics.encoding.add(nanoseconds: encodedAt &- startedAt)
                    guard case .success = result else { return statistics.drop(.connectionLost) }
                    statistics.sent += 1
                    statistics.bytes &+= UInt64(message.jpeg.count)
                    statistics.transfer.add(nanoseconds: sentAt &- encodedAt)
                }
            }
        } catch {
            // Closed since the frame was taken; or busy with a message that somebody else sends on this connection.
            settle { $0.drop(error.code == .closed ? .notConnected : .superseded) }
        }
    }

    /// Ends one frame's turn, and begins that of the next one.
    private func settle(_ record: (inout SendingStatistics) -> Void) {
        let (isMore, waiters) = state.withLock { state in
            record(&state.statistics)
            state.isBusy = state.waiting != nil
            defer { if !state.isBusy { state.idleWaiters = [] } }
            return (state.isBusy, state.isBusy ? [] : state.idleWaiters)
        }
        if isMore { queue.async { self.sendWaiting() } }
        for waiter in waiters { waiter.resume() }
    }
}
