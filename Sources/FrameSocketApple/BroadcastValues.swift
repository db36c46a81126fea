// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    public import Foundation
#endif

/// The values that a person chose in the extension's setup interface before the broadcast began.
///
/// ReplayKit hands them from the setup UI extension to the upload extension, as `setupInfo`:
///
/// ```swift
/// let values: BroadcastValues = ["channelName": "", "rate": "30"]
/// print(values["channelName", default: "channel"], values["rate", default: "15"])
/// ```
///
/// A broadcast that was started in Control Center or with the system's picker has none: have a default for each.
/// `SampleHandler` passes them to its `configuration(for:)`, and the session keeps them.
public struct BroadcastValues: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// The texts by their keys.
    public var texts: [String: String]

    /// Creates a collection of values.
    public init(_ texts: [String: String] = [:]) {
        self.texts = texts
    }

    /// Creates a collection from a literal; of several values for a key, the last one counts.
    public init(dictionaryLiteral elements: (String, String)...) {
        texts = Dictionary(elements) { $1 }
    }

    #if canImport(ReplayKit)
        /// Creates a collection from what ReplayKit hands over; values that are neither text nor numbers are left out.
        public init(_ setupInfo: [String: NSObject]?) {
            texts = (setupInfo ?? [:]).compactMapValues { value in
                (value as? NSString)?.description ?? (value as? NSNumber)?.stringValue
            }
        }
    #endif

    /// The value for a key, or a default if there is none or it is empty, as that of a field that was left empty.
    public subscript(key: String, default text: @autoclosure () -> String) -> String {
        texts[key].flatMap { $0.isEmpty ? nil : $0 } ?? text()
    }
}
