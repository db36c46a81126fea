// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    public import Foundation
    internal import ReplayKit

    extension BroadcastValues {
        /// Creates a collection from what ReplayKit hands over; values that are neither text nor numbers are left out.
        public init(_ setupInfo: [String: NSObject]?) {
            self.init((setupInfo ?? [:]).compactMapValues(Self.text(of:)))
        }

        private static func text(of value: NSObject) -> String? {
            if let text = value as? NSString { return text.description }
            return (value as? NSNumber)?.stringValue
        }
    }

    extension NSExtensionContext {
        /// Ends the setup UI extension, and begins the broadcast with these values.
        ///
        /// - Parameters:
        ///   - url: The address at which the broadcast can be watched, which the app may show; any if there is none.
        ///   - values: The values for the upload extension.
        public func startBroadcast(at url: URL, with values: BroadcastValues) {
            completeRequest(withBroadcast: url, setupInfo: values.texts.mapValues { NSString(string: $0) })
        }

        /// Ends the setup UI extension without a broadcast, because the person cancelled.
        public func cancelBroadcast() {
            cancelRequest(withError: NSError(domain: RPRecordingErrorDomain, code: -5801, userInfo: nil))
        }
    }
#endif
