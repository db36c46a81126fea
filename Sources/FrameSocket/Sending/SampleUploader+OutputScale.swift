package import FrameWire
package import TurboJPEG

extension SampleUploader {
    /// The size of the sent image relative to the submitted one.
    ///
    /// Boxes and widths refer to the upright image: if the orientation turns the image on its side, they apply after the
    /// turn. Images are never enlarged.
    ///
    /// An invalid scale leaves the image at its size: a fraction that is not between 0 and 1, and a width or height below
    /// 1. Sides above 65,500 pixels, the limit of the JPEG format, count as 65,500.
    public struct OutputScale: Sendable, Hashable {
        package enum Form: Sendable, Hashable {
            case full
            case fraction(numerator: Int, denominator: Int)
            case width(Int)
            case box(Box)
        }

        package let form: Form
        /// What a receiver prefers: the image is fitted in this box too, if it would be larger.
        private var preferred: Box?

        private init(form: Form) { self.form = form }

        /// The size of the submitted image.
        public static let full = OutputScale(form: .full)

        /// A fraction of width and height, rounded down, at least 1 pixel: 1125x2436 by a half is 562x1218.
        public static func fraction(numerator: Int, denominator: Int) -> OutputScale {
            OutputScale(form: .fraction(numerator: numerator, denominator: denominator))
        }

        /// Half the width and half the height, as Jitsi sends.
        public static let half = OutputScale.fraction(numerator: 1, denominator: 2)

        /// At most this many pixels wide, with the height in proportion; NetEase sends 720.
        ///
        /// Both sides are whole chroma samples, so even for 4:2:0, like those of ``fit(width:height:rotation:)``.
        public static func width(_ width: Int) -> OutputScale { OutputScale(form: .width(width)) }

        /// At most this width and height, in proportion; what is sent is no larger than the scaled image.
        ///
        /// By default the box is rotated with the image: a portrait image has at most the box's width in height. Agora sends
        /// 640x360, and 360x640 of a portrait image.
        public static func fit(width: Int, height: Int, rotation: Rotation = .withImage) -> OutputScale {
            box(width, height, .fit, rotation)
        }

        /// Exactly this size, rotated with the image by default, with the image in the center and black bars around it.
        ///
        /// Of a smaller image with an odd side, the last column or row is left out if it shares its chroma with a bar.
        public static func letterbox(width: Int, height: Int, rotation: Rotation = .withImage) -> OutputScale {
            box(width, height, .letterbox, rotation)
        }

        /// Exactly this size or, for a smaller image, this aspect ratio, filled with the center of the image.
        public static func fill(width: Int, height: Int, rotation: Rotation = .withImage) -> OutputScale {
            box(width, height, .fill, rotation)
        }

        private static func box(_ width: Int, _ height: Int, _ mode: FrameDecoder.Viewport.Mode, _ rotation: Rotation)
            -> OutputScale
        {
            guard width > 0, height > 0 else { return .full }
            return OutputScale(form: .box(Box(width: width, height: height, mode: mode, rotation: rotation)))
        }

        /// Returns the size that is sent, with 4:2:0, for an upright image of the given size.
        ///
        /// Images have sides of 1 to 65,500 pixels; any other number counts as the nearest of these.
        package func size(forWidth width: Int, height: Int) -> (width: Int, height: Int) {
            func clamped(_ side: Int) -> Int { min(max(side, 1), Box.maximumSide) }
            let canvas = plan(forWidth: clamped(width), height: clamped(height)).canvas
            return (canvas.width, canvas.height)
        }

        /// Returns the plan for an image of the given size, in the coordinates of its buffer.
        ///
        /// - Parameters:
        ///   - width: The image's width in pixels.
        ///   - height: The image's height in pixels.
        ///   - orientation: The image's orientation.
        ///   - appliesOrientation: Whether the image is rotated upright before it is encoded.
        ///   - subsampling: Sizes that the scale does not state exactly are multiples of its chroma samples: even for 4:2:0.
        /// - Returns: The plan, for `PixelBuffer.applying(_:pool:)`.
        package func plan(
            forWidth width: Int,
            height: Int,
            orientation: FrameOrientation = .up,
            appliesOrientation: Bool = false,
            subsampling: ChromaSubsampling = .yuv420
        ) -> OutputPlan {
            let image = BufferSize(width: width, height: height)
            // A block lies in the image as that is encoded; the planner's image is upright.
            let block = appliesOrientation ? subsampling.blockSize : subsampling.blockSize.oriented(by: orientation)
            let planner = OutputPlanner(image.oriented(by: orientation), block)
            let own: OutputPlan
            switch form {
            case .full:
                own = OutputPlan(image)
            case .fraction(let numerator, let denominator):
                own = .fraction(of: image, numerator, denominator)
            case .width, .box:
                let upright = plan(planner).oriented(by: orientation)
                own = appliesOrientation ? upright.placed(forRotationFrom: orientation) : upright
            }
            guard let preferred else { return own }
            let (most, box) = (own.canvas.oriented(by: orientation), preferred.size(for: planner.image))
            guard most.width > box.width || most.height > box.height else { return own }
            let size = BufferSize(width: min(most.width, box.width), height: min(most.height, box.height))
            var plan = planner.fit(size)
            // Not even by a chroma sample more.
            let (width, height) = (plan.scaled.width, plan.scaled.height)
            plan.scaled = BufferSize(width: min(width, size.width), height: min(height, size.height))
            plan.canvas = plan.scaled
            return plan.oriented(by: orientation)
        }

