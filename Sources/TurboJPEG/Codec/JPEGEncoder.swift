internal import CTurboJPEG
internal import SystemMemory

/// Compresses images to baseline JPEG.
///
/// An encoder is a value with options. It keeps no state from one image to the next, and several threads can use the
/// same encoder at once.
///
/// ```swift
/// let jpeg: [UInt8] = try JPEGEncoder(quality: 90).encode(image)
/// ```
public struct JPEGEncoder: Sendable {
    /// The quality, from 1 (smallest) to 100 (best); 80 by default.
    ///
    /// The value is checked when an image is encoded.
    public var quality: Int

    /// The chroma subsampling; `4:2:0` by default.
    ///
    /// Gray images (`gray`) always become gray JPEGs. Planar images (`i420`, `nv12`) already have one chroma sample per
    /// 2x2 pixels, and become `4:2:0` whatever this value is, except `gray`, which omits the chroma.
    public var subsampling: ChromaSubsampling

    /// Reusable planes for data that the library needs in another shape.
    let scratch = PixelBuffer.Pool()

    /// Creates an encoder with options.
    public init(quality: Int = 80, subsampling: ChromaSubsampling = .yuv420) {
        self.quality = quality
        self.subsampling = subsampling
    }

    /// Returns the capacity that an output needs for any image of this size, in any format: a quarter more than
    /// `tjBufSize` returns, which some patterns of black and white pixels exceed at the highest quality.
    ///
    /// It exceeds the size of nearly all JPEGs by far, at nearly four bytes per pixel with `4:2:0`; memory that is not
    /// written costs nothing.
    ///
    /// - Throws: `invalidSize` if a side is outside 1 to 65,500.
    public func maximumByteCount(width: Int, height: Int) throws(TurboJPEGError) -> Int {
        try PixelLayout.check(width: width, height: height)
        let bound = max(
            subsampling.boundByteCount(width: width, height: height),
            codedSubsampling(of: .i420).boundByteCount(width: width, height: height)
        )
        // It counts two bytes per sample. The standard Huffman tables give a block of 64 at most 1,154 bits, or 2.26
        // bytes per sample: more bits for a coefficient need more energy than the other 63 can spare. The rest is for
        // zeros after bytes of 255.
        return bound + bound / 4
    }

    /// Appends the JPEG of an image to an output (`tjCompress2`, `tjCompressFromYUVPlanes`).
    ///
    /// - Throws: `invalidQuality`; `outputTooSmall` if the output's free capacity is less than `maximumByteCount`;
    ///   `allocationFailed`, `encodeFailed`. After an error, the output is unchanged.
    public func encode(_ image: PixelBuffer, into output: inout OutputSpan<UInt8>) throws(TurboJPEGError) {
        let needed = try maximumByteCount(width: image.width, height: image.height)
        guard output.freeCapacity >= needed else {
            throw TurboJPEGError(
                .outputTooSmall,
                "an image of \(image.width)x\(image.height) needs room for \(needed) bytes; the output has "
                    + "\(output.freeCapacity)"
            )
        }
        try unsafe output.withUnsafeMutableBufferPointer { bytes, count throws(TurboJPEGError) in
            guard let start = bytes.baseAddress else { return }
            count += try unsafe encode(image, to: start + count, capacity: needed)
        }
    }

