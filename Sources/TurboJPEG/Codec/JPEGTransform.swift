internal import CTurboJPEG

/// A lossless rotation or reflection of a JPEG, without decoding it (`tjTransform`).
///
/// The blocks change places and keep their coefficients.
public enum JPEGTransform: Sendable, Hashable, CaseIterable {
    /// The image unchanged, written again.
    case none
    /// Left and right exchanged.
    case flipHorizontal
    /// Top and bottom exchanged.
    case flipVertical
    /// Reflected along the diagonal from the top left: rows become columns.
    case transpose
    /// Reflected along the diagonal from the top right.
    case transverse
    /// Rotated clockwise by 90 degrees.
    case rotate90
    /// Rotated by 180 degrees.
    case rotate180
    /// Rotated clockwise by 270 degrees.
    case rotate270

    /// The treatment of blocks at the right and bottom edges that the image fills only partly and that cannot move.
    public enum Edges: Sendable, Hashable, CaseIterable {
        /// Partial blocks are an error (`TJXOPT_PERFECT`).
        case perfect
        /// Partial blocks are cut off, which makes the image smaller (`TJXOPT_TRIM`).
        case trim
        /// Partial blocks stay in place, untransformed: the library's default.
        case keep

        fileprivate var options: Int32 {
            switch self {
            case .perfect: TJXOPT_PERFECT
            case .trim: TJXOPT_TRIM
            case .keep: 0
            }
        }
    }

    /// Returns the transformed JPEG, with all markers of the original.
    ///
    /// The orientation in an EXIF marker is kept as well, and is therefore wrong afterwards for viewers that honor it.
    ///
    /// - Parameters:
    ///   - jpeg: A JPEG.
    ///   - edges: The treatment of partial blocks; `keep` by default.
    ///   - limits: The limits that the JPEG must meet. The library needs up to twelve bytes per pixel.
    /// - Returns: The new JPEG.
    /// - Throws: `transformFailed` if the library refuses, as it does for `perfect` and partial blocks, or if `trim`
    ///   would leave nothing; `unsupported` if the sides of a `4:1:1` image would be swapped; and the errors of
    ///   `JPEGDecoder.decode` for an invalid JPEG.
    public func apply(
        to jpeg: Span<UInt8>,
        edges: Edges = .keep,
        limits: JPEGDecoder.Limits = .init()
    ) throws(TurboJPEGError) -> [UInt8] {
        let structure = try JPEGGate.structure(of: jpeg, limits: limits)
        return try structure.repair.apply(to: jpeg) { jpeg throws(TurboJPEGError) in
            try apply(to: jpeg, structure, edges: edges)
        }
    }

    private func apply(
        to jpeg: Span<UInt8>,
        _ structure: JPEGStructure,
        edges: Edges
    ) throws(TurboJPEGError) -> [UInt8] {
        let handle = try CodecHandle(for: .transform)
        let header = try JPEGHeader(inspecting: jpeg, with: handle)
        guard header.subsampling != .yuv411 || !swapsSides else {
            throw TurboJPEGError(
                .unsupported,
                "rotating a 4:1:1 JPEG results in a subsampling that few decoders support; decode, rotate and encode "
                    + "it instead"
            )
        }
        // The library would leave such a side as it is, and not say so.
        guard edges != .trim || !isWithoutWholeBlock(structure) else {
            throw TurboJPEGError(
                .transformFailed,
                "the JPEG of \(header.width)x\(header.height) has no whole block to move; decode, rotate and encode it "
                    + "instead"
            )
        }
        var transform = unsafe tjtransform()
        unsafe transform.op = operation
        unsafe transform.options = edges.options
        var output: UnsafeMutablePointer<UInt8>?
        var byteCount: UInt = 0
        // The library allocates the output, possibly even if it then fails.
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
                "the JPEG of \(header.width)x\(header.height) cannot be transformed (\(self), edges \(edges))"
            )
        }
        return unsafe Array(UnsafeBufferPointer(start: output, count: Int(byteCount)))
    }

    /// Whether a side that is mirrored has only a partial block.
    private func isWithoutWholeBlock(_ jpeg: JPEGStructure) -> Bool {
        let mirrored: (width: Bool, height: Bool) =
            switch self {
            case .none, .transpose: (false, false)
            case .flipHorizontal, .rotate270: (true, false)
            case .flipVertical, .rotate90: (false, true)
            case .rotate180, .transverse: (true, true)
            }
        // The library names a subsampling by its ratios, but moves MCUs, which are larger if the factors have not been
        // reduced. A single component has MCUs of one block.
        let isAlone = jpeg.components.count == 1
        return (mirrored.width && jpeg.width < (isAlone ? 8 : 8 * jpeg.maximumHorizontal))
            || (mirrored.height && jpeg.height < (isAlone ? 8 : 8 * jpeg.maximumVertical))
    }

    /// Whether width and height are exchanged.
    package var swapsSides: Bool {
        switch self {
        case .transpose, .transverse, .rotate90, .rotate270: true
        case .none, .flipHorizontal, .flipVertical, .rotate180: false
        }
    }

    /// The library's constant for this transform.
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
