internal import FrameTransport
internal import FrameWire
internal import Locking
internal import TurboJPEG

/// The memory that encoding reuses, for images of one size and format.
///
/// One image is encoded at a time, so one buffer of each kind is enough. Others have a workspace of their own, and the last
/// one is released: if a phone is rotated, the process does not hold both.
final class EncodingWorkspace: Sendable {
    private let image: BufferSize
    private let canvas: BufferSize
    private let format: PixelFormat
    private let appliesOrientation: Bool

    let scaled = PixelBuffer.Pool(maximumIdleImages: 1)
    let upright = PixelBuffer.Pool(maximumIdleImages: 1)
    /// Memory for copies of images to draw the watermark on.
    let marked = PixelBuffer.Pool(maximumIdleImages: 1)
    let strips = StripEncoder()
    let decoder: JPEGDecoder

    /// A JPEG's memory has the size of the worst case, most of which is never touched, so a high limit costs only
    /// address space.
    let bytes = FrameBytes.Pool(maximumIdleBytes: 512 << 20)

    /// The watermark as it was drawn last.
    let watermark = Locked<DrawnWatermark?>(nil)

    init(_ recipe: EncodingRecipe, _ format: PixelFormat) {
        (image, canvas) = (recipe.output.image, recipe.output.canvas)
        (self.format, appliesOrientation) = (format, recipe.appliesOrientation)
        var decoder = JPEGDecoder(pool: PixelBuffer.Pool(maximumIdleImages: 1))
        // The JPEGs decoded here are the application's own.
        decoder.limits = .ownFiles
        self.decoder = decoder
    }

    /// Whether images of a recipe and a format have the size and format of this workspace.
    func fits(_ recipe: EncodingRecipe, _ format: PixelFormat) -> Bool {
        image == recipe.output.image && canvas == recipe.output.canvas && self.format == format
            && appliesOrientation == recipe.appliesOrientation
    }

    /// Returns the watermark for a place, composed again if that differs from the last; nil, and none is kept, for no place.
    func watermark(at placement: WatermarkPlacement?) -> DrawnWatermark? {
        watermark.withLock { watermark in
            if watermark?.placement != placement { watermark = placement.map { DrawnWatermark($0, format) } }
            return watermark
        }
    }
}
