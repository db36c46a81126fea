/// Why pixels could not be made, read, compressed or decompressed.
///
/// `code` is stable and meant for programs; `message` is a sentence for a person. `libraryMessage` is libturbojpeg's own
/// text (`tjGetErrorStr2`) where the library was the one to refuse.
public struct TurboJPEGError: Error, Sendable, Hashable {
    /// What kind of failure this is.
    ///
    /// A structure and not an enumeration, so that later versions can add codes without breaking a `switch`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable spelling, such as `jpeg.truncated`.
        public let name: String

        /// The stable spelling, the same as `name`.
        public var description: String { name }
    }

    /// What kind of failure this is.
    public let code: Code

    /// What happened, where, and what to do about it.
    public let message: String

    /// The text of libturbojpeg, or nil where the library was not asked or had nothing to say.
    public let libraryMessage: String?

    /// Whether the library called this a warning: the data are corrupt, and pixels may have been written nevertheless.
    ///
    /// False for everything that the library could not go on after, and for errors of this module.
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
    /// A width or height outside 1 to 65,500, or a picture whose bytes cannot be counted.
    public static let invalidSize = Self(name: "pixels.invalidSize")
    /// Bytes per row that are fewer than a row's pixels need, or more than the library can count.
    public static let invalidStride = Self(name: "pixels.invalidStride")
    /// Planes that share samples.
    public static let overlappingPlanes = Self(name: "pixels.overlappingPlanes")
    /// The system gave no memory for the pixels.
    public static let allocationFailed = Self(name: "pixels.allocationFailed")
    /// A buffer that is too small for the picture that should go into it.
    public static let bufferTooSmall = Self(name: "pixels.bufferTooSmall")
    /// A count of bytes that does not agree with the stated size and format.
    public static let byteCountMismatch = Self(name: "pixels.byteCountMismatch")
    /// Two pictures that must have the same size and do not.
    public static let sizeMismatch = Self(name: "pixels.sizeMismatch")

    /// A JPEG quality outside 1 to 100.
    public static let invalidQuality = Self(name: "encode.invalidQuality")
    /// An output that has less room than the encoder must be given.
    public static let outputTooSmall = Self(name: "encode.outputTooSmall")
    /// The library could not compress the picture.
    public static let encodeFailed = Self(name: "encode.failed")

    /// Bytes that do not begin as a JPEG does.
    public static let notJPEG = Self(name: "jpeg.notJPEG")
    /// A JPEG without a picture: tables only, or an end right after the start.
    public static let noPicture = Self(name: "jpeg.noPicture")
    /// A JPEG that ends before its picture does.
    public static let truncated = Self(name: "jpeg.truncated")
    /// A JPEG whose compressed data are damaged (the library's warnings).
    public static let corrupt = Self(name: "jpeg.corrupt")
    /// A JPEG whose markers or segments break the format's rules.
    public static let malformed = Self(name: "jpeg.malformed")
    /// A JPEG that uses a quantization or Huffman table that it does not define.
    public static let missingTable = Self(name: "jpeg.missingTable")
    /// A progressive JPEG with more scans than the limit.
    public static let tooManyScans = Self(name: "jpeg.tooManyScans")
    /// Something other than padding behind a JPEG's end.
    public static let trailingData = Self(name: "jpeg.trailingData")
    /// A JPEG that the library cannot decompress.
    public static let decodeFailed = Self(name: "jpeg.decodeFailed")
    /// A picture larger than the limits that the decoder was given.
    public static let tooLarge = Self(name: "jpeg.tooLarge")
    /// A kind of JPEG that is not decoded here: progressive unless allowed, arithmetic, lossless, CMYK and others.
    public static let unsupported = Self(name: "jpeg.unsupported")
    /// A lossless transform that the library refused, such as a perfect one of a picture with partial blocks.
    public static let transformFailed = Self(name: "jpeg.transformFailed")

    /// A portable pixmap that breaks its format's rules.
    public static let invalidPPM = Self(name: "ppm.invalid")
    /// A portable pixmap that ends before its picture does.
    public static let truncatedPPM = Self(name: "ppm.truncated")
    /// A portable anymap of a kind that is not read here (P1, P4, P7).
    public static let unsupportedPPM = Self(name: "ppm.unsupported")

    /// libturbojpeg gave no handle, which happens when memory is exhausted.
    public static let codecUnavailable = Self(name: "codec.unavailable")
}
