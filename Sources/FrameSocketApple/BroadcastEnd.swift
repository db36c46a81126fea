// Type-checked against stubs, not run on a device.

public import FrameSocket

#if canImport(ReplayKit)
    internal import Foundation
    internal import ReplayKit
#endif

/// The end of a broadcast: its reason, and the sentence for the person.
package struct BroadcastEnd: Error, Sendable, Hashable {
    package let reason: ControlRequest.FinishReason

    /// What is wrong with the setup, which only a developer can correct; nil if nothing is.
    package let mistake: String?

    package init(_ reason: ControlRequest.FinishReason, mistake: String? = nil) {
        (self.reason, self.mistake) = (reason, mistake)
    }

    /// Creates the end of a connection.
    package init(_ reason: CloseReason) {
        let mistake: String? =
            switch reason.error?.code {
            case .invalidPath, .pathTooLong, .tokenRequired, .invalidToken, .notASocket: reason.error?.description
            default: nil
            }
        self.init(reason.finishReason, mistake: mistake)
    }

    /// Returns the mistake, or the reason's sentence in the language of the extension.
    ///
    /// `translate` returns the text for a key in the extension's `Localizable.strings`, such as `FrameSocket.callEnded`, or
    /// the given one if there is none.
    package func sentence(_ translate: (_ key: String, _ text: String) -> String) -> String {
        if let mistake { return "Screen sharing is not set up correctly: \(mistake)." }
        return translate("FrameSocket.\(reason.name)", reason.description)
    }

    /// The error for `finishBroadcastWithError(_:)`.
    package var shown: any Error {
        #if canImport(ReplayKit)
            // Versions of the system show the text of one key or the other, and the properties of a Swift error do not
            // travel to the process that shows it.
            let sentence = sentence { Bundle.main.localizedString(forKey: $0, value: $1, table: nil) }
            return NSError(
                domain: RPRecordingErrorDomain,
                code: reason.rawValue,
                userInfo: [NSLocalizedDescriptionKey: sentence, NSLocalizedFailureReasonErrorKey: sentence]
            )
        #else
            return self
        #endif
    }
}

extension BroadcastEnd: CustomStringConvertible {
    /// The sentence in English.
    package var description: String { sentence { $1 } }
}

extension ControlRequest.FinishReason {
    /// Creates the reason for a code of ReplayKit's `RPRecordingErrorCode`, which an app learns of a broadcast that it
    /// started itself: `RPBroadcastControllerDelegate` reports it.
    ///
    /// An interruption by a lock, a call, another app or CarPlay becomes `suspended`; the person's refusal
    /// `stoppedByUser`; a lost connection to the recorded app `disconnected`; anything else `error`. An extension
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
