public import FrameSocket

extension ControlRequest.FinishReason {
    /// Creates the reason for a code of ReplayKit's `RPRecordingErrorCode`, which an app learns of a broadcast that it
    /// started itself: `RPBroadcastControllerDelegate` reports it.
    ///
    /// An interruption by a lock, a call, another app or CarPlay becomes ``suspended``; the person's refusal
    /// ``stoppedByUser``; a lost connection to the recorded app ``disconnected``; anything else ``error``. An extension
    /// is not told: it hears `broadcastFinished()` in every case.
    public init(recordingErrorCode code: Int) {
        // The numbers of RPError.h in Apple's SDKs.
        switch code {
        case -5_801: self = .stoppedByUser
        case -5_806, -5_807, -5_809, -5_811, -5_813: self = .suspended
        case -5_814, -5_815: self = .disconnected
        default: self = .error
        }
    }
}
