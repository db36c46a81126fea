package import FrameSocket

/// The end of a broadcast: its reason, and the sentence for the person.
package struct BroadcastEnd: Error, Sendable, Hashable {
    package let reason: ControlRequest.FinishReason
    /// The sentence if the reason's own does not help, about what is wrong with the setup; nil for the reason's own.
    package let detail: String?

    package init(_ reason: ControlRequest.FinishReason, detail: String? = nil) {
        self.reason = reason
        self.detail = detail
    }

    /// Creates the end of a connection.
    package init(_ reason: CloseReason) {
        self.init(reason.finishReason, detail: reason.error.flatMap(Self.detail(of:)))
    }

    /// The key of the reason's sentence in an extension's `Localizable.strings`, such as `FrameSocket.callEnded`.
    package var localizationKey: String { "FrameSocket.\(reason.name)" }

    /// Returns the detail, or the reason's sentence in the language of the extension.
    ///
    /// `translate` returns the text for a key, or the given one if there is none.
    package func sentence(_ translate: (_ key: String, _ text: String) -> String) -> String {
        detail ?? translate(localizationKey, reason.description)
    }

    /// The sentence about an error that only a developer can correct; nil for any other.
    private static func detail(of error: TransportError) -> String? {
        switch error.code {
        case .invalidPath, .pathTooLong, .tokenRequired, .invalidToken, .notASocket:
            "Screen sharing is not set up correctly: \(error.description)."
        default: nil
        }
    }
}

extension BroadcastEnd: CustomStringConvertible {
    /// The sentence in English.
    package var description: String { sentence { $1 } }
}
