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
        public let name: String

        /// The stable text, the same as `name`.
        public var description: String { name }
    }

    /// The kind of failure.
    public let code: Code

    /// What happened, where, and what to do about it.
    public let message: String

    /// The text of libturbojpeg; nil if the library was not called or provided none.
    public let libraryMessage: String?

    /// Whether the library considered this a warning: the data is corrupt, but pixels may have been written.
    ///
    /// The value is false for all failures that stopped the library, and for errors of this module.
    public let isWarning: Bool

    package init(_ code: Code, _ message: String, libraryMessage: String? = nil, isWarning: Bool = false) {
        self.code = code
        self.message = message
        self.libraryMessage = libraryMessage
        self.isWarning = isWarning
    }
}

extension TurboJPEGError: CustomStringConvertible {
    /// The message, the library's text, and the code, in one line.
    public var description: String {
        if let libraryMessage {
            "\(message) (libturbojpeg: \(libraryMessage)) [\(code)]"
        } else {
            "\(message) [\(code)]"
        }
    }
}

extension TurboJPEGError.Code {
    /// A width or height is outside 1 to 65,500, or an image has too many bytes to count.
    public static let invalidSize = Self(name: "pixels.invalidSize")
    /// The bytes per row are fewer than a row's pixels need, or more than the library can count.
    public static let invalidStride = Self(name: "pixels.invalidStride")
    /// Planes share samples.
    public static let overlappingPlanes = Self(name: "pixels.overlappingPlanes")
    /// The system provided no memory for the pixels.
    public static let allocationFailed = Self(name: "pixels.allocationFailed")
    /// A buffer is too small for the image.
    public static let bufferTooSmall = Self(name: "pixels.bufferTooSmall")
    /// The number of bytes does not match the stated size and format.
    public static let byteCountMismatch = Self(name: "pixels.byteCountMismatch")
    /// Two images that must have the same size do not.
    public static let sizeMismatch = Self(name: "pixels.sizeMismatch")

    /// A JPEG quality is outside 1 to 100.
    public static let invalidQuality = Self(name: "encode.invalidQuality")
    /// An output has less room than the encoder requires.
    public static let outputTooSmall = Self(name: "encode.outputTooSmall")
    /// The library could not compress the image.
    public static let encodeFailed = Self(name: "encode.failed")

    /// The bytes do not begin like a JPEG.
    public static let notJPEG = Self(name: "jpeg.notJPEG")
    /// A JPEG has no image: only tables, or an end directly after the start.
    public static let noPicture = Self(name: "jpeg.noPicture")
    /// A JPEG ends before its image does.
    public static let truncated = Self(name: "jpeg.truncated")
    /// The compressed data of a JPEG is damaged (the library's warnings).
    public static let corrupt = Self(name: "jpeg.corrupt")
    /// The markers or segments of a JPEG violate the format.
    public static let malformed = Self(name: "jpeg.malformed")
    /// A JPEG uses a quantization or Huffman table that it does not define.
    public static let missingTable = Self(name: "jpeg.missingTable")
    /// A progressive JPEG has more scans than the limit.
    public static let tooManyScans = Self(name: "jpeg.tooManyScans")
    /// Data other than padding follows the end of a JPEG.
    public static let trailingData = Self(name: "jpeg.trailingData")
    /// The library cannot decompress a JPEG.
    public static let decodeFailed = Self(name: "jpeg.decodeFailed")
    /// An image is larger than the decoder's limits.
    public static let tooLarge = Self(name: "jpeg.tooLarge")
    /// A kind of JPEG is not supported: progressive unless allowed, arithmetic, lossless, CMYK and others.
    public static let unsupported = Self(name: "jpeg.unsupported")
    /// The library rejected a lossless transform, such as a perfect one of an image with partial blocks.
    public static let transformFailed = Self(name: "jpeg.transformFailed")

    /// A portable pixmap violates its format.
    public static let invalidPPM = Self(name: "ppm.invalid")
    /// A portable pixmap ends before its image does.
    public static let truncatedPPM = Self(name: "ppm.truncated")
    /// A portable anymap is of an unsupported kind (P1, P4, P7).
    public static let unsupportedPPM = Self(name: "ppm.unsupported")

    /// libturbojpeg provided no handle, which happens if memory is exhausted.
    public static let codecUnavailable = Self(name: "codec.unavailable")
}
