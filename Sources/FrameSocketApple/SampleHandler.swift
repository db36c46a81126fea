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
            var endsQuietly = false
            var stopRequests: BroadcastObservation?
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
            let isQuiet = state.withLock { $0.endsQuietly } && ending.reason.isOrderly
            guard end(ending.reason) else { return }
            // In ReplayKit an extension can end a broadcast only with an error.
            if isQuiet { finishBroadcastQuietly() } else { finishBroadcastWithError(ending.shown) }
        }

        /// Ends the broadcast without an alert; see ``BroadcastSession/Configuration/endsQuietly``.
        ///
        /// A subclass that overrides `finishBroadcastWithError(_:)` must override this too: the method is called with nil,
        /// which an override in Swift does not expect.
        open func finishBroadcastQuietly() {
            _ = unsafe perform(NSSelectorFromString("finishBroadcastWithError:"), with: nil)
        }

        /// Ends the broadcast, and returns whether it had not ended before.
        private func end(_ reason: ControlRequest.FinishReason) -> Bool {
            let (isFirst, session, stopRequests) = state.withLock { state in
                defer { state.isFinished = true }
                return (!state.isFinished, state.session.take(), state.stopRequests.take())
            }
            guard isFirst else { return false }
            session?.finish(reason)
            withExtendedLifetime(stopRequests) { BroadcastNotification.stopped.post() }
            return true
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
                return finish(BroadcastEnd(.noHost, detail: BroadcastSetup.sentenceWithoutPath()))
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
            _ = end(isInterrupted ? .suspended : .stoppedByUser)
        }

        /// Sends a frame, or audio to an app that requested it; unreadable samples are dropped.
        open override func processSampleBuffer(
            _ sampleBuffer: CMSampleBuffer,
            with sampleBufferType: RPSampleBufferType
        ) {
            guard let session else { return }
            switch sampleBufferType {
            case .video: send(imageOf: sampleBuffer, to: session)
            case .audioApp: send(soundOf: sampleBuffer, .app, to: session)
            case .audioMic: send(soundOf: sampleBuffer, .microphone, to: session)
            @unknown default: break
            }
        }

        private func send(imageOf sample: CMSampleBuffer, to session: BroadcastSession) {
            do throws(TurboJPEGError) {
                let sample = try VideoSample(sample)
                session.send(
                    copying: sample.image,
                    color: sample.color,
                    orientation: sample.orientation,
                    timestamp: sample.timestamp
                )
            } catch {
                session.reportUnreadableImage(error)
            }
        }

        private func send(soundOf sample: CMSampleBuffer, _ kind: AudioKind, to session: BroadcastSession) {
            guard session.sendsAudio, let block = try? AudioBlock(sample, kind: kind) else { return }
            session.send(block)
        }
    }
#endif
