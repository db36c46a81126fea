internal import CTurboJPEG

/// Decompresses JPEGs: sequential ones, and progressive ones if its limits allow them.
///
/// A decoder is a value with options. It keeps no state from one image to the next, except for memory to reuse. Several
/// threads can use the same decoder at once, and copies of a decoder share the memory. The pixels equal those of
/// libjpeg-turbo's `djpeg`.
///
/// ```swift
/// let image = try JPEGDecoder().decode(jpeg.span, as: .bgra)
/// ```
public struct JPEGDecoder: Sendable {
    /// Whether chroma is repeated instead of interpolated (`TJFLAG_FASTUPSAMPLE`), which is 10% faster and less
    /// accurate; false by default.
    package var usesFastUpsampling = false

    /// The limits that a JPEG must meet.
    public var limits = JPEGDecoder.Limits()

    /// The pool that provides and reuses the memory of decoded images.
    public let pool: PixelBuffer.Pool

    /// Reusable planes for data that the library needs in another shape.
    let scratch = PixelBuffer.Pool()

    /// Creates a decoder with default options.
    ///
    /// - Parameter pool: The pool that provides memory; by default, a new pool.
    public init(pool: PixelBuffer.Pool = PixelBuffer.Pool()) {
        self.pool = pool
    }

    /// Decodes to an image in memory of the pool (`tjDecompress2`, `tjDecompressToYUVPlanes`).
    ///
    /// Planar formats are decoded without a detour through RGB, unless the JPEG has RGB components or the library
    /// cannot scale its planes to this size: a `4:2:0` JPEG yields its samples unchanged, other subsamplings yield
    /// averaged or repeated chroma, and gray JPEGs yield chroma 128.
    ///
    /// - Parameters:
    ///   - jpeg: The JPEG; zero bytes after its end are ignored.
    ///   - format: The arrangement of the bytes.
    ///   - scale: The size, as a fraction of the JPEG's. If an image is so small that several fractions yield the same
    ///     size, the library uses the largest of them.
    /// - Returns: The image, in memory that returns to the pool.
    /// - Throws: `notJPEG`, `noPicture`, `truncated`, `malformed`, `missingTable`, `unsupported`, `tooLarge`,
    ///   `tooManyScans` and `trailingData` before any memory for pixels is allocated; `allocationFailed`, `corrupt`,
    ///   `decodeFailed`. After an error, the memory returns to the pool.
    public func decode(
        _ jpeg: Span<UInt8>,
        as format: PixelFormat,
        scale: JPEGDecoder.ScalingFactor = .full
    ) throws(TurboJPEGError) -> PixelBuffer {
        try decode(jpeg, structure(of: jpeg), as: format, scale: scale)
    }

    /// Decodes as ``decode(_:as:scale:)`` does, once a check has accepted the JPEG's width and height.
    package func decode(
        _ jpeg: Span<UInt8>,
        as format: PixelFormat,
        scale: JPEGDecoder.ScalingFactor,
        checking check: (Int, Int) throws(TurboJPEGError) -> Void
    ) throws(TurboJPEGError) -> PixelBuffer {
        let structure = try structure(of: jpeg)
        try check(structure.width, structure.height)
        return try decode(jpeg, structure, as: format, scale: scale)
    }

    /// Decodes a JPEG with the structure that was found in it.
    func decode(
        _ jpeg: Span<UInt8>,
        _ structure: JPEGStructure,
        as format: PixelFormat,
        scale: JPEGDecoder.ScalingFactor = .full
    ) throws(TurboJPEGError) -> PixelBuffer {
        try structure.repair.apply(to: jpeg) { jpeg throws(TurboJPEGError) in
            let handle = try CodecHandle(for: .decompress)
            let source = try DecodingSource(jpeg, scale: scale, limits: limits, handle: handle)
            var buffer = try pool.buffer(width: source.width, height: source.height, format: format)
            unsafe try buffer.withUnsafeMutablePlanes(preservingContents: false) { planes throws(TurboJPEGError) in
                try unsafe decode(jpeg, source, to: planes, with: handle)
            }
            return buffer
        }
    }

    /// Checks a JPEG against the limits, and returns what its markers state.
    func structure(of jpeg: Span<UInt8>) throws(TurboJPEGError) -> JPEGStructure {
        try JPEGGate.structure(of: jpeg, limits: limits)
    }

    /// Decodes to planes of exactly the decoded size, in memory of the pool.
    @unsafe private func decode(
        _ jpeg: Span<UInt8>,
        _ source: DecodingSource,
        to planes: UnsafePlanes,
        with handle: borrowing CodecHandle
    ) throws(TurboJPEGError) {
        guard unsafe planes.format.isPlanar else {
            return try unsafe decodePacked(jpeg, to: planes, with: handle)
        }
        guard source.header.colorspace == .rgb || !source.hasRoomForPlanes else {
            return try unsafe decodePlanar(jpeg, source, to: planes, with: handle)
        }
        // The library would treat red, green and blue as luma and chroma, or read past its memory.
        var colors = try scratch.buffer(width: source.width, height: source.height, format: .rgb)
        unsafe try colors.withUnsafeMutablePlanes(preservingContents: false) { colors throws(TurboJPEGError) in
            try unsafe decodePacked(jpeg, to: colors, with: handle)
            unsafe colors.convert(into: planes)
        }
    }

    @unsafe private func decodePacked(
        _ jpeg: Span<UInt8>,
        to planes: UnsafePlanes,
        with handle: borrowing CodecHandle
    ) throws(TurboJPEGError) {
        let status = unsafe jpeg.withUnsafeBufferPointer { bytes in
            unsafe tjDecompress2(
                handle.raw,
                bytes.baseAddress,
                UInt(bytes.count),
                planes[0].base,
                Int32(planes.width),
                Int32(planes[0].shape.bytesPerRow),
                Int32(planes.height),
                planes.format.packedRawValue,
                flags
            )
        }
        guard status == 0 else { throw handle.decodingError(byteCount: jpeg.count) }
    }

    /// The library's flags: the options, damage as an error, and its own limit on the scans of a progressive JPEG.
    var flags: Int32 {
        TJFLAG_LIMITSCANS | TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | (usesFastUpsampling ? TJFLAG_FASTUPSAMPLE : 0)
    }
}
