import FrameSocket
import Locking

/// A frame as a browser shows it: an upright JPEG.
final class PreviewImage: Sendable {
    /// The JPEG quality for images that cannot be rotated without loss.
    static let quality = 90

    /// Its number among all images that were ever shown.
    let number: Int
    /// The size as shown.
    let size: BufferSize

    private let frame: Frame
    private let received: FrameBytes
    private let limits: JPEGDecoder.Limits
    private let finished = Locked<FrameBytes?>(nil)

    /// Creates an image from a frame.
    ///
    /// An image that is upright is not decoded here: the browser does that, and decodes more than this program.
    ///
    /// - Parameters:
    ///   - frame: The frame.
    ///   - number: Its number among all images.
    ///   - limits: The limits that its JPEG must meet if it has to be rotated.
    /// - Throws: An error if the frame is not a JPEG that states a size.
    init(_ frame: Frame, number: Int, limits: JPEGDecoder.Limits) throws(TurboJPEGError) {
        let (received, stated) = try frame.sizedJPEG()
        self.frame = frame
        self.received = received
        self.number = number
        self.limits = limits
        size =
            frame.orientation.swapsAxes
            ? BufferSize(width: stated.height, height: stated.width)
            : BufferSize(width: stated.width, height: stated.height)
    }

    /// The orientation of the image as received.
    var orientation: FrameOrientation { frame.orientation }

    /// When the frame was received, in nanoseconds of `MonotonicClock`.
    var receivedAt: UInt64 { frame.receivedAt }

    /// The JPEG, upright and without an orientation of its own; created when first requested, since rotating takes
    /// longer than everything else here.
    ///
    /// - Throws: An error if the JPEG is damaged and has to be rotated.
    func jpeg() throws(TurboJPEGError) -> FrameBytes {
        try finished.withLock { finished throws(TurboJPEGError) in
            if let finished { return finished }
            let isUpright = frame.orientation.rotation == 0 && !frame.orientation.isMirrored
            let jpeg = JPEGExif.removed(from: isUpright ? received : try rotate())
            finished = jpeg
            return jpeg
        }
    }

    /// Rotates a JPEG, without loss if its dimensions allow that, and by encoding it again if they do not.
    private func rotate() throws(TurboJPEGError) -> FrameBytes {
        do {
            return try frame.uprightJPEG(edges: .perfect, limits: limits).jpeg
        } catch  where [.transformFailed, .unsupported].contains(error.code) {
            var configuration = FrameDecoder.Configuration()
            configuration.isUpright = true
            configuration.jpeg.limits = limits
            let pixels = try FrameDecoder(configuration: configuration).decode(frame, as: .bgra).image
            let encoded = try JPEGEncoder(quality: Self.quality).encode(pixels)
            return FrameBytes(encoded)
        }
    }
}
