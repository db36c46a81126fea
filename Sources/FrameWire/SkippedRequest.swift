/// A request that was read to its end but means nothing here; what follows it is sound.
public struct SkippedRequest: Sendable, Hashable {
    /// Why it means nothing.
    public enum Reason: Sendable, Hashable {
        /// This version has no request of that name.
        case unknown
        /// A field that the request needs is wrong, occurs twice or is missing.
        case malformed(WireError.Code)
    }

    /// The name in the request line, printable ASCII; of one over 32 bytes the first 32 and three points.
    public let name: String

    /// Why the request was skipped.
    public let reason: Reason

    /// The first wrong byte, counted from the stream's first byte, 0; of an unknown request its first byte.
    public let byteOffset: UInt64

    /// Whether the receiver asked for images as no sender can make them, or in a form that says nothing.
    package var isPreference: Bool { name == ControlRequest.prefer(ControlPreferences()).name }

    /// Creates the report of a request that was skipped.
    public init(name: String, reason: Reason, byteOffset: UInt64) {
        self.name = name
        self.reason = reason
        self.byteOffset = byteOffset
    }
}

extension SkippedRequest: CustomStringConvertible {
    /// A sentence for a person, with the name, the reason and the byte.
    public var description: String {
        switch reason {
        case .unknown: "A request of an unknown name, \"\(name)\", at byte \(byteOffset)"
        case .malformed(let code): "In the request \"\(name)\": \(code.explanation) at byte \(byteOffset) (\(code))"
        }
    }
}
