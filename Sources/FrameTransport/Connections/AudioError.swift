internal import ErrorShape

/// An error that says why audio was refused.
///
/// `code` is stable, for programs; `message` is a sentence for a person.
public struct AudioError: Error, Sendable, Hashable {
    /// The kind of failure.
    ///
    /// A structure rather than an enumeration, so that later versions can add codes without breaking a `switch`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable text, such as `audio.unsupportedFormat`.
        public let rawValue: String

        /// The stable text.
        public var description: String { rawValue }
    }

    /// The kind of failure.
    public let code: Code

    /// What happened, with the offending value.
    public let message: String

    /// The `errno` of the failed system call; always nil, because none is made.
    public var underlyingErrno: Int32? { nil }

    /// The offset of the first wrong byte in the input; always nil.
    public var byteOffset: UInt64? { nil }

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension AudioError: DescribedError {}

extension AudioError: CustomStringConvertible {
    /// The message.
    public var description: String { summary }
}

extension AudioError.Code {
    /// A sample rate or a number of channels outside what ``AudioBlock/Format`` allows.
    public static let unsupportedFormat = Self(rawValue: "audio.unsupportedFormat")
    /// Samples or bytes that are not a whole number of frames.
    public static let incompleteFrame = Self(rawValue: "audio.incompleteFrame")
    /// A number of frames less than 0, or greater than the buffer can hold.
    public static let invalidFrameCount = Self(rawValue: "audio.invalidFrameCount")
    /// The resampler could not be created; memory may be exhausted.
    public static let resamplerUnavailable = Self(rawValue: "audio.resamplerUnavailable")
}
