internal import FrameTransport
package import FrameWire
package import TurboJPEG

/// What is made of the content of a frame: it is scaled, rotated upright and drawn on, and then compressed, or copied to a
/// shared buffer.
///
/// Computed once for frames of one shape under one configuration, and shared: a steady stream needs one. The encoder
/// follows it and decides nothing. A frame that is sent unchanged needs none.
package final class EncodingRecipe: Sendable {
    /// The part of the configuration that the encoder needs.
    package struct Settings: Sendable, Hashable {
        package let quality: Int
        let scale: SampleUploader.OutputScale
        let subsampling: ChromaSubsampling
        let appliesOrientation: Bool
        let allowsStrips: Bool
        let watermark: SampleUploader.Watermark?

        init(_ configuration: SampleUploader.Configuration) {
            quality = configuration.quality
            scale = configuration.scale
            subsampling = configuration.subsampling
            appliesOrientation = configuration.appliesOrientation
            allowsStrips = configuration.usesStrips
            watermark = configuration.watermark
        }
    }

    /// The pixels that a recipe is for.
    package struct Input: Sendable, Hashable {
        package let size: BufferSize
        package let format: PixelFormat
        package let orientation: FrameOrientation
        /// The plan by which they were scaled when they were submitted; nil if they were not.
        let scaledBy: OutputPlan?

        init?(_ content: FrameContent, _ orientation: FrameOrientation) {
            let pixels: PixelBuffer
            switch content {
            case .pixels(let image): (pixels, scaledBy) = (image, nil)
            case .scaled(let image, let plan): (pixels, scaledBy) = (image, plan)
            case .jpeg, .resizableJPEG: return nil
            }
            (size, format) = (pixels.size, pixels.format)
            self.orientation = orientation
        }
    }

    package let settings: Settings
    /// The pixels that the recipe is for; nil if it is for a single JPEG.
    package let input: Input?
    /// Which part of the image is sent, and in what size.
    package let output: OutputPlan
    /// The format of the scaled image for the compressor; nil for a JPEG that is to be decoded.
    let format: PixelFormat?
    /// Whether the scaled image is rotated upright.
    package let appliesOrientation: Bool
    /// Where the watermark is drawn, if any of it is visible.
    let watermark: WatermarkPlacement?
    /// The size of a shared buffer for the result; nil if the content has no pixels, or more than a buffer may have.
    let sharedByteCount: Int?

    /// Creates the recipe for an image of a format, which is converted to planes while it is scaled if that saves time
    /// and memory, unless it keeps its format.
    private init(
        _ settings: Settings,
        input: Input? = nil,
        _ output: OutputPlan,
        _ format: PixelFormat?,
        _ orientation: FrameOrientation,
        keepsFormat: Bool = false,
        isMarked: Bool = true
    ) {
        (self.settings, self.input, self.output) = (settings, input, output)
        appliesOrientation = settings.appliesOrientation && !orientation.isUpright
        let becomesPlanes =
            !keepsFormat && settings.subsampling == .yuv420 && format?.canBecomePlanes(by: output) == true
        self.format = becomesPlanes ? .i420 : format
        let size = appliesOrientation ? output.canvas.oriented(by: orientation) : output.canvas
        let stated = appliesOrientation ? .up : orientation
        watermark = isMarked ? settings.watermark.flatMap { WatermarkPlacement($0, on: size, stated) } : nil
        let byteCount = input.flatMap {
            try? PixelBuffer.byteCount(width: size.width, height: size.height, format: $0.format)
        }
        sharedByteCount = byteCount.flatMap { SharedFrameHeader.Buffer.byteCounts.contains($0) ? $0 : nil }
    }

    /// Creates the recipe for some content; nil if it is sent unchanged.
    convenience init?(_ content: FrameContent, _ orientation: FrameOrientation, _ settings: Settings) {
        switch content {
        case .pixels, .scaled:
            guard let input = Input(content, orientation) else { return nil }
            self.init(settings, input: input, settings.output(for: input), input.format, orientation)
        case .jpeg(_, let size):
            self.init(settings, OutputPlan(size), nil, orientation, isMarked: false)
            guard appliesOrientation else { return nil }
        case .resizableJPEG(_, let size):
            self.init(settings, settings.output(for: size, orientation), nil, orientation)
            guard appliesOrientation || watermark != nil || !output.isIdentity else { return nil }
        }
    }

    /// Creates the recipe for copying an image out of memory that its source reuses: in the size that is sent, and in
    /// the format that is encoded or, if frames are shared, in its own.
    convenience init(
        copying pixels: borrowing PixelBuffer,
        _ orientation: FrameOrientation,
        _ settings: Settings,
        isShared: Bool = false
    ) {
        let output = settings.output(for: pixels.size, orientation, pixels.format)
        self.init(settings, output, pixels.format, orientation, keepsFormat: isShared)
    }

    /// Returns the recipe for what has been decoded of a JPEG, of which it uses so much.
    func decoded(as format: PixelFormat, _ output: OutputPlan, _ orientation: FrameOrientation) -> EncodingRecipe {
        EncodingRecipe(settings, output, format, orientation, isMarked: watermark != nil)
    }

    /// Returns whether the recipe is for pixels like these.
    func applies(to content: FrameContent, _ orientation: FrameOrientation) -> Bool {
        input.map { $0 == Input(content, orientation) } ?? false
    }

    // MARK: Comparing

    /// Returns whether equal parts of two images, each prepared by one of the recipes, become equal rows.
    ///
    /// The qualities may differ.
    func preparesAlike(_ other: EncodingRecipe) -> Bool {
        self === other
            || (input == other.input && output == other.output && format == other.format
                && appliesOrientation == other.appliesOrientation && watermark == other.watermark
                && settings.allowsStrips == other.settings.allowsStrips)
    }

    /// Returns whether a receiver that has what one recipe made of an image lacks what another one makes of it.
    ///
    /// Without a recipe, a JPEG is sent as it is. Pixels have no quality.
    static func differ(_ old: EncodingRecipe?, _ new: EncodingRecipe?, isShared: Bool) -> Bool {
        guard let old, let new else { return (old == nil) != (new == nil) }
        if old === new { return false }
        let (before, after) = (old.settings, new.settings)
        return old.output != new.output || old.watermark != new.watermark
            || old.appliesOrientation != new.appliesOrientation
            || (!isShared && (before.quality != after.quality || before.subsampling != after.subsampling))
    }

    /// Returns the rows of what is made of an image that may differ, if this may have changed in the submitted image.
    ///
    /// - Returns: The rows, in pairs; nil if any may differ.
    func rows(damagedBy damage: Damage) -> RowSet? {
        guard let input else { return nil }
        let region: ImageDamage
        switch damage {
        case .nothing: region = ImageDamage(noneOf: input.scaledBy?.image ?? input.size)
        case .rows(let rows): region = rows
        case .everything: return nil
        }
        let content = if let plan = input.scaledBy { region.applying(plan) } else { Optional(region) }
        guard let prepared = content?.applying(output) else { return nil }
        return appliesOrientation ? prepared.upright(from: input.orientation) : prepared.rows
    }

    // MARK: Scaling

    /// Returns the scaled image; the image itself if nothing changes.
    func scaled(_ image: PixelBuffer, as format: PixelFormat, pool: PixelBuffer.Pool) throws(TurboJPEGError)
        -> PixelBuffer
    {
        image.format == format
            ? try image.applying(output, pool: pool) : try image.planes(by: output, pool: pool)
    }

    /// Returns a copy of the image in pooled memory, with samples in a JPEG's color space.
    ///
    /// - Parameters:
    ///   - image: The image that the recipe was made for.
    ///   - color: The color space of its samples.
    ///   - pool: The pool that provides the memory.
    /// - Returns: The copy, which does not refer to the memory of `image`.
    /// - Throws: `allocationFailed`, or `invalidSize` if the result has more pixels than the library can scale.
    package func copy(
        _ image: PixelBuffer,
        of color: PixelBuffer.Color,
        pool: PixelBuffer.Pool
    ) throws(TurboJPEGError) -> PixelBuffer {
        let scaled = try scaled(image, as: format ?? image.format, pool: pool)
        // The smaller image is converted: the conversion is linear, and so is scaling.
        if color != .jpeg, image.format.isPlanar { return try scaled.converted(from: color, pool: pool) }
        return scaled.sharesMemory(with: image) ? try scaled.copied(pool: pool) : scaled
    }
}

extension EncodingRecipe.Settings {
    /// Returns the plan for pixels, which are those of a submitted image or a scaled copy of it.
    fileprivate func output(for input: EncodingRecipe.Input) -> OutputPlan {
        guard let plan = input.scaledBy else { return output(for: input.size, input.orientation, input.format) }
        return output(for: plan.image, input.orientation, input.format).afterScaling(by: plan) ?? OutputPlan(input.size)
    }

    /// Returns the plan for pixels of a format, or for a JPEG.
    fileprivate func output(
        for size: BufferSize,
        _ orientation: FrameOrientation,
        _ format: PixelFormat? = nil
    ) -> OutputPlan {
        scale.plan(
            forWidth: size.width,
            height: size.height,
            orientation: orientation,
            appliesOrientation: appliesOrientation,
            // Planar images have this one, whatever the JPEG's is.
            subsampling: format?.isPlanar == true ? .yuv420 : subsampling
        )
    }
}
