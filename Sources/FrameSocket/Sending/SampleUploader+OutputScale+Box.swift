public import FrameWire

extension SampleUploader.OutputScale {
    /// A target size for images, and how they are fitted to it.
    public struct Box: Sendable, Hashable {
        /// How an image of another aspect ratio fills the box.
        public enum Filling: Sendable, Hashable, CaseIterable {
            /// Scales the image to fit inside the box; what is sent has the size of the scaled image.
            case fit
            /// Scales the image to fit inside the box and centers it; what is sent has the size of the box, with black
            /// bars.
            case letterbox
            /// Scales the image to cover the box and crops what overhangs on two sides.
            case fill
        }

        /// Whether the box is rotated to the image's orientation.
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

        /// The largest width and height: the limit of the JPEG format.
        public static let maximumSide = 65_500

        /// The width in pixels.
        public let width: Int
        /// The height in pixels.
        public let height: Int
        /// How an image of another aspect ratio fills the box.
        public let filling: Filling
        /// Whether the box is rotated.
        public let rotation: Rotation

        /// Creates a box, with sides clamped to 1 through ``maximumSide``.
        public init(width: Int, height: Int, filling: Filling = .fit, rotation: Rotation = .withImage) {
            self.width = min(max(width, 1), Self.maximumSide)
            self.height = min(max(height, 1), Self.maximumSide)
            self.filling = filling
            self.rotation = rotation
        }

        /// Returns the box for an image of the given size, rotated as ``rotation`` says.
        public func size(for image: BufferSize) -> BufferSize {
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
