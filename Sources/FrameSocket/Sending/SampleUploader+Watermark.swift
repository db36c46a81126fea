public import TurboJPEG

extension SampleUploader {
    /// An image that is drawn over every frame, at a position and in a size that are fractions of the size that is sent.
    ///
    /// ```swift
    /// uploader.update { $0.watermark = try? SampleUploader.Watermark(image, x: 0.1, y: 0.1, scale: 0.1) }
    /// ```
    ///
    /// Of a frame that is sent as 540x960, this watermark begins at pixel (54, 96) and is 54 pixels wide; its height
    /// follows from its aspect ratio. Position and size are rounded to whole pixels, and no side is below one pixel. What
    /// lies outside the frame is left out, and a watermark that lies outside as a whole is not drawn.
    ///
    /// All of this refers to the frame as a viewer sees it, upright, whether the sender or the receiver rotates it, and
    /// with the bars of a letterbox: the watermark is drawn after everything else, on a copy of what is sent. The submitted
    /// image stays as it is.
    ///
    /// Two watermarks are equal if they show the same pixels, in the same format, at the same place.
    public struct Watermark: Sendable, Hashable {
        /// The left edge, as a fraction of the frame's width, from -1 to 1; another number becomes the nearest of these, and
        /// one that is not a number 0.
        ///
        /// Default: 0.1.
        public var x: Double { didSet { x = Self.clamped(x, from: -1) } }

        /// The upper edge, as a fraction of the frame's height, from -1 to 1, like ``x``.
        ///
        /// Default: 0.1.
        public var y: Double { didSet { y = Self.clamped(y, from: -1) } }

        /// The width, as a fraction of the frame's width, from 0 to 1, like ``x``; with 0 nothing is drawn.
        ///
        /// Default: 0.1.
        public var scale: Double { didSet { scale = Self.clamped(scale, from: 0) } }

        /// The image, in a packed format.
        let image: PixelBuffer

        /// Creates a watermark of a copy of an image.
        ///
        /// - Parameters:
        ///   - image: The image, in a packed format. The alpha of `bgra`, `rgba`, `argb` and `abgr` says how much a pixel
        ///     shows, and is not multiplied with its colors; images of other formats are opaque. If frames are gray, the
        ///     watermark is too.
        ///   - x: The left edge, as a fraction of the frame's width.
        ///   - y: The upper edge, as a fraction of the frame's height.
        ///   - scale: The width, as a fraction of the frame's width.
        /// - Throws: `unsupported` if the image is planar; `allocationFailed`.
        public init(
            _ image: PixelBuffer,
            x: Double = 0.1,
            y: Double = 0.1,
            scale: Double = 0.1
        ) throws(TurboJPEGError) {
            guard !image.format.isPlanar else {
                throw TurboJPEGError(
                    .unsupported,
                    "a watermark in \(image.format.rawValue) cannot be drawn; convert it to a packed format, such as bgra"
                )
            }
            // A copy: the image may be in memory that its owner needs, such as a shared buffer.
            self.image = try image.copied(pool: PixelBuffer.Pool())
            (self.x, self.y) = (Self.clamped(x, from: -1), Self.clamped(y, from: -1))
            self.scale = Self.clamped(scale, from: 0)
        }

        /// Returns whether two watermarks show the same pixels at the same place.
        public static func == (one: Watermark, other: Watermark) -> Bool {
            // The usual case, which is asked for every frame, is the same memory.
            (one.x, one.y, one.scale) == (other.x, other.y, other.scale)
                && (one.image.sharesMemory(with: other.image) || one.image.hasSamePixels(as: other.image))
        }

        /// Adds position, scale and size to a hash.
        public func hash(into hasher: inout Hasher) {
            for number in [x, y, scale] { hasher.combine(number) }
            for side in [image.width, image.height] { hasher.combine(side) }
        }

        private static func clamped(_ value: Double, from least: Double) -> Double {
            value.isNaN ? 0 : min(max(value, least), 1)
        }
    }
}