        /// Returns this scale for a receiver that prefers images no larger than `size`.
        package func preferring(_ size: BufferSize) -> OutputScale {
            if case .full = form { return .fit(width: size.width, height: size.height) }
            var scale = self
            scale.preferred = Box(width: size.width, height: size.height, mode: .fit, rotation: .withImage)
            return scale
        }

        private func plan(_ planner: OutputPlanner) -> OutputPlan {
            switch form {
            case .box(let box):
                return planner.plan(box.mode, box.size(for: planner.image))
            case .width(let width):
                guard width > 0 else { return OutputPlan(planner.image) }
                return planner.fit(BufferSize(width: min(width, Box.maximumSide), height: .max))
            case .full, .fraction:
                return OutputPlan(planner.image)
            }
        }
    }
}

extension SampleUploader.OutputScale {
    /// Whether a size is rotated to the image's orientation.
    public enum Rotation: Sendable, Hashable, CaseIterable {
        /// Rotated with the image, so that turning a phone keeps its resolution.
        case withImage
        /// Always wider than high.
        case landscape
        /// Always higher than wide.
        case portrait
        /// Never rotated.
        case never
    }

    /// A target size for images, and how they are fitted to it.
    package struct Box: Sendable, Hashable {
        /// The largest width and height: the limit of the JPEG format.
        package static let maximumSide = 65_500

        /// The width in pixels.
        package let width: Int
        /// The height in pixels.
        package let height: Int
        /// How an image of another aspect ratio fills the box.
        package let mode: FrameDecoder.Viewport.Mode
        /// Whether the box is rotated.
        package let rotation: Rotation

        /// Creates a box, with sides clamped to 1 through `maximumSide`.
        package init(width: Int, height: Int, mode: FrameDecoder.Viewport.Mode, rotation: Rotation) {
            self.width = min(max(width, 1), Self.maximumSide)
            self.height = min(max(height, 1), Self.maximumSide)
            self.mode = mode
            self.rotation = rotation
        }

        /// Returns the box for an image of the given size, rotated as ``rotation`` says.
        package func size(for image: BufferSize) -> BufferSize {
            let (long, short) = (max(width, height), min(width, height))
            let isLandscape =
                switch rotation {
                case .withImage where image.width != image.height: image.width > image.height
                case .withImage, .never: width > height
                case .landscape: true
                case .portrait: false
                }
            return isLandscape ? BufferSize(width: long, height: short) : BufferSize(width: short, height: long)
        }
    }

    /// A size of 16:9 by its usual name: the number of rows of the landscape image.
    ///
    /// The raw value is that number, so `Preset(rawValue: 720)` is ``p720``.
    public enum Preset: Int, Sendable, Hashable, CaseIterable {
        /// 640x360.
        case p360 = 360
        /// 960x540.
        case p540 = 540
        /// 1280x720.
        case p720 = 720
        /// 1920x1080.
        case p1080 = 1080
        /// 2560x1440.
        case p1440 = 1440
        /// 3840x2160.
        case p2160 = 2160

        /// The shorter side in pixels: the height in landscape.
        package var shortSide: Int { rawValue }

        /// The longer side in pixels: the width in landscape.
        package var longSide: Int { rawValue * 16 / 9 }
    }

    /// Returns the box of a preset's size, in the given direction.
    ///
    /// The direction is that of the upright image, which the viewer sees: if the orientation turns the image on its side,
    /// the buffer that is sent in landscape is higher than wide, unless the uploader rotates it
    /// (`Configuration.appliesOrientation`).
    ///
    /// Images are never enlarged, and what is sent has the aspect ratio of the image.
    ///
    /// - Parameters:
    ///   - preset: The size.
    ///   - rotation: The direction: that of the image by default, so that turning a phone keeps its resolution.
    /// - Returns: ``fit(width:height:rotation:)`` with the preset's sides.
    public static func preset(_ preset: Preset, rotation: Rotation = .withImage) -> SampleUploader.OutputScale {
        .fit(width: preset.longSide, height: preset.shortSide, rotation: rotation)
    }
}

extension BufferSize {
    /// Converts between the size in the buffer and the upright size.
    func oriented(by orientation: FrameOrientation) -> BufferSize {
        orientation.swapsAxes ? BufferSize(width: height, height: width) : self
    }
}

extension ChromaSubsampling {
    /// The pixels that share a chroma sample.
    fileprivate var blockSize: BufferSize {
        BufferSize(width: mcuWidth / 8, height: mcuHeight / 8)
    }
}
