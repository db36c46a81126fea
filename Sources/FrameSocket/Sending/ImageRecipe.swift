internal import FrameWire
internal import TurboJPEG

/// What is done with an image before it is compressed, or copied to a shared buffer: it is scaled, and rotated upright.
struct ImageRecipe: Sendable {
    /// Which part of the image is sent, and in what size.
    let output: OutputPlan
    /// The format of the scaled image.
    let format: PixelFormat
    /// Whether the scaled image is rotated.
    let isTurning: Bool

    /// Creates the recipe for an image of a format, which is converted to planes while it is scaled if that saves time
    /// and memory, unless it keeps its format.
    init(
        _ output: OutputPlan,
        _ format: PixelFormat,
        _ settings: EncodingRecipe.Settings,
        isTurning: Bool,
        keepsFormat: Bool = false
    ) {
        let becomesPlanes = !keepsFormat && settings.subsampling == .yuv420 && format.canBecomePlanes(by: output)
        (self.output, self.isTurning) = (output, isTurning)
        self.format = becomesPlanes ? .i420 : format
    }

    private init(_ output: OutputPlan, _ format: PixelFormat, isTurning: Bool) {
        (self.output, self.format, self.isTurning) = (output, format, isTurning)
    }

    /// Returns the recipe that leaves an image in its format.
    func keeping(_ format: PixelFormat) -> ImageRecipe { ImageRecipe(output, format, isTurning: isTurning) }

    /// Returns the scaled image; the image itself if nothing changes.
    func scaled(_ image: PixelBuffer, pool: PixelBuffer.Pool) throws(TurboJPEGError) -> PixelBuffer {
        image.format == format
            ? try image.applying(output, pool: pool) : try image.planes(by: output, pool: pool)
    }

    /// The bytes of the intermediate images between the content and what is compressed.
    var bufferByteCount: Int {
        let canvas = EncodingMemory.bytes(of: output.canvas, format)
        return (output.makesImage ? canvas : 0) + (isTurning ? canvas : 0)
            + EncodingMemory.bytes(ofChannelFrom: output.part, to: output.scaled, format)
    }

    /// Returns the size of a shared buffer for an image of a format; nil if that is more than a buffer may have.
    func sharedByteCount(of format: PixelFormat, _ orientation: FrameOrientation) -> Int? {
        let size = isTurning ? output.canvas.turned(by: orientation) : output.canvas
        let byteCount = try? PixelBuffer.byteCount(width: size.width, height: size.height, format: format)
        return byteCount.flatMap { SharedFrameHeader.Buffer.byteCounts.contains($0) ? $0 : nil }
    }
}
