internal import CTurboJPEG

/// A turn or mirroring of a JPEG without decoding it, and so without loss (`tjTransform`).
///
/// The blocks change places and keep their coefficients.
public enum JPEGTransform: Sendable, Hashable, CaseIterable {
    /// The picture as it is, written anew.
    case none
    /// Left and right change places.
    case flipHorizontal
    /// Top and bottom change places.
    case flipVertical
    /// Mirrored at the diagonal from the top left: rows become columns.
    case transpose
    /// Mirrored at the diagonal from the top right.
    case transverse
    /// Turned clockwise by 90 degrees.
    case rotate90
    /// Turned by 180 degrees.
    case rotate180
    /// Turned clockwise by 270 degrees.
    case rotate270

    /// What becomes of blocks at the right and lower edge that the picture fills in part, and that cannot be moved.
    public enum Edges: Sendable, Hashable, CaseIterable {
        /// They are an error (`TJXOPT_PERFECT`).
        case perfect
        /// They are cut off, so that the picture becomes smaller (`TJXOPT_TRIM`).
        case trim
        /// They stay at their place, unturned: what the library does unless told otherwise.
        case keep

        fileprivate var options: Int32 {
            switch self {
            case .perfect: TJXOPT_PERFECT
            case .trim: TJXOPT_TRIM
            case .keep: 0
            }
        }
    }

    /// The transformed JPEG, with all markers of the one given.
    ///
    /// An orientation that an EXIF marker states is kept as well, and so is wrong afterwards for those who heed it.
    ///
    /// - Parameters:
    ///   - jpeg: A JPEG.
    ///   - edges: What becomes of partial blocks; `keep` by default.
    ///   - limits: What the JPEG may be. The library needs up to twelve bytes a pixel.
    /// - Returns: The new JPEG.
    /// - Throws: `transformFailed` where the library refuses, as it does with `perfect` and partial blocks; `unsupported`
    ///   where a `4:1:1` picture should swap its sides; for what is wrong with the JPEG, what `JPEGDecoder.decode` throws.
    public func apply(
        to jpeg: Span<UInt8>,
        edges: Edges = .keep,
        limits: JPEGLimits = .init()
    ) throws(TurboJPEGError) -> [UInt8] {
        _ = try JPEGGate.structure(of: jpeg, limits: limits)
        let handle = try CodecHandle(for: .transform)
        let header = try JPEGHeader(inspecting: jpeg, with: handle)
        guard header.subsampling != .yuv411 || !swapsSides else {
            throw TurboJPEGError(
                .unsupported,
                "A 4:1:1 JPEG turned on its side has a subsampling that few decoders know; decode, turn and encode it."
            )
        }
        var transform = unsafe tjtransform()
        unsafe transform.op = operation
        unsafe transform.options = edges.options
        var output: UnsafeMutablePointer<UInt8>?
        var byteCount: UInt = 0
        // The library allocates, and may do so before it fails.
        defer { unsafe tjFree(output) }
        let status = unsafe jpeg.withUnsafeBufferPointer { bytes in
            unsafe tjTransform(
                handle.raw,
                bytes.baseAddress,
                UInt(bytes.count),
                1,
                &output,
                &byteCount,
                &transform,
                TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS
            )
        }
        guard status == 0 else {
            if handle.failedByWarning { throw handle.decodingError(byteCount: jpeg.count) }
            throw handle.error(
                .transformFailed,
                "The JPEG of \(header.width)x\(header.height) cannot be transformed (\(self), edges \(edges))."
            )
        }
        return unsafe Array(UnsafeBufferPointer(start: output, count: Int(byteCount)))
    }

    /// Whether width and height change places.
    public var swapsSides: Bool {
        switch self {
        case .transpose, .transverse, .rotate90, .rotate270: true
        case .none, .flipHorizontal, .flipVertical, .rotate180: false
        }
    }

    /// The library's number for it.
    private var operation: Int32 {
        let operation =
            switch self {
            case .none: TJXOP_NONE
            case .flipHorizontal: TJXOP_HFLIP
            case .flipVertical: TJXOP_VFLIP
            case .transpose: TJXOP_TRANSPOSE
            case .transverse: TJXOP_TRANSVERSE
            case .rotate90: TJXOP_ROT90
            case .rotate180: TJXOP_ROT180
            case .rotate270: TJXOP_ROT270
            }
        return Int32(operation.rawValue)
    }
}