    /// Returns the JPEG of an image.
    ///
    /// The compressed bytes are copied once, to an array of exactly their size; `encode(_:into:)` needs no copy.
    ///
    /// - Throws: `invalidQuality`, `allocationFailed`, `encodeFailed`.
    public func encode(_ image: PixelBuffer) throws(TurboJPEGError) -> [UInt8] {
        let capacity = try maximumByteCount(width: image.width, height: image.height)
        guard let memory = unsafe SystemMemory.allocate(byteCount: capacity, alignment: PixelLayout.alignment) else {
            throw TurboJPEGError(.allocationFailed, "not enough memory for a JPEG of up to \(capacity) bytes")
        }
        defer { unsafe SystemMemory.release(memory, byteCount: capacity) }
        let bytes = unsafe memory.assumingMemoryBound(to: UInt8.self)
        let count = try unsafe encode(image, to: bytes, capacity: capacity)
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// Compresses to memory that is large enough, and returns the number of bytes written.
    @unsafe func encode(
        _ image: PixelBuffer,
        to output: UnsafeMutablePointer<UInt8>,
        capacity: Int
    ) throws(TurboJPEGError) -> Int {
        try checkQuality()
        let handle = try CodecHandle(for: .compress)
        var target: UnsafeMutablePointer<UInt8>? = unsafe output
        var byteCount = UInt(capacity)
        let status =
            if image.format.isPlanar {
                try unsafe compressPlanes(of: image, with: handle, to: &target, &byteCount)
            } else {
                unsafe image.withUnsafePlanes { planes in
                    unsafe tjCompress2(
                        handle.raw,
                        planes[0].base,
                        Int32(image.width),
                        Int32(planes[0].shape.bytesPerRow),
                        Int32(image.height),
                        image.format.packedRawValue,
                        &target,
                        &byteCount,
                        codedSubsampling(of: image.format).rawValue,
                        Int32(quality),
                        flags
                    )
                }
            }
        // The library would move a JPEG that exceeds the capacity.
        let isMoved = unsafe target != output
        if isMoved { unsafe tjFree(target) }
        guard status == 0, !isMoved else {
            throw handle.error(.encodeFailed, "the image of \(image.width)x\(image.height) cannot be compressed")
        }
        try unsafe checkProcess(of: UnsafeBufferPointer(start: output, count: Int(byteCount)))
        return Int(byteCount)
    }

    /// Checks that the library wrote the requested kind of JPEG: environment variables of the process can make it write
    /// other kinds, which few receivers accept.
    private func checkProcess(of jpeg: UnsafeBufferPointer<UInt8>) throws(TurboJPEGError) {
        var index = 2
        while unsafe index + 4 <= jpeg.count && jpeg[index] == 0xFF {
            let marker = unsafe jpeg[index + 1]
            if JPEGMarker.sequentialFrames.contains(marker) { return }
            guard marker != JPEGMarker.progressiveFrame, JPEGMarker.unsupportedFeature(marker) == nil else { break }
            unsafe index += 2 + (Int(jpeg[index + 2]) << 8 | Int(jpeg[index + 3]))
        }
        throw TurboJPEGError(
            .encodeFailed,
            """
            the JPEG library wrote no sequential JPEG with Huffman coding; unset TJ_PROGRESSIVE and TJ_ARITHMETIC in the \
            environment of the process
            """
        )
    }

    /// Rejects a quality outside the valid range.
    func checkQuality() throws(TurboJPEGError) {
        guard 1...100 ~= quality else {
            throw TurboJPEGError(.invalidQuality, "invalid JPEG quality \(quality): expected 1 to 100")
        }
    }

    /// Returns the chroma subsampling that an image in this format ends up with.
    func codedSubsampling(of format: PixelFormat) -> ChromaSubsampling {
        if format == .gray || subsampling == .gray { return .gray }
        return format.isPlanar ? .yuv420 : subsampling
    }

    /// The library's flags: the method of the cosine transform.
    ///
    /// `TJFLAG_NOREALLOC` would have the library assume `tjBufSize` bytes, whatever the capacity.
    var flags: Int32 { TJFLAG_ACCURATEDCT }
}

extension ChromaSubsampling {
    /// What `tjBufSize` returns, which overflows for images of more than 2^31 pixels.
    fileprivate func boundByteCount(width: Int, height: Int) -> Int {
        let columns = (width + mcuWidth - 1) / mcuWidth
        let rows = (height + mcuHeight - 1) / mcuHeight
        // Two bytes per sample.
        let chroma = self == .gray ? 0 : 2 * 64
        return columns * rows * 2 * (mcuWidth * mcuHeight + chroma) + 2048
    }
}
