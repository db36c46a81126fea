package import FrameWire

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
}
