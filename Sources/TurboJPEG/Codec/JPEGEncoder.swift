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

    /// Appends the JPEG of an image to an output.
    ///
    /// - Throws: `invalidQuality`; `outputTooSmall` if the output's free capacity is less than `maximumByteCount`;
    ///   `allocationFailed`, `encodeFailed`. After an error, the output is unchanged.
    public func encode(_ image: PixelBuffer, into output: inout OutputSpan<UInt8>) throws(TurboJPEGError) {
        let needed = try maximumByteCount(width: image.width, height: image.height)
        guard output.freeCapacity >= needed else {
            throw .outputTooSmall(image, needed: needed, available: output.freeCapacity)
        }
        try unsafe output.withUnsafeMutableBufferPointer { bytes, count throws(TurboJPEGError) in
            guard let start = bytes.baseAddress else { return }
            let room = unsafe UnsafeMutableBufferPointer(start: start + count, count: needed)
            count += try unsafe StripOptions(for: image, self).write(image, to: room)
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
        let bytes = unsafe UnsafeMutableBufferPointer(
            start: memory.assumingMemoryBound(to: UInt8.self),
            count: capacity
        )
        return try unsafe Array(bytes.prefix(StripOptions(for: image, self).write(image, to: bytes)))
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
