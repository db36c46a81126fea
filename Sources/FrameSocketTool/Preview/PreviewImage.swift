import FrameSocket
import Locking

/// A frame as a browser shows it: an upright JPEG.
final class PreviewImage: Sendable {
    /// The JPEG quality for images that cannot be rotated without loss.
    private static let quality = 90

    private enum State {
        case received(Frame, FrameBytes)
        case finished(Result<FrameBytes, TurboJPEGError>)
    }

    /// Its number among all images that were ever shown.
    let number: Int
    /// The size as shown.
    let size: BufferSize
    /// The orientation of the image as received.
    let orientation: FrameOrientation
    /// When the frame was received, in nanoseconds of `MonotonicClock`.
    let receivedAt: UInt64

    private let limits: JPEGDecoder.Limits
    private let state: Locked<State>

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
        (self.number, self.limits) = (number, limits)
        (orientation, receivedAt) = (frame.orientation, frame.receivedAt)
        size =
            frame.orientation.swapsAxes
            ? BufferSize(width: stated.height, height: stated.width)
            : BufferSize(width: stated.width, height: stated.height)
        state = Locked(.received(frame, received))
    }

    /// The JPEG, upright and without an orientation of its own; created when first requested, since rotating takes
    /// longer than everything else here.
    ///
    /// - Throws: An error if the JPEG is damaged and has to be rotated.
    func jpeg() throws(TurboJPEGError) -> FrameBytes {
        try state.withLock { state in
            switch state {
            case .finished(let result): return result
            case .received(let frame, let received):
                let isUpright = frame.orientation.rotation == 0 && !frame.orientation.isMirrored
                let result = Result { () throws(TurboJPEGError) in
                    JPEGExif.removed(from: isUpright ? received : try rotate(frame))
                }
                state = .finished(result)
                return result
            }
        }.get()
    }

    /// Moves the JPEG out of the memory in which it was received; returns nil if it is damaged, or if there is no other.
    func keep() -> PreviewImage? {
        guard let jpeg = try? jpeg() else { return nil }
        let copy = jpeg.withSpan { FrameBytes(copying: $0) }
        guard copy.count == jpeg.count else { return nil }
        state.withLock { $0 = .finished(.success(copy)) }
        return self
    }

    /// Rotates a JPEG, without loss if its dimensions allow that, and by encoding it again if they do not.
    private func rotate(_ frame: Frame) throws(TurboJPEGError) -> FrameBytes {
        do {
            return try frame.uprightJPEG(edges: .perfect, limits: limits).jpeg
        } catch  where [.transformFailed, .unsupported].contains(error.code) {
            var configuration = FrameDecoder.Configuration()
            configuration.isUpright = true
            configuration.jpeg.limits = limits
            let pixels = try FrameDecoder(configuration: configuration).decode(frame, as: .bgra).image
            return FrameBytes(try JPEGEncoder(quality: Self.quality).encode(pixels))
        }
    }
}
