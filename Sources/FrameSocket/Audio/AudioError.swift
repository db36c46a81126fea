/// An error that says why audio was refused.
///
/// `code` is stable, for programs; `message` is a sentence for a person.
public struct AudioError: Error, Sendable, Hashable {
    /// The kind of failure.
    ///
    /// A structure rather than an enumeration, so that later versions can add codes without breaking a `switch`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable spelling, such as `audio.unsupportedFormat`.
        public let name: String

        /// The stable spelling, the same as `name`.
        public var description: String { name }
    }

    /// The kind of failure.
    public let code: Code

    /// What happened, with the offending value.
    public let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension AudioError: CustomStringConvertible {
    /// The message and the code, in one line.
    public var description: String { "\(message) [\(code)]" }
}

extension AudioError.Code {
    /// A sample rate or a number of channels outside what ``AudioFormat`` allows.
    public static let unsupportedFormat = Self(name: "audio.unsupportedFormat")
    /// Samples or bytes that are not a whole number of frames.
    public static let incompleteFrame = Self(name: "audio.incompleteFrame")
    /// A block whose format differs from the agreed one.
    public static let formatMismatch = Self(name: "audio.formatMismatch")
    /// A number of frames less than 0, or greater than the buffer can hold.
    public static let invalidFrameCount = Self(name: "audio.invalidFrameCount")
    /// Memory that is too small for the output.
    public static let outputTooSmall = Self(name: "audio.outputTooSmall")
    /// The resampler could not be created; memory may be exhausted.
    public static let resamplerUnavailable = Self(name: "audio.resamplerUnavailable")
}
