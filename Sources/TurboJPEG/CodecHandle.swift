internal import CTurboJPEG

/// A handle of the library, destroyed at the end of its life.
///
/// Each picture gets a fresh one. A handle keeps tables and, after some errors, a broken state from one picture to the
/// next; making one costs 0.2 us.
@safe struct CodecHandle: ~Copyable {
    /// What a handle can do.
    enum Purpose {
        case compress, decompress, transform
    }

    /// The handle for the library's calls.
    let raw: tjhandle

    init(for purpose: Purpose) throws(TurboJPEGError) {
        let handle =
            switch purpose {
            case .compress: unsafe tjInitCompress()
            case .decompress: unsafe tjInitDecompress()
            case .transform: unsafe tjInitTransform()
            }
        guard let handle = unsafe handle else {
            throw TurboJPEGError(.codecUnavailable, "The JPEG library could not be started; memory may be exhausted.")
        }
        unsafe raw = unsafe handle
    }

    deinit {
        unsafe tjDestroy(raw)
    }

    /// Whether the last call that failed did so by a warning alone, and wrote what it could.
    ///
    /// `tjGetErrorCode` also says `TJERR_WARNING` where an error came after a warning, and nothing was written. What
    /// tells the two apart is the text, which is that of the error then.
    var failedByWarning: Bool {
        guard unsafe tjGetErrorCode(raw) == Int32(TJERR_WARNING.rawValue), let text = libraryMessage else {
            return false
        }
        return Self.warnings.contains { text.hasPrefix($0) }
    }

    /// What the library said about the last call.
    ///
    /// It keeps its words for each thread, so this is to be asked right after the call, on the same one.
    private var libraryMessage: String? {
        unsafe tjGetErrorStr2(raw).map { unsafe String(cString: $0) }
    }

    /// What went wrong in the last call, with the library's words.
    func error(_ code: TurboJPEGError.Code, _ message: String) -> TurboJPEGError {
        TurboJPEGError(code, message, libraryMessage: libraryMessage, isWarning: failedByWarning)
    }

    /// What went wrong in the last call, which read a JPEG.
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
            return error(.decodeFailed, "The JPEG of \(byteCount) bytes cannot be decoded.")
        }
        return libraryMessage?.hasPrefix(Self.endWarning) == true
            ? error(.truncated, "The JPEG of \(byteCount) bytes ends before its picture does.")
            : error(.corrupt, "The JPEG of \(byteCount) bytes is damaged.")
    }

    /// How the library refuses sampling factors that have no name in it.
    private static let samplingError = "Could not determine subsampling"

    /// How the library warns of an end that comes too early.
    private static let endWarning = "Premature end of JPEG file"

    /// How the library's warnings begin (`JWRN_` in its `jerror.h`); an unknown text is taken for an error.
    private static let warnings = [
        endWarning, "Corrupt JPEG data", "Inconsistent progression sequence", "Invalid SOS parameters", "Unknown Adobe",
        "Warning: unknown JFIF",
    ]
}
