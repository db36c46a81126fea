/// The values that a person chose in the extension's setup interface before the broadcast began.
///
/// ReplayKit hands them from the setup UI extension to the upload extension, as `setupInfo`:
///
/// ```swift
/// let values: BroadcastValues = ["channelName": "", "rate": "30"]
/// print(values["channelName", default: "channel"], values["rate", default: "15"])
/// ```
///
/// A broadcast that was started in Control Center or with the system's picker has none: have a default for each. `SampleHandler` passes them to its `configuration(for:)`, and
/// the session keeps them.
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

    /// The value for a key; nil if there is none.
    public subscript(key: String) -> String? {
        get { texts[key] }
        set { texts[key] = newValue }
    }

    /// The value for a key, or a default if there is none or it is empty, as that of a field that was left empty.
    public subscript(key: String, default text: @autoclosure () -> String) -> String {
        texts[key].flatMap { $0.isEmpty ? nil : $0 } ?? text()
    }
}
