internal import CTurboJPEG

/// Decompresses JPEGs: sequential ones, and progressive ones where its limits allow them.
///
/// It is a value with options, and keeps no state between pictures but for memory to recycle; one decoder may be used from
/// several threads at once. Copies of a decoder share the memory. The pixels equal those of libjpeg-turbo's `djpeg`.
///
///     let picture = try JPEGDecoder().decode(jpeg.span, as: .bgra)
public struct JPEGDecoder: Sendable {
    /// How the cosine transform is computed; accurate by default.
    public var dct: DCTMethod = .accurate

    /// Whether chroma is repeated and not interpolated (`TJFLAG_FASTUPSAMPLE`): 10 % faster and rougher; false by default.
    public var fastUpsampling = false

    /// Whether damaged data are an error (`TJFLAG_STOPONWARNING`), by default true.
    ///
    /// If false, what could not be read stays gray or of a wrong colour, and nobody is told; what follows the JPEG's end
    /// does not count either.
    public var stopOnWarning = true

    /// What a JPEG may be.
    public var limits = JPEGLimits()

    /// Where the memory of decoded pictures comes from, and goes back to.
    public let pool: PixelBufferPool

    /// Planes that the library wants in another shape, from one picture to the next.
    let scratch = PixelBufferPool()

    /// A decoder with default options.
    ///
    /// - Parameter pool: Where memory comes from; by default a pool of the decoder's own.
    public init(pool: PixelBufferPool = PixelBufferPool()) {
        self.pool = pool
    }

    /// Decodes to a picture of the pool (`tjDecompress2`, `tjDecompressToYUVPlanes`).
    ///
    /// Planar formats come without a detour through colours: of a `4:2:0` JPEG the samples as they are, of others with
    /// chroma averaged or repeated, of gray ones with chroma 128.
    ///
    /// - Parameters:
    ///   - jpeg: The JPEG; zero bytes after its end are ignored.
    ///   - format: The arrangement of the bytes.
    ///   - scale: The size, as a fraction of the JPEG's. Where a picture is so small that several fractions give the
    ///     same size, the library takes the largest of them.
    /// - Returns: The picture, in memory that goes back to the pool.
    /// - Throws: `notJPEG`, `noPicture`, `truncated`, `malformed`, `missingTable`, `unsupported`, `tooLarge`, `tooManyScans` and
    ///   `trailingData` before any memory for pixels is asked for; `allocationFailed`, `corrupt`, `decodeFailed`. After an
    ///   error the memory is recycled.
    public func decode(
        _ jpeg: Span<UInt8>,
        as format: PixelFormat,
        scale: ScalingFactor = .full
    ) throws(TurboJPEGError) -> PixelBuffer {
        let handle = try CodecHandle(for: .decompress)
        let source = try DecodingSource(
            jpeg,
            scale: scale,
            limits: limits,
            toleratesDamage: !stopOnWarning,
            handle: handle
        )
        var buffer = try pool.buffer(width: source.width, height: source.height, format: format)
        unsafe try buffer.withUnsafeMutablePlanes(preservingContents: false) { planes throws(TurboJPEGError) in
            try unsafe decode(jpeg, source, to: planes, mayWritePadding: true, with: handle)
        }
        return buffer
    }

    /// Decodes to the top left of a buffer of the caller's, in the buffer's format.
    ///
    /// Nothing outside the decoded rectangle is written, padding between rows included. Where the buffer shares its memory,
    /// the memory is copied or replaced first. After an error the rectangle's content is undefined.
    ///
    /// - Parameters:
    ///   - jpeg: The JPEG; zero bytes after its end are ignored.
    ///   - buffer: At least as wide and as high as the decoded picture.
    ///   - scale: The size, as a fraction of the JPEG's.
    /// - Returns: The size of the decoded picture.
    /// - Throws: As `decode(_:as:scale:)`, and `bufferTooSmall`.
    @discardableResult
    public func decode(
        _ jpeg: Span<UInt8>,
        into buffer: inout PixelBuffer,
        scale: ScalingFactor = .full
    ) throws(TurboJPEGError) -> (width: Int, height: Int) {
        let handle = try CodecHandle(for: .decompress)
        let source = try DecodingSource(
            jpeg,
            scale: scale,
            limits: limits,
            toleratesDamage: !stopOnWarning,
            handle: handle
        )
        guard source.width <= buffer.width, source.height <= buffer.height else {
            throw TurboJPEGError(
                .bufferTooSmall,
                """
                The picture of \(source.width)x\(source.height) does not fit into the buffer of \
                \(buffer.width)x\(buffer.height).
                """
            )
        }
        let coversAll = source.width == buffer.width && source.height == buffer.height
        unsafe try buffer.withUnsafeMutablePlanes(preservingContents: !coversAll) { planes throws(TurboJPEGError) in
            let part = unsafe planes.cropped(toWidth: source.width, height: source.height)
            try unsafe decode(jpeg, source, to: part, mayWritePadding: false, with: handle)
        }
        return (source.width, source.height)
    }

    /// Decodes to planes of just the decoded size.
    @unsafe func decode(
        _ jpeg: Span<UInt8>,
        _ source: DecodingSource,
        to planes: UnsafePlanes,
        mayWritePadding: Bool,
        with handle: borrowing CodecHandle
    ) throws(TurboJPEGError) {
        guard unsafe planes.format.isPlanar else {
            return try unsafe decodePacked(jpeg, to: planes, with: handle)
        }
        guard source.header.colorspace == .rgb || !source.hasRoomForPlanes else {
            return try unsafe decodePlanar(jpeg, source, to: planes, mayWritePadding: mayWritePadding, with: handle)
        }
        // The library would pass red, green and blue off as luma and chroma, or read what is not its own.
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
        try check(status, handle, byteCount: jpeg.count)
    }

    /// Throws what the library reported, unless damage is tolerated.
    func check(_ status: Int32, _ handle: borrowing CodecHandle, byteCount: Int) throws(TurboJPEGError) {
        guard status != 0, stopOnWarning || !handle.failedByWarning else { return }
        throw handle.decodingError(byteCount: byteCount)
    }

    /// The library's flags: the options, and its own limit to the scans of a progressive JPEG.
    var flags: Int32 {
        TJFLAG_LIMITSCANS | dct.flag | (fastUpsampling ? TJFLAG_FASTUPSAMPLE : 0)
            | (stopOnWarning ? TJFLAG_STOPONWARNING : 0)
    }
}
