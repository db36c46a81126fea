// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    internal import Foundation
    internal import FrameSocket
    internal import ReplayKit

    extension BroadcastEnd {
        /// The error for `finishBroadcastWithError(_:)`.
        ///
        /// An `NSError` whose dictionary holds the sentence, under both keys: versions of the system show one or the
        /// other, and the properties of a Swift error do not travel to the process that shows it.
        package var shown: any Error {
            let sentence = sentence { Bundle.main.localizedString(forKey: $0, value: $1, table: nil) }
            return NSError(
                domain: RPRecordingErrorDomain,
                code: reason.rawValue,
                userInfo: [NSLocalizedDescriptionKey: sentence, NSLocalizedFailureReasonErrorKey: sentence]
            )
        }
    }
#else
    extension BroadcastEnd {
        /// The error for `finishBroadcastWithError(_:)`.
        package var shown: any Error { self }
    }
#endif
