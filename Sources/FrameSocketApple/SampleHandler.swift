// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    public import CoreMedia
    public import Foundation
    public import FrameSocket
    internal import Locking
    public import ReplayKit

    /// The principal class of a broadcast extension, which sends the screen to the app that started the broadcast.
    ///
    /// ```swift
    /// final class SampleHandler: FrameSocketApple.SampleHandler {
    ///     override var configuration: BroadcastSession.Configuration {
    ///         var configuration = super.configuration
    ///         configuration.uploader.pacing = .framesPerSecond(15)
    ///         return configuration
    ///     }
    /// }
    /// ```
    ///
    /// An empty subclass is sufficient if the Info.plist names the App Group as described in ``AppGroup``.
    ///
    /// - Note: `@unchecked Sendable` holds because all mutable state is behind a lock.
    open class SampleHandler: RPBroadcastSampleHandler, @unchecked Sendable {
        private struct State {
            var session: BroadcastSession?
            var stopRequests: BroadcastObservation?
            var endsQuietly = false
            /// Whether either side has ended the broadcast.
            var isFinished = false
        }

        private let state = Locked(State())

        /// The path at which the app listens; by default in the container of ``AppGroup/main``.
        open var socketPath: String? { AppGroup.main?.socketPath() }

        /// The configuration of the broadcast; read once, when the broadcast begins.
        open var configuration: BroadcastSession.Configuration { BroadcastSession.Configuration() }

        /// Returns the configuration of a broadcast with the values from the setup UI extension, if there is one; read
        /// once, when the broadcast begins.
        ///
        /// By default ``configuration``.
        open func configuration(for values: BroadcastValues) -> BroadcastSession.Configuration { configuration }

        /// Whether something other than the person has ended the broadcast; read when the system reports the end.
        ///
        /// The system calls `broadcastFinished()` for the person's stop as well as for a lock or a call, and states no
        /// reason. By default true if it had paused the broadcast. An app that may link CallKit can override this to ask a
        /// `CXCallObserver` for calls too.
        open var isInterrupted: Bool { session?.isPaused ?? false }

        /// The current broadcast; nil before and after it.
        public var session: BroadcastSession? { state.withLock { $0.session } }

        /// Ends the broadcast, and shows the user the reason.
        ///
        /// The text is that of `FrameSocket.` and the reason's name, such as `FrameSocket.callEnded`, in the extension's
        /// `Localizable.strings`; the reason's description if there is none. Safe to call from any thread; only the first
        /// reason counts.
        public func finish(_ reason: ControlRequest.FinishReason) {
            finish(BroadcastEnd(reason))
        }

        private func finish(_ ending: BroadcastEnd) {
            guard let ended = end(ending.reason) else { return }
            // In ReplayKit an extension can end a broadcast only with an error.
            if ended.endsQuietly, ending.reason.isOrderly {
                finishBroadcastQuietly()
            } else {
                finishBroadcastWithError(ending.shown)
            }
        }

        /// Ends the broadcast without an alert; see ``BroadcastSession/Configuration/endsQuietly``.
        ///
        /// A subclass that overrides `finishBroadcastWithError(_:)` must override this too: the method is called with nil,
        /// which an override in Swift does not expect.
        open func finishBroadcastQuietly() {
            _ = unsafe perform(NSSelectorFromString("finishBroadcastWithError:"), with: nil)
        }

        /// Ends the broadcast, and returns its last state; nil if it had ended before.
        @discardableResult
        private func end(_ reason: ControlRequest.FinishReason) -> State? {
            let last = state.withLock { state in
                defer { state = State(isFinished: true) }
                return state
            }
            guard !last.isFinished else { return nil }
            last.session?.finish(reason)
            BroadcastNotification.stopped.post()
            return last
        }

        /// Begins a broadcast.
        open override func broadcastStarted(withSetupInfo setupInfo: [String: NSObject]?) {
            let values = BroadcastValues(setupInfo)
            var configuration = configuration(for: values)
            configuration.values = values
            let endsQuietly = configuration.endsQuietly
            state.withLock { ($0.isFinished, $0.endsQuietly) = (false, endsQuietly) }
            BroadcastNotification.started.post()
            let path = socketPath
            guard path != nil || configuration.endpoint != nil else {
                return finish(BroadcastEnd(.noHost, mistake: BroadcastSetup.mistakeWithoutPath))
            }
            let session = BroadcastSession(path: path, configuration: configuration) {
                $0.show()
            } onClose: { [weak self] in
                self?.finish(BroadcastEnd($0))
            }
            let stopRequests = BroadcastNotification.requestStop.observe { [weak self] in self?.finish(.requestedByHost)
            }
            state.withLock { state in
                // The broadcast may have ended already.
                guard !state.isFinished else { return }
                (state.session, state.stopRequests) = (session, stopRequests)
            }
        }

        /// Pauses: the user has paused the broadcast.
        open override func broadcastPaused() {
            session?.pause()
        }

        /// Resumes after a pause.
        open override func broadcastResumed() {
            session?.resume()
        }

        /// Ends the broadcast cleanly: the user has stopped it, or something else has; see ``isInterrupted``.
        open override func broadcastFinished() {
            end(isInterrupted ? .suspended : .stoppedByUser)
        }

        /// Sends a frame, or audio to an app that requested it; unreadable samples are dropped.
        open override func processSampleBuffer(
            _ sampleBuffer: CMSampleBuffer,
            with sampleBufferType: RPSampleBufferType
        ) {
            guard let session else { return }
            switch sampleBufferType {
            case .video:
                guard !session.isPaused else { return }
                do throws(TurboJPEGError) {
                    try session.uploader.send(sampleBuffer)
                } catch {
                    session.reportUnreadableImage(error)
                }
            case .audioApp, .audioMic:
                let kind: AudioKind = sampleBufferType == .audioApp ? .app : .microphone
                if session.sendsAudio, let block = try? AudioBlock(sampleBuffer, kind: kind) { session.send(block) }
            @unknown default: break
            }
        }
    }

    extension SampleUploader {
        /// Submits the image of a sample from ReplayKit, copying what is sent: its source reuses the memory as soon as the
        /// callback returns.
        ///
        /// - Throws: `unsupported` if it has no image, or one of another format; the errors of
        ///   `PixelBuffer.init(_: CVPixelBuffer)`.
        @discardableResult
        package func send(_ sample: CMSampleBuffer) throws(TurboJPEGError) -> Outcome {
            guard let buffer = CMSampleBufferGetImageBuffer(sample) else {
                throw TurboJPEGError(.unsupported, "the sample contains no image")
            }
            let value = CMGetAttachment(sample, key: RPVideoSampleOrientationKey as CFString, attachmentModeOut: nil)
            let number = (value as? NSNumber).flatMap { UInt8(exactly: $0.uint32Value) }
            return send(
                copying: try PixelBuffer(buffer),
                color: PixelBuffer.Color(buffer),
                orientation: number.flatMap(FrameOrientation.init(rawValue:)) ?? .unknown,
                timestamp: sample.presentationNanoseconds
            )
        }
    }

    extension CMSampleBuffer {
        /// The presentation time, in nanoseconds of the source's clock; nil if it states none.
        var presentationNanoseconds: UInt64? {
            let time = CMSampleBufferGetPresentationTimeStamp(self)
            // Neither infinite nor indefinite.
            guard time.flags.subtracting(.hasBeenRounded) == .valid else { return nil }
            let nanoseconds = CMTimeConvertScale(time, timescale: 1_000_000_000, method: .default)
            return UInt64(exactly: nanoseconds.value)
        }
    }
#endif
