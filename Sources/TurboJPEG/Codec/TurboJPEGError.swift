internal import ErrorShape

/// An error from creating, reading, compressing or decompressing pixels.
///
/// `code` is stable and meant for programs; `message` is a sentence for a person. `libraryMessage` is libturbojpeg's
/// own text (`tjGetErrorStr2`) if the library reported the error.
public struct TurboJPEGError: Error, Sendable, Hashable {
    /// The kind of failure.
    ///
    /// A structure instead of an enumeration, so that later versions can add codes without breaking a `switch`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable text, such as `jpeg.truncated`.
        public let rawValue: String

        /// The stable text.
        public var description: String { rawValue }
    }

    /// The kind of failure.
    public let code: Code

    /// What happened, where, and what to do about it.
    public let message: String

    /// The text of libturbojpeg; nil if the library was not called or provided none.
    public let libraryMessage: String?

    /// The offset of the first wrong byte in the input; nil if it is not known, or the failure is not about bytes.
    public let byteOffset: UInt64?

    /// Whether limits that accept deviations (``JPEGDecoder/Limits/acceptsDeviations``) would not have caused this error.
    package let isDeviation: Bool

    /// The `errno` of the failed system call; always nil, because the library reports none.
    public var underlyingErrno: Int32? { nil }

    package init(
        _ code: Code,
        _ message: String,
        byteOffset: Int? = nil,
        libraryMessage: String? = nil,
        isDeviation: Bool = false
    ) {
        self.code = code
        self.message = message
        self.byteOffset = byteOffset.flatMap { UInt64(exactly: $0) }
        self.libraryMessage = libraryMessage
        self.isDeviation = isDeviation
    }

    /// Returns the error of a gate that accepts no deviations, with advice.
    func asDeviation(_ advice: String) -> TurboJPEGError {
        TurboJPEGError(code, "\(message); \(advice)", isDeviation: true)
    }
}

extension TurboJPEGError: DescribedError {
    package var cause: String? { libraryMessage.map { "libturbojpeg: \($0)" } }
}

extension TurboJPEGError: CustomStringConvertible {
    /// The message, the byte offset and the library's text, in one line.
    public var description: String { summary }
}

extension TurboJPEGError.Code {
    /// A width or height is outside 1 to 65,500.
    package static let invalidSize = Self(rawValue: "pixels.invalidSize")
    /// The bytes per row are fewer than a row's pixels need, or more than the library can count.
    public static let invalidStride = Self(rawValue: "pixels.invalidStride")
    /// Planes share samples.
    package static let overlappingPlanes = Self(rawValue: "pixels.overlappingPlanes")
    /// The system provided no memory for the pixels.
    public static let allocationFailed = Self(rawValue: "pixels.allocationFailed")
    /// A buffer is too small for the image.
    package static let bufferTooSmall = Self(rawValue: "pixels.bufferTooSmall")
    /// The number of bytes does not match the stated size and format.
    public static let byteCountMismatch = Self(rawValue: "pixels.byteCountMismatch")
    /// Two images that must have the same size do not.
    package static let sizeMismatch = Self(rawValue: "pixels.sizeMismatch")

    /// A JPEG quality is outside 1 to 100.
    package static let invalidQuality = Self(rawValue: "encode.invalidQuality")
    /// An output has less room than the encoder requires.
    package static let outputTooSmall = Self(rawValue: "encode.outputTooSmall")
    /// The library could not compress the image.
    package static let encodeFailed = Self(rawValue: "encode.failed")

    /// The bytes do not begin like a JPEG.
    public static let notJPEG = Self(rawValue: "jpeg.notJPEG")
    /// A JPEG has no image: only tables, or an end directly after the start.
    package static let noPicture = Self(rawValue: "jpeg.noPicture")
    /// A JPEG ends before its image does.
    public static let truncated = Self(rawValue: "jpeg.truncated")
    /// The compressed data of a JPEG is damaged (the library's warnings).
    package static let corrupt = Self(rawValue: "jpeg.corrupt")
    /// The markers or segments of a JPEG violate the format.
    public static let malformed = Self(rawValue: "jpeg.malformed")
    /// A JPEG uses a quantization or Huffman table that it does not define.
    package static let missingTable = Self(rawValue: "jpeg.missingTable")
    /// A progressive JPEG has more scans than the limit.
    package static let tooManyScans = Self(rawValue: "jpeg.tooManyScans")
    /// Data other than padding follows the end of a JPEG.
    package static let trailingData = Self(rawValue: "jpeg.trailingData")
    /// The library cannot decompress a JPEG.
    package static let decodeFailed = Self(rawValue: "jpeg.decodeFailed")
    /// An image is larger than the decoder's limits.
    public static let tooLarge = Self(rawValue: "jpeg.tooLarge")
    /// A kind of JPEG is not supported: progressive unless allowed, arithmetic, lossless, CMYK and others.
    public static let unsupported = Self(rawValue: "jpeg.unsupported")
    /// The library rejected a lossless transform, such as a perfect one of an image with partial blocks.
    public static let transformFailed = Self(rawValue: "jpeg.transformFailed")

    /// libturbojpeg provided no handle, which happens if memory is exhausted.
    package static let codecUnavailable = Self(rawValue: "codec.unavailable")
}
