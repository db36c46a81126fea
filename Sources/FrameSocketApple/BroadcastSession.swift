public import FrameSocket
internal import Locking

/// A broadcast: sends frames and audio to the app that shows them, until one side ends it.
///
/// ```swift
/// let session = BroadcastSession(path: path) { reason in print(reason) }
/// session.send(image, orientation: .up)
/// session.finish(.stoppedByUser)
/// ```
///
/// A `SampleHandler` owns a session. The session does not depend on ReplayKit, so it also runs, and is tested, on
/// systems without it. It tries to connect to the app's server from its creation on. None of its methods waits, so they
/// may be called directly on the queue that delivers samples.
///
/// Thread safety: any thread may use a session at any time.
public final class BroadcastSession: Sendable {
    /// The configuration of a broadcast.
    public struct Configuration: Sendable {
        /// The configuration of the connection.
        ///
        /// Default: that of a `SocketConnection`, except that it does not reconnect: deployed apps end a broadcast by
        /// closing the connection.
        public var connection: SocketConnection.Configuration

        /// Which frames are sent, at what size and quality, and in how much memory.
        ///
        /// Default: every third frame (20 per second of a screen at 60) and half the size, as in Jitsi, with quality 80,
        /// in 30 MiB. The system ends a broadcast extension that uses more than 50 MB, of which the process itself needs
        /// about 10.
        public var uploader: SampleUploader.Configuration

        /// Creates a configuration with the defaults.
        public init() {
            connection = SocketConnection.Configuration()
            connection.reopens = false
            uploader = SampleUploader.Configuration(scale: .half, pacing: .every(3), maximumMemory: 30 << 20)
        }
    }

    /// The uploader of the frames; use it for statistics, and to change rate, size and quality.
    public let uploader: SampleUploader

    private struct State {
        var isPaused = false
        /// Whether ``finish(_:)`` was called: nobody waits for the end any more.
        var isFinished = false
        var unreadableImages = 0
        var appMessages: UInt64 = 0
        var microphoneMessages: UInt64 = 0
    }

    private let state = Locked(State())

    /// Creates a session and begins the broadcast.
    ///
    /// - Parameters:
    ///   - path: The path at which the app's server listens, or will listen.
    ///   - configuration: The configuration.
    ///   - onEnd: Called once if the other side ends the broadcast, or it fails; not after ``finish(_:)``.
    public init(
        path: String,
        configuration: Configuration = .init(),
        onEnd: @escaping @Sendable (FinishReason) -> Void
    ) {
        let connection = SocketConnection(path: path, configuration: configuration.connection)
        let states = connection.states
        uploader = SampleUploader(connection: connection, configuration: configuration.uploader)
        Task { [state] in
            for await case .ended(let reason) in states {
                if case .closedLocally = reason { return }
                if state.withLock({ $0.isFinished }) { return }
                onEnd(reason.finishReason)
            }
        }
    }

    deinit {
        uploader.connection.close()
    }

    /// Whether the broadcast is paused; frames and audio submitted during a pause are dropped.
    public var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Submits a frame.
    ///
    /// - Parameters:
    ///   - image: The pixels.
    ///   - orientation: The image's orientation.
    ///   - timestamp: The presentation time in nanoseconds; nil for the current time.
    /// - Returns: Whether the frame was accepted, or why it was dropped.
    @discardableResult
    public func send(
        _ image: PixelBuffer,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil
    ) -> SampleUploader.Outcome {
        guard !isPaused else { return .dropped(.paused) }
        return uploader.send(image, orientation: orientation, timestamp: timestamp)
    }

    /// Submits a frame whose memory its source reuses, copying what is sent before returning.
    ///
    /// - Parameters:
    ///   - image: The pixels. They may change as soon as the call returns.
    ///   - color: The color space of the samples of a planar format.
    ///   - orientation: The image's orientation.
    ///   - timestamp: The presentation time in nanoseconds; nil for the current time.
    /// - Returns: Whether the frame was accepted, or why it was dropped.
    @discardableResult
    public func send(
        copying image: PixelBuffer,
        color: VideoColor = .jpeg,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil
    ) -> SampleUploader.Outcome {
        guard !isPaused else { return .dropped(.paused) }
        return uploader.send(copying: image, color: color, orientation: orientation, timestamp: timestamp)
    }

    /// Submits audio, which is sent only to an app that requested it.
    ///
    /// - Returns: Whether it was accepted.
    @discardableResult
    public func send(_ block: AudioBlock, kind: AudioKind) -> Bool {
        guard !isPaused, uploader.connection.wants.contains(.audio) else { return false }
        let sequence = state.withLock { state in
            switch kind {
            case .app: state.appMessages.takeNumber()
            case .microphone: state.microphoneMessages.takeNumber()
            }
        }
        guard let message = try? AudioMessage(block, kind: kind, sequence: sequence) else { return false }
        return (try? uploader.connection.send(message)) ?? false
    }

    /// The number of images that could not be read, and were dropped.
    public var unreadableImages: Int { state.withLock { $0.unreadableImages } }

    /// Counts an image that could not be read, and reports it to the connection's log.
    package func reportUnreadableImage(_ error: TurboJPEGError) {
        state.withLock { $0.unreadableImages += 1 }
        uploader.connection.reportUnsentFrame("an image was dropped: \(error.message)")
    }

    /// Pauses the broadcast, as when the user has paused it.
    public func pause() {
        state.withLock { $0.isPaused = true }
    }

    /// Resumes the broadcast with the next frame, regardless of pacing.
    public func resume() {
        state.withLock { $0.isPaused = false }
        uploader.passNextFrame()
    }

    /// Ends the broadcast cleanly, and sends the reason to an app that uses the control channel.
    public func finish(_ reason: FinishReason) {
        state.withLock { $0.isFinished = true }
        uploader.connection.close(reason)
    }
}

extension UInt64 {
    /// Returns the number, and increments it.
    fileprivate mutating func takeNumber() -> UInt64 {
        defer { self = addingReportingOverflow(1).partialValue }
        return self
    }
}
