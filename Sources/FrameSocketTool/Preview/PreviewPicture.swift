import FrameSocket
import Locking

/// A frame as a browser shows it: a JPEG that lies upright.
final class PreviewPicture: Sendable {
    /// The quality of pictures that cannot be turned as they are.
    static let quality = 90

    /// Its place among all pictures that were ever shown.
    let number: Int
    /// The size as shown.
    let size: BufferSize

    private let frame: Frame
    private let finished = Locked<FrameBytes?>(nil)

    /// Takes a frame whose JPEG says what it is.
    ///
    /// - Throws: where it is no JPEG that could be shown.
    init(_ frame: Frame, number: Int) throws(TurboJPEGError) {
        let header = try frame.jpeg.withBytes { jpeg throws(TurboJPEGError) in try JPEGHeader(inspecting: jpeg) }
        self.frame = frame
        self.number = number
        size =
            frame.orientation.swapsAxes
            ? BufferSize(width: header.height, height: header.width)
            : BufferSize(width: header.width, height: header.height)
    }

    /// How the picture lay before it was turned.
    var orientation: FrameOrientation { frame.orientation }

    /// When the frame had been received, in nanoseconds of `MonotonicClock`.
    var receivedAt: UInt64 { frame.receivedAt }

    /// The JPEG, upright and without an orientation of its own; made when it is first asked for, as turning takes longer than
    /// everything else here.
    ///
    /// - Throws: where the JPEG is damaged, and had to be turned.
    func jpeg() throws(TurboJPEGError) -> FrameBytes {
        try finished.withLock { finished throws(TurboJPEGError) in
            if let finished { return finished }
            let isUpright = frame.orientation.rotation == 0 && !frame.orientation.isMirrored
            let jpeg = JPEGExif.removed(from: isUpright ? frame.jpeg : try Self.turn(frame))
            finished = jpeg
            return jpeg
        }
    }

    /// Turns a JPEG without loss where its sides allow that, and anew where they do not.
    private static func turn(_ frame: Frame) throws(TurboJPEGError) -> FrameBytes {
        do {
            return try frame.uprightJPEG(edges: .perfect).jpeg
        } catch  where [.transformFailed, .unsupported].contains(error.code) {
            var configuration = FrameDecoder.Configuration()
            configuration.isUpright = true
            let pixels = try FrameDecoder(configuration: configuration).decode(frame, as: .bgra)
            let encoded = try JPEGEncoder(quality: quality).encode(pixels)
            return FrameBytes(copying: encoded.span)
        }
    }
}
