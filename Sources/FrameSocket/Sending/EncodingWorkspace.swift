internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// The memory that encoding reuses, for images of one size and format.
///
/// One image is encoded at a time, so one buffer of each kind is enough. For others, the previous memory is
/// released before new memory is allocated: if a phone is rotated, the process does not hold both.
struct EncodingWorkspace: Sendable {
    /// What determines the size of the buffers.
    private struct Geometry: Sendable, Hashable {
        let image: BufferSize
        let canvas: BufferSize
        let format: PixelFormat
        let appliesOrientation: Bool
    }

    private var geometry: Geometry?

    /// The watermark as it was drawn last.
    private(set) var watermark: DrawnWatermark?

    /// How much of the latest image was encoded anew; nil if it was encoded whole.
    var changedPart: Double?

    private(set) var scaled = PixelBuffer.Pool(maximumIdleImages: 1)
    private(set) var upright = PixelBuffer.Pool(maximumIdleImages: 1)
    /// Memory for copies of images to draw the watermark on.
    private(set) var marked = PixelBuffer.Pool(maximumIdleImages: 1)
    private(set) var encoder = JPEGEncoder()
    private(set) var strips = StripEncoder()
    let decoder: JPEGDecoder

    /// A JPEG's memory has the size of the worst case, most of which is never touched, so a high limit costs only
    /// address space.
    private(set) var bytes = FrameBytes.Pool(maximumIdleBytes: 512 << 20)

    init() {
        var decoder = JPEGDecoder(pool: PixelBuffer.Pool(maximumIdleImages: 1))
        // The JPEGs decoded here are the application's own.
        decoder.limits = .ownFiles
        self.decoder = decoder
    }

    /// Returns the workspace for a recipe and a format; a new one if the images have another size or format than the last.
    mutating func prepared(for recipe: EncodingRecipe, _ format: PixelFormat) -> EncodingWorkspace {
        let geometry = Geometry(
            image: recipe.output.image,
            canvas: recipe.output.canvas,
            format: format,
            appliesOrientation: recipe.appliesOrientation
        )
        changedPart = nil
        if watermark != nil, recipe.watermark == nil { watermark = nil }
        if self.geometry != geometry {
            self = EncodingWorkspace()
            self.geometry = geometry
        }
        return self
    }

    /// Returns the watermark for images of a format, composed again if it differs from the last.
    mutating func watermark(
        _ placement: WatermarkPlacement,
        _ format: PixelFormat
    ) throws(TurboJPEGError) -> DrawnWatermark {
        if let watermark, watermark.format == format, watermark.placement == placement { return watermark }
        watermark = nil
        let composed = try DrawnWatermark(placement, format)
        watermark = composed
        return composed
    }
}
