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
    /// The uploader of the frames; use it for statistics, and to change rate, size and quality.
    public let uploader: SampleUploader

    /// The values that the person chose before the broadcast began.
    public let values: BroadcastValues

    private struct State {
        var isPaused = false
        var unreadableImages = 0
        var nextNumbers: [AudioKind: UInt64] = [:]
    }

    private let state = Locked(State())

    /// The one report of the end; nil once it is made, or nobody waits for it any more.
    private let report: Locked<(@Sendable (CloseReason) -> Void)?>

    /// Creates a session and begins the broadcast.
    ///
    /// - Parameters:
    ///   - path: The path at which the app's server listens, or will listen. It may be nil if the configuration has an
    ///     ``Configuration/endpoint``, which takes its place; without either, the broadcast ends with `error`.
    ///   - configuration: The configuration.
    ///   - onEnd: Called once if the other side ends the broadcast, or it fails; not after ``finish(_:)``.
    public convenience init(
        path: String? = nil,
        configuration: Configuration = .init(),
        onEnd: @escaping @Sendable (ControlRequest.FinishReason) -> Void
    ) {
        self.init(path: path, configuration: configuration, onMissingHost: { _ in }) { onEnd($0.finishReason) }
    }

    /// Creates a session as the other initializer does.
    ///
    /// `onMissingHost` is called with the configuration's notice if no app has been reached within its delay, and
    /// `onClose` as `onEnd`, with what exactly ended the broadcast.
    package init(
        path: String?,
        configuration: Configuration,
        onMissingHost: @escaping @Sendable (HostNotice) -> Void,
        onClose: @escaping @Sendable (CloseReason) -> Void
    ) {
        let connection = SocketConnection(
            to: configuration.endpoint ?? .path(path ?? ""),
            configuration: configuration.statingConnection
        )
        let (states, report) = (connection.states, Locked<(@Sendable (CloseReason) -> Void)?>(onClose))
        uploader = SampleUploader(connection: connection, configuration: configuration.uploader)
        (values, self.report) = (configuration.values, report)
        Task {
            var search: Task<Void, Never>?
            defer { search?.cancel() }
            for await state in states {
                switch state {
                case .started where search == nil:
                    search = Task {
                        let error = await configuration.missingHost(of: connection, onNotice: onMissingHost)
                        guard let error else { return }
                        report.withLock { $0.take() }?(.failed(error))
                        connection.close(CloseReason.failed(error).finishReason)
                    }
                case .connected:
                    search?.cancel()
                    search = nil
                case .ended(.closedLocally): return
                case .ended(let reason):
                    report.withLock { $0.take() }?(reason)
                    return
                case .started, .idle, .handshaking, .disconnected: break
                }
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

    /// Whether audio is sent now: reading it takes time that is spent for nothing otherwise.
    package var sendsAudio: Bool {
        !isPaused && uploader.connection.offersAudio && uploader.connection.receiver.wants.contains(.audio)
    }

    /// Submits audio, which is sent only to an app that requested it, and only if the configuration offers it.
    ///
    /// - Returns: Whether it was accepted.
    @discardableResult
    public func send(_ block: AudioBlock) -> Bool {
        guard sendsAudio else { return false }
        var block = block
        block.sequence = state.withLock { state in
            defer { state.nextNumbers[block.kind, default: 0] += 1 }
            return state.nextNumbers[block.kind, default: 0]
        }
        return (try? uploader.connection.send(block)) ?? false
    }

    /// The number of images that could not be read, and were dropped.
    public var unreadableImages: Int { state.withLock { $0.unreadableImages } }

    /// Counts an image that could not be read, and reports it to the connection's log.
    package func reportUnreadableImage(_ error: TurboJPEGError) {
        state.withLock { $0.unreadableImages += 1 }
        uploader.connection.report(.warning, .frameDropped, "an image was dropped: \(error.message)")
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
    public func finish(_ reason: ControlRequest.FinishReason) {
        // Released without the lock.
        _ = report.withLock { $0.take() }
        uploader.connection.close(reason)
    }
}

extension BroadcastSession {
    /// The configuration of a broadcast.
    public struct Configuration: Sendable {
        /// The configuration of the connection: the tokens, whether audio is offered, and more.
        ///
        /// Default: that of a `SocketConnection`, except that it does not reconnect: deployed apps end a broadcast by
        /// closing the connection.
        public var connection: SocketConnection.Configuration

        /// Which frames are sent, and at what size and quality.
        ///
        /// Default: every third frame (20 per second of a screen at 60) and half the size, as in Jitsi, with quality 80; the
        /// latest image is not kept beside its JPEG. The system ends a broadcast extension that uses more than 50 MB, of which
        /// the process itself needs about 10.
        public var uploader: SampleUploader.Configuration

        /// Where the app listens, in place of the socket in the App Group: another path, or a port of this device.
        ///
        /// Default: nil. A port needs `connection.tokens`.
        public var endpoint: SocketEndpoint?

        /// The time without an app after which the broadcast ends with `noHost`, at its beginning and after a disconnect.
        ///
        /// Default: 30 s; nil to wait forever, as Jitsi's handler does.
        public var hostTimeout: Duration? = .seconds(30)

        /// The notification that is shown if no app is reached soon; see ``HostNotice``.
        ///
        /// Default: nil.
        public var hostNotice: HostNotice?

        /// The values that the person chose before the broadcast began; a `SampleHandler` sets them.
        ///
        /// Default: none. An app that says hello gets them, as `FrameConnection.info`, unless `connection.info` has a value
        /// for the same key. A text that a `ControlRequest.SessionInfo` cannot have, and what exceeds 16 values
        /// or 4,096 bytes in the order of the keys, is left out there.
        public var values = BroadcastValues()

        /// Whether a broadcast that either side meant to end does so without an alert.
        ///
        /// Default: false: an extension can end a broadcast only with an error, which the system shows. With true, a
        /// `SampleHandler` calls ReplayKit's method with nil in place of an error, as other kits do from Objective-C. Apple
        /// documents no such call, so a later system may show an empty alert, ignore it, or end the extension. Failures
        /// are always shown.
        public var endsQuietly = false

        /// The configuration of the connection, which states the values, and that there is audio.
        var statingConnection: SocketConnection.Configuration {
            var connection = connection
            for (key, text) in values.texts.sorted(by: { $0.key < $1.key }) where connection.info[key] == nil {
                try? connection.info.set(text, for: key)
            }
            connection.info.offersAudio = connection.info.offersAudio ?? true
            return connection
        }

        /// Creates a configuration with the defaults.
        public init() {
            connection = SocketConnection.Configuration()
            connection.reopens = false
            uploader = SampleUploader.Configuration(scale: .half, pacing: .every(3), keepsLatestImage: false)
        }
    }
}
