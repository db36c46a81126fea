internal import FrameTransport
package import FrameWire
package import TurboJPEG

/// How the content of a frame becomes what is sent.
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
        /// What the pixels are.
        enum Origin: Sendable, Hashable {
            /// A submitted image.
            case submitted
            /// A copy that was scaled by this plan.
            case scaled(OutputPlan)
        }

        let origin: Origin

        init?(_ content: FrameContent, _ orientation: FrameOrientation) {
            let pixels: PixelBuffer
            switch content {
            case .pixels(let image): (pixels, origin) = (image, .submitted)
            case .scaled(let image, let plan): (pixels, origin) = (image, .scaled(plan))
            case .jpeg, .resizableJPEG: return nil
            }
            (size, format) = (pixels.size, pixels.format)
            self.orientation = orientation
        }
    }

    package let settings: Settings
    /// The pixels that the recipe is for; nil if it is for a single JPEG.
    package let input: Input?
    /// What is done with the image.
    let image: ImageRecipe
    /// The size of a shared buffer for the result; nil if the content has no pixels, or more than a buffer may have.
    let sharedByteCount: Int?

    /// Which part of the image is sent, and in what size.
    package var output: OutputPlan { image.output }
    /// Whether the content is rotated upright.
    package var appliesOrientation: Bool { image.appliesOrientation }

    /// Creates the recipe for some content; nil if it is sent unchanged.
    init?(_ content: FrameContent, _ orientation: FrameOrientation, _ settings: Settings) {
        self.settings = settings
        input = Input(content, orientation)
        switch content {
        case .pixels, .scaled:
            guard let input else { return nil }
            image = ImageRecipe(settings.output(for: input), input.format, orientation, settings)
            sharedByteCount = image.sharedByteCount(of: input.format, orientation)
        case .jpeg(_, let size):
            var image = ImageRecipe(OutputPlan(size), .bgrx, orientation, settings, keepsFormat: true)
            guard image.appliesOrientation else { return nil }
            image.watermark = nil
            self.image = image
            sharedByteCount = nil
        case .resizableJPEG(_, let size):
            let output = settings.output(for: size, orientation)
            image = ImageRecipe(output, .bgrx, orientation, settings, keepsFormat: true)
            guard image.appliesOrientation || image.watermark != nil || !output.isIdentity else { return nil }
            sharedByteCount = nil
        }
    }

    /// Creates the recipe for copying an image out of memory that its source reuses: in the size that is sent, and in
    /// the format that is encoded or, if frames are shared, in its own.
    init(
        copying pixels: borrowing PixelBuffer,
        _ orientation: FrameOrientation,
        _ settings: Settings,
        isShared: Bool = false
    ) {
        (self.settings, input, sharedByteCount) = (settings, nil, nil)
        image = ImageRecipe(
            settings.output(for: pixels.size, orientation, pixels.format),
            pixels.format,
            orientation,
            settings,
            keepsFormat: isShared
        )
    }

    /// Returns whether the recipe is for pixels like these.
    func applies(to content: FrameContent, _ orientation: FrameOrientation) -> Bool {
        input.map { $0 == Input(content, orientation) } ?? false
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
        let scaled = try self.image.scaled(image, pool: pool)
        // The smaller image is converted: the conversion is linear, and so is scaling.
        if color != .jpeg, image.format.isPlanar { return try scaled.converted(from: color, pool: pool) }
        return scaled.sharesMemory(with: image) ? try scaled.copied(pool: pool) : scaled
    }
}

extension EncodingRecipe.Settings {
    /// Returns the plan for pixels, which are those of a submitted image or a scaled copy of it.
    fileprivate func output(for input: EncodingRecipe.Input) -> OutputPlan {
        switch input.origin {
        case .submitted: output(for: input.size, input.orientation, input.format)
        case .scaled(let plan):
            output(for: plan.image, input.orientation, input.format).afterScaling(by: plan) ?? OutputPlan(input.size)
        }
    }

    /// Returns the plan for pixels of a format, or for a JPEG.
    func output(for size: BufferSize, _ orientation: FrameOrientation, _ format: PixelFormat? = nil) -> OutputPlan {
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
