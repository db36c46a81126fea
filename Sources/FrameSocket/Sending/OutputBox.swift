public import FrameWire

/// A size that images are to have, whatever their own, and how they come to it.
public struct OutputBox: Sendable, Hashable {
    /// How an image of another shape fills the box.
    public enum Filling: Sendable, Hashable, CaseIterable {
        /// The image fits in, and what is sent is as large as the image then is.
        case fit
        /// The image fits in, in the middle, and what is sent is as large as the box: black where no image is.
        case letterbox
        /// The image covers the box, and what overhangs on two sides is cut off.
        case fill
    }

    /// Whether the box is turned on its side.
    public enum Turning: Sendable, Hashable, CaseIterable {
        /// It lies as the image does, so that a phone that is turned keeps its resolution.
        case withPicture
        /// It is wider than high.
        case landscape
        /// It is higher than wide.
        case portrait
        /// It stays as it was given.
        case never
    }

    /// The largest width and height, that of a JPEG.
    public static let maximumSide = 65_500

    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// How an image of another shape fills it.
    public let filling: Filling
    /// Whether it is turned on its side.
    public let turning: Turning

    /// A box; sides outside of 1 to ``maximumSide`` become the nearest of these.
    public init(width: Int, height: Int, filling: Filling = .fit, turning: Turning = .withPicture) {
        self.width = min(max(width, 1), Self.maximumSide)
        self.height = min(max(height, 1), Self.maximumSide)
        self.filling = filling
        self.turning = turning
    }

    /// The box for an image of the given size, turned as is asked for.
    public func size(for picture: BufferSize) -> BufferSize {
        let (long, short) = (max(width, height), min(width, height))
        let isLandscape =
            switch turning {
            case .withPicture where picture.width != picture.height: picture.width > picture.height
            case .withPicture, .never: width > height
            case .landscape: true
            case .portrait: false
            }
        return isLandscape ? BufferSize(width: long, height: short) : BufferSize(width: short, height: long)
    }
}
