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
        guard source.header.isRGB || !source.hasRoomForPlanes else {
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
                Self.flags
            )
        }
        guard status == 0 else { throw handle.decodingError(byteCount: jpeg.count) }
    }

    /// The library's flags: the accurate transform, damage as an error, and its own limit on the scans of a progressive JPEG.
    private static let flags = TJFLAG_LIMITSCANS | TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING

    /// Decodes to luma and chroma, directly into the target if the JPEG's planes have the target's shape.
    ///
    /// The target's luma has room for whole chroma samples, which may be overwritten: the library rounds odd widths and
    /// heights up.
    @unsafe private func decodePlanar(
        _ jpeg: Span<UInt8>,
        _ source: DecodingSource,
        to target: UnsafePlanes,
        with handle: borrowing CodecHandle
    ) throws(TurboJPEGError) {
        let subsampling = source.header.subsampling
        let isChromaDirect = unsafe subsampling == .gray || (subsampling == .yuv420 && target.format == .i420)

        // Planes of the JPEG's shape, for data that cannot be written directly into the target.
        var chromaScratch: (blue: PixelBuffer, red: PixelBuffer)?
        if !isChromaDirect {
            let width = Int(tjPlaneWidth(1, Int32(source.width), subsampling.rawValue))
            let height = Int(tjPlaneHeight(1, Int32(source.height), subsampling.rawValue))
            chromaScratch = (
                try scratch.buffer(width: width, height: height, format: .gray),
                try scratch.buffer(width: width, height: height, format: .gray)
            )
        }
        defer { withExtendedLifetime(chromaScratch) {} }
        let planes = unsafe [
            target[0],
            chromaScratch.map { unsafe UnsafePlanes($0.blue)[0] } ?? target[1],
            chromaScratch.map { unsafe UnsafePlanes($0.red)[0] } ?? target[2],
        ]

        var bases: [UnsafeMutablePointer<UInt8>?] = unsafe planes.map { unsafe $0.base }
        var strides = unsafe planes.map { unsafe Int32($0.shape.bytesPerRow) }
        let status = unsafe jpeg.withUnsafeBufferPointer { bytes in
            unsafe tjDecompressToYUVPlanes(
                handle.raw,
                bytes.baseAddress,
                UInt(bytes.count),
                &bases,
                Int32(source.width),
                &strides,
                Int32(source.height),
                Self.flags
            )
        }
        guard status == 0 else { throw handle.decodingError(byteCount: jpeg.count) }

        if chromaScratch != nil {
            unsafe target.resampleChroma(blue: planes[1], red: planes[2], from: subsampling)
        } else if subsampling == .gray {
            unsafe target.clearChroma()
        }
    }
}

/// The header of a JPEG, checked against a decoder's limits, and the size of the decoded image.
private struct DecodingSource {
    let header: JPEGHeader
    /// The width after scaling.
    let width: Int
    /// The height after scaling.
    let height: Int

    /// Reads the header of a JPEG that ``JPEGGate`` has accepted, and rejects images that are too large or have no
    /// meaning in the pixel formats.
    init(
        _ jpeg: Span<UInt8>,
        scale: JPEGDecoder.ScalingFactor,
        limits: JPEGDecoder.Limits,
        handle: borrowing CodecHandle
    ) throws(TurboJPEGError) {
        header = try JPEGHeader(inspecting: jpeg, with: handle)
        (width, height) = scale.scaled(width: header.width, height: header.height)
        try limits.check(width: width, height: height)
    }

    /// Whether the library may decode to planes.
    ///
    /// The library (`tjDecompressToYUVPlanes`) copies each row of luma, rounded up to whole chroma samples, from memory
    /// that holds whole blocks. If a block is scaled to few samples, those can be fewer, and it reads past its memory.
    var hasRoomForPlanes: Bool {
        // The library uses the largest scale that yields an image of this size.
        let scale = JPEGDecoder.ScalingFactor.allSupported.first {
            let size = $0.scaled(width: header.width, height: header.height)
            return size.width <= width && size.height <= height
        }
        guard let scale else { return false }
        let samplesPerBlock = 8 * scale.numerator / scale.denominator
        let needed = Int(tjPlaneWidth(0, Int32(width), header.subsampling.rawValue))
        return needed <= (header.width + 7) / 8 * samplesPerBlock
    }
}

extension PixelFormat {
    /// The library's constant for a packed format; gray for planes.
    ///
    /// `bgrx` is `TJPF_BGRA`, because the library leaves the fourth byte of `TJPF_BGRX` undefined when decoding.
    fileprivate var packedRawValue: Int32 {
        switch self {
        case .bgra, .bgrx: Int32(TJPF_BGRA.rawValue)
        case .rgba: Int32(TJPF_RGBA.rawValue)
        case .argb: Int32(TJPF_ARGB.rawValue)
        case .abgr: Int32(TJPF_ABGR.rawValue)
        case .rgb: Int32(TJPF_RGB.rawValue)
        case .bgr: Int32(TJPF_BGR.rawValue)
        case .gray, .i420, .nv12: Int32(TJPF_GRAY.rawValue)
        }
    }
}

extension JPEGDecoder {
    /// A fraction by which the library can scale an image while decoding, at less cost than decoding at full size.
    public struct ScalingFactor: Sendable, Hashable {
        /// The numerator of the fraction, which is in lowest terms.
        package let numerator: Int
        /// The denominator of the fraction.
        package let denominator: Int

        /// All factors that the library supports, from the largest to the smallest (`tjGetScalingFactors`).
        package static let allSupported: [ScalingFactor] = {
            var count: Int32 = 0
            guard let factors = unsafe tjGetScalingFactors(&count), count > 0 else { return [.full] }
            return (0..<Int(count)).map { index in
                unsafe ScalingFactor(Int(factors[index].num), Int(factors[index].denom))
            }
        }()

        /// The full size of the JPEG.
        public static let full = ScalingFactor(1, 1)
        /// Half the width and height.
        public static let half = ScalingFactor(1, 2)
        /// A quarter of the width and height.
        public static let quarter = ScalingFactor(1, 4)
        /// An eighth of the width and height.
        public static let eighth = ScalingFactor(1, 8)

        private init(_ numerator: Int, _ denominator: Int) {
            self.numerator = numerator
            self.denominator = denominator
        }

        /// Returns the size of an image after scaling, rounded up (`TJSCALED`).
        ///
        /// - Returns: The size. A side that is 0 or less is returned unchanged, and a side that would overflow becomes the
        ///   largest integer.
        public func scaled(width: Int, height: Int) -> (width: Int, height: Int) {
            (scaled(width), scaled(height))
        }

        private func scaled(_ length: Int) -> Int {
            guard length > 0 else { return length }
            let (product, overflow) = length.multipliedReportingOverflow(by: numerator)
            guard !overflow else { return .max }
            return (product - 1) / denominator + 1
        }
    }
}

extension JPEGDecoder.ScalingFactor: CustomStringConvertible {
    /// The fraction, such as `1/2`.
    public var description: String { "\(numerator)/\(denominator)" }
}
