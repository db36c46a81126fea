internal import FrameWire
internal import TurboJPEG

/// What is done with an image before it is compressed, or copied to a shared buffer: it is scaled and rotated upright, and
/// the watermark is drawn.
struct ImageRecipe: Sendable, Equatable {
    /// Which part of the image is sent, and in what size.
    let output: OutputPlan
    /// The format of the scaled image.
    private(set) var format: PixelFormat
    /// Whether the scaled image is rotated.
    let appliesOrientation: Bool
    /// Where the watermark is drawn, if any of it is visible; to be removed for an image that has its own, or gets none.
    var watermark: WatermarkPlacement?

    /// Creates the recipe for an image of a format, which is converted to planes while it is scaled if that saves time
    /// and memory, unless it keeps its format.
    init(
        _ output: OutputPlan,
        _ format: PixelFormat,
        _ orientation: FrameOrientation,
        _ settings: EncodingRecipe.Settings,
        keepsFormat: Bool = false
    ) {
        let becomesPlanes = !keepsFormat && settings.subsampling == .yuv420 && format.canBecomePlanes(by: output)
        (self.output, appliesOrientation) = (output, settings.appliesOrientation && !orientation.isUpright)
        self.format = becomesPlanes ? .i420 : format
        if let watermark = settings.watermark {
            let size = appliesOrientation ? output.canvas.oriented(by: orientation) : output.canvas
            self.watermark = WatermarkPlacement(watermark, on: size, appliesOrientation ? .up : orientation)
        }
    }

    /// Returns the recipe that leaves an image in its format.
    func keeping(_ format: PixelFormat) -> ImageRecipe {
        var recipe = self
        recipe.format = format
        return recipe
    }

    /// Returns the scaled image; the image itself if nothing changes.
    func scaled(_ image: PixelBuffer, pool: PixelBuffer.Pool) throws(TurboJPEGError) -> PixelBuffer {
        image.format == format
            ? try image.applying(output, pool: pool) : try image.planes(by: output, pool: pool)
    }

    /// Returns the size of a shared buffer for an image of a format; nil if that is more than a buffer may have.
    func sharedByteCount(of format: PixelFormat, _ orientation: FrameOrientation) -> Int? {
        let size = appliesOrientation ? output.canvas.oriented(by: orientation) : output.canvas
        let byteCount = try? PixelBuffer.byteCount(width: size.width, height: size.height, format: format)
        return byteCount.flatMap { SharedFrameHeader.Buffer.byteCounts.contains($0) ? $0 : nil }
    }
}
