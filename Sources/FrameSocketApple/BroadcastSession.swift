public import FrameSocket
internal import Locking

/// One broadcast: pictures and sound to the app that shows them, until one side ends it.
///
///     let session = BroadcastSession(path: path) { reason in … }
///     session.send(picture, orientation: .up)
///     session.finish(.stoppedByUser)
///
/// It is what a `SampleHandler` holds, without anything of ReplayKit, so that it also runs, and is tested, where there is none.
/// It looks for the app's server from its making on. Nothing that it does waits, so that it may be used right
/// from the queue that hands out samples.
public final class BroadcastSession: Sendable {
    /// How a broadcast is sent.
    public struct Configuration: Sendable {
        /// How the connection opens and ends.
        ///
        /// Default: as a `SocketConnection` does, but that it does not open again: to deployed apps, closing
        /// the connection is how they end a broadcast.
        public var connection: SocketConnection.Configuration

        /// Which pictures are sent, how large, in what quality, and in how much memory.
        ///
        /// Default: every third picture, as Jitsi does at 60 a second, at half the size, in quality 80, in 30 MiB.
        /// The system ends a broadcast extension that takes more than 50 MB, of which the process itself needs about 10.
        public var uploader: SampleUploader.Configuration

        /// The defaults.
        public init() {
            connection = SocketConnection.Configuration()
            connection.reopens = false
            uploader = SampleUploader.Configuration(scale: .half, pacing: .every(3), maximumMemory: 30 << 20)
        }
    }

    /// Where pictures go; tells what has been sent, and takes changes of rate, size and quality.
    public let uploader: SampleUploader

    private struct State {
        var isPaused = false
        var appMessages: UInt64 = 0
        var microphoneMessages: UInt64 = 0
    }

    private let state = Locked(State())

    /// Begins a broadcast.
    ///
    /// - Parameters:
    ///   - path: where the app's server listens, or will.
    ///   - configuration: how to send.
    ///   - onEnd: called once where the other side ends the broadcast, or it fails; not after ``finish(_:)``.
    public init(
        path: String,
        configuration: Configuration = .init(),
        onEnd: @escaping @Sendable (FinishReason) -> Void
    ) {
        let connection = SocketConnection(path: path, configuration: configuration.connection)
        let events = connection.events
        uploader = SampleUploader(connection: connection, configuration: configuration.uploader)
        Task {
            for await event in events {
                guard case .didClose(let reason) = event else { continue }
                switch connection.state {
                case .idle, .failed, .closed:
                    if case .closedLocally = reason { return }
                    return onEnd(reason.finishReason)
                case .started, .handshaking, .connected:
                    // It opens again, and the broadcast goes on.
                    continue
                }
            }
        }
    }

    deinit {
        uploader.connection.close()
    }

    /// Whether the broadcast rests: what is handed in meanwhile is dropped.
    public var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Hands in a picture.
    ///
    /// - Parameters:
    ///   - picture: the pixels.
    ///   - orientation: how the picture lies.
    ///   - timestamp: the presentation time in nanoseconds; nil for now.
    /// - Returns: whether the picture was taken, or why it was dropped.
    @discardableResult
    public func send(
        _ picture: PixelBuffer,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil
    ) -> SampleUploader.Outcome {
        guard !isPaused else { return .dropped(.paused) }
        return uploader.send(picture, orientation: orientation, timestamp: timestamp)
    }

    /// Submits an image in memory that its source uses again: what is sent of it is copied before this returns.
    ///
    /// - Parameters:
    ///   - image: the pixels; they may be changed once this has returned.
    ///   - color: what the samples of a planar format mean.
    ///   - orientation: how the image lies.
    ///   - timestamp: the presentation time in nanoseconds; nil for now.
    /// - Returns: whether the image was accepted, or why it was dropped.
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

    /// Hands in sound, which goes to an app that asked for it and to no other.
    ///
    /// - Returns: whether it was taken.
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

    /// Rests, as while the person has paused the broadcast.
    public func pause() {
        state.withLock { $0.isPaused = true }
    }

    /// Goes on, with the next picture, whatever the pacing says of it.
    public func resume() {
        state.withLock { $0.isPaused = false }
        uploader.passNextFrame()
    }

    /// Ends the broadcast in order, and tells an app that speaks the control channel why.
    public func finish(_ reason: FinishReason) {
        uploader.connection.close(reason)
    }
}

extension UInt64 {
    /// The number, which is one more the next time.
    fileprivate mutating func takeNumber() -> UInt64 {
        defer { self = addingReportingOverflow(1).partialValue }
        return self
    }
}
