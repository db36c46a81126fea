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

    /// Whether the last call ended with a warning, or went on after one.
    var hasWarning: Bool {
        unsafe tjGetErrorCode(raw) == Int32(TJERR_WARNING.rawValue)
    }

    /// What went wrong in the last call, with the library's words.
    ///
    /// The library keeps its words for each thread, so this is to be asked right after the call, on the same one.
    func error(_ code: TurboJPEGError.Code, _ message: String) -> TurboJPEGError {
        let text = unsafe tjGetErrorStr2(raw).map { unsafe String(cString: $0) }
        return TurboJPEGError(code, message, libraryMessage: text, isWarning: hasWarning)
    }

    /// What went wrong in the last call, which read a JPEG.
    func decodingError(byteCount: Int) -> TurboJPEGError {
        let error = error(.decodeFailed, "The JPEG of \(byteCount) bytes cannot be decoded.")
        guard error.isWarning else { return error }
        // The library has no code for it: the text is what tells a JPEG that stops from one that is damaged.
        if error.libraryMessage?.hasPrefix("Premature end") == true {
            return TurboJPEGError(
                .truncated,
                "The JPEG of \(byteCount) bytes ends before its picture does.",
                libraryMessage: error.libraryMessage,
                isWarning: true
            )
        }
        return TurboJPEGError(
            .corrupt,
            "The JPEG of \(byteCount) bytes is damaged.",
            libraryMessage: error.libraryMessage,
            isWarning: true
        )
    }
}
