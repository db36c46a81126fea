internal import CTurboJPEG

/// A handle of the library, destroyed at the end of its lifetime.
///
/// Each image gets a new handle. A handle keeps tables and, after some errors, a broken state from one image to the
/// next; creating one costs 0.2 us.
@safe struct CodecHandle: ~Copyable {
    /// The operation that a handle is for.
    enum Purpose {
        case decompress, transform
    }

    /// The handle for the library's calls.
    let raw: tjhandle

    init(for purpose: Purpose) throws(TurboJPEGError) {
        let handle =
            switch purpose {
            case .decompress: unsafe tjInitDecompress()
            case .transform: unsafe tjInitTransform()
            }
        guard let handle = unsafe handle else {
            throw TurboJPEGError(
                .codecUnavailable,
                "the JPEG library could not be initialized; memory may be exhausted"
            )
        }
        unsafe raw = unsafe handle
    }

    deinit {
        unsafe tjDestroy(raw)
    }

    /// Whether the last failed call reported only a warning, and wrote what it could.
    ///
    /// `tjGetErrorCode` also returns `TJERR_WARNING` if an error followed a warning, and nothing was written. Only the
    /// text distinguishes the two: in that case it is that of the error.
    var failedByWarning: Bool {
        guard unsafe tjGetErrorCode(raw) == Int32(TJERR_WARNING.rawValue), let text = libraryMessage else {
            return false
        }
        return Self.warnings.contains { text.hasPrefix($0) }
    }

    /// The library's message about the last call.
    ///
    /// The library keeps one message per thread, so read it directly after the call, on the same thread.
    private var libraryMessage: String? {
        unsafe tjGetErrorStr2(raw).map { unsafe String(cString: $0) }
    }

    /// Returns the error of the last call, with the library's message.
    func error(_ code: TurboJPEGError.Code, _ message: String) -> TurboJPEGError {
        TurboJPEGError(code, message, libraryMessage: libraryMessage)
    }

    /// Returns the error of the last call, which read a JPEG.
    func decodingError(byteCount: Int) -> TurboJPEGError {
        guard failedByWarning else {
            if libraryMessage?.contains(Self.samplingError) == true {
                return error(
                    .unsupported,
                    """
                    The JPEG of \(byteCount) bytes has components whose sizes have no name here; encode it as 4:4:4, 4:2:2, \
                    4:2:0, 4:4:0, 4:1:1 or gray.
                    """
                )
            }
            return error(.decodeFailed, "the JPEG of \(byteCount) bytes cannot be decoded")
        }
        return libraryMessage?.hasPrefix(Self.endWarning) == true
            ? error(.truncated, "the JPEG of \(byteCount) bytes ends before its image is complete")
            : error(.corrupt, "the JPEG of \(byteCount) bytes is damaged")
    }

    /// The library's message if it rejects sampling factors that have no name in it.
    private static let samplingError = "Could not determine subsampling"

    /// The library's message if the data ends too early.
    private static let endWarning = "Premature end of JPEG file"

    /// The beginnings of the library's warnings (`JWRN_` in its `jerror.h`); any other text is treated as an error.
    private static let warnings = [
        endWarning, "Corrupt JPEG data", "Inconsistent progression sequence", "Invalid SOS parameters", "Unknown Adobe",
        "Warning: unknown JFIF",
    ]
}
