/// A request that was read to its end but not understood; the stream after it is still valid.
package struct SkippedRequest: Sendable, Hashable {
    /// The reason a request was skipped.
    package enum Reason: Sendable, Hashable {
        /// This version has no request of that name.
        case unknown
        /// A field that the request needs is invalid, duplicated or missing.
        case malformed(WireError.Code)
    }

    /// The name in the request line, in printable ASCII; if over 32 bytes, its first 32 followed by three periods.
    package let name: String

    /// The reason the request was skipped.
    package let reason: Reason

    /// The offset of the first wrong byte in the stream, starting at 0; for an unknown request, that of its first byte.
    package let byteOffset: UInt64

    /// Whether the request is `prefer`, with values that no sender can satisfy, or in an invalid form.
    package var isPreference: Bool { name == ControlRequest.prefer(ControlRequest.Preferences()).name }

    /// Whether the request is an `info`.
    var isInfo: Bool { name == ControlName.info.rawValue }

    /// Creates the report of a skipped request.
    package init(name: String, reason: Reason, byteOffset: UInt64) {
        self.name = name
        self.reason = reason
        self.byteOffset = byteOffset
    }
}

extension SkippedRequest: CustomStringConvertible {
    /// A description for a person, with the name, the reason and the byte.
    package var description: String {
        switch reason {
        case .unknown: "Unknown request, \"\(name)\", at byte \(byteOffset)"
        case .malformed(let code): "In request \"\(name)\": \(code.explanation) at byte \(byteOffset) (\(code))"
        }
    }
}
