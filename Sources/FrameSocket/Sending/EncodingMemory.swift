internal import FrameWire
internal import TurboJPEG

/// The memory of images and JPEGs.
///
/// Memory that is reserved and never written is not counted: it costs nothing.
enum EncodingMemory {
    /// Returns the bytes of an image's planes, including padding.
    static func bytes(of image: PixelBuffer) -> Int {
        var sum = 0
        for index in 0..<image.planeCount {
            let plane = image.plane(index)
            sum += plane.bytesPerRow * plane.height
        }
        return sum
    }

    /// Returns the bytes of an image that is yet to be created, with rows that begin at multiples of 64 bytes.
    static func bytes(of size: BufferSize, _ format: PixelFormat) -> Int {
        let size = encodable(size)
        let luma = roundedUp(size.width * format.bytesPerPixel, to: 64) * size.height
        guard format.isPlanar else { return luma }
        return luma + 2 * roundedUp((size.width + 1) / 2, to: 64) * ((size.height + 1) / 2)
    }

    /// Returns the bytes of the planes in which the encoder rearranges a whole planar image: the luma if a side is odd,
    /// and the chroma of `nv12`.
    static func bytes(ofPlanesFor size: BufferSize, _ format: PixelFormat) -> Int {
        guard format.isPlanar else { return 0 }
        let size = encodable(size)
        let isOdd = size.width % 2 + size.height % 2 > 0
        let luma = isOdd ? roundedUp(size.width + 1, to: 64) * (size.height + 1) : 0
        let chroma = 2 * roundedUp((size.width + 1) / 2, to: 64) * ((size.height + 1) / 2)
        return luma + (format == .nv12 ? chroma : 0)
    }

    /// Returns the bytes of one channel before and after scaling, if pixels are interpolated one channel at a time.
    static func bytes(ofChannelFrom part: PixelBuffer.Rectangle, to scaled: BufferSize, _ format: PixelFormat) -> Int {
        // Only the chroma of `nv12` has several channels. Half of an odd number of samples may be more than half.
        func samples(_ size: BufferSize) -> BufferSize {
            let size = encodable(size)
            guard format == .nv12 else { return size }
            return BufferSize(width: (size.width + 1) / 2, height: (size.height + 1) / 2)
        }
        let (from, to) = (samples(BufferSize(width: part.width, height: part.height)), samples(scaled))
        let isAveraged = 2 * to.width <= from.width && 2 * to.height <= from.height
        guard to.width != from.width, !isAveraged, format != .gray, format != .i420 else { return 0 }
        return from.width * from.height + to.width * to.height
    }

    /// Returns the most bytes that a copy of an image takes while it is made, in another size if the plan says so.
    ///
    /// If the colors are converted, the scaled image and the converted one exist at once.
    static func bytes(ofCopyBy plan: OutputPlan, _ format: PixelFormat, isConverted: Bool) -> Int {
        let canvas = bytes(of: plan.canvas, format)
        let channel = bytes(ofChannelFrom: plan.part, to: plan.scaled, format)
        return canvas + max(channel, isConverted && plan.makesImage ? canvas : 0)
    }

    /// Returns the maximum size of a JPEG.
    ///
    /// The worst cases that a search found are tiles of 8x8 or 16x8 black and white samples, up to 12 % larger than
    /// random ones. Their bytes per sample were measured, and rounded up by 2 %.
    static func bytes(ofJPEG size: BufferSize, quality: Int, subsampling: ChromaSubsampling) -> Int {
        let size = encodable(size)
        let width = roundedUp(size.width, to: subsampling.mcuWidth)
        let height = roundedUp(size.height, to: subsampling.mcuHeight)
        let chroma = subsampling == .gray ? 0 : 2 * width * height * 64 / (subsampling.mcuWidth * subsampling.mcuHeight)
        return headerBytes + (width * height + chroma) * hundredthsPerSample(quality) / 100
    }

    /// Returns the size with sides clamped to a JPEG's: other images are never encoded, and must not overflow.
    private static func encodable(_ size: BufferSize) -> BufferSize {
        BufferSize(
            width: min(max(size.width, 0), SampleUploader.OutputScale.Box.maximumSide),
            height: min(max(size.height, 0), SampleUploader.OutputScale.Box.maximumSide)
        )
    }

    private static let headerBytes = 2048

    private static let points = [
        (1, 32), (10, 37), (20, 45), (30, 52), (40, 58), (50, 62), (75, 80), (80, 86), (85, 96), (90, 111), (92, 119),
        (94, 133), (95, 139), (97, 165), (98, 178), (99, 200), (100, 217),
    ]

    private static func hundredthsPerSample(_ quality: Int) -> Int {
        // The codec refuses others.
        let quality = min(max(quality, 1), 100)
        for (low, high) in zip(points, points.dropFirst()) where quality <= high.0 {
            let share = max(0, quality - low.0)
            return low.1 + ((high.1 - low.1) * share + high.0 - low.0 - 1) / (high.0 - low.0)
        }
        return 217
    }

    private static func roundedUp(_ side: Int, to step: Int) -> Int {
        (side + step - 1) / step * step
    }
}
