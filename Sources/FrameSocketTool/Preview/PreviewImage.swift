import FrameSocket
import Locking

/// A frame as a browser shows it: an upright JPEG.
final class PreviewImage: Sendable {
    /// The JPEG quality for images that cannot be rotated without loss.
    private static let quality = 90

    private enum State {
        case received(Frame)
        case finished(Result<[UInt8], TurboJPEGError>)
    }

    /// Its number among all images that were ever shown.
    let number: Int
    /// By which a viewer knows whether it has the image.
    let tag: String
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
    ///   - preview: Distinguishes the images of this preview from those of another one at the same address.
    ///   - limits: The limits that its JPEG must meet if it has to be rotated.
    /// - Throws: An error if the frame is not a JPEG that states a size.
    init(
        _ frame: Frame,
        number: Int,
        of preview: some StringProtocol,
        limits: JPEGDecoder.Limits
    ) throws(TurboJPEGError) {
        let stated = try frame.sizedJPEG().size
        (self.number, self.limits, tag) = (number, limits, "\"\(preview)-\(number)\"")
        (orientation, receivedAt) = (frame.orientation, frame.receivedAt)
        size =
            frame.orientation.swapsAxes
            ? BufferSize(width: stated.height, height: stated.width)
            : BufferSize(width: stated.width, height: stated.height)
        state = Locked(.received(frame))
    }

    /// The JPEG, upright and without an orientation of its own.
    ///
    /// It is created when first requested, since rotating takes longer than everything else here. The memory in which the
    /// frame was received is free then.
    ///
    /// - Throws: An error if the JPEG is damaged and has to be rotated.
    func jpeg() throws(TurboJPEGError) -> [UInt8] {
        try state.withLock { state in
            let frame: Frame
            switch state {
            case .finished(let result): return result
            case .received(let received): frame = received
            }
            let result = Result { () throws(TurboJPEGError) in JPEGExif.removed(from: try upright(frame)) }
            state = .finished(result)
            return result
        }.get()
    }

    /// The JPEG rotated upright, without loss if its dimensions allow that, and by encoding it again if they do not.
    private func upright(_ frame: Frame) throws(TurboJPEGError) -> FrameBytes {
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

/// What a JPEG's own Exif data say about its image, which browsers obey and this protocol does not.
enum JPEGExif {
    /// The range of the first Exif segment (APP1) at or after `start`, including marker and length; nil if there is none.
    ///
    /// With `withAnyFirstLetter`, the first letter of its name may be any byte.
    static func segment(
        of jpeg: Span<UInt8>,
        from start: Int = 2,
        withAnyFirstLetter: Bool = false
    ) -> Range<Int>? {
        // After FF D8, each segment is FF, its kind, and two bytes of length, which include themselves.
        var start = start
        while start + 4 <= jpeg.count {
            let kind = jpeg[start + 1]
            // A stray or fill byte, and then a marker without a segment: decoders skip these.
            guard jpeg[start] == 0xFF, kind != 0xFF, kind > 1, !(0xD0...0xD7).contains(kind) else {
                start += 1
                continue
            }
            // The beginning of the coded data, or the end.
            if kind == 0xDA || kind == 0xD9 { return nil }
            let end = start + 2 + max(2, Int(jpeg[start + 2]) << 8 + Int(jpeg[start + 3]))
            guard end <= jpeg.count else { return nil }
            if kind == 0xE1, isExif(jpeg.extracting((start + 4)..<end), withAnyFirstLetter) { return start..<end }
            start = end
        }
        return nil
    }

    private static func isExif(_ content: Span<UInt8>, _ withAnyFirstLetter: Bool) -> Bool {
        let name = Array("Exif\0\0".utf8)
        guard content.count >= name.count else { return false }
        return name.indices.dropFirst(withAnyFirstLetter ? 1 : 0).allSatisfy { content[$0] == name[$0] }
    }

    /// The bytes of a JPEG without its Exif segments.
    static func removed(from jpeg: FrameBytes) -> [UInt8] {
        let bytes = jpeg.array()
        // However many there are, every byte is moved once.
        var (kept, end) = ([UInt8](), 0)
        while let segment = segment(of: bytes.span, from: max(2, end)) {
            kept += bytes[end..<segment.lowerBound]
            end = segment.upperBound
        }
        return end == 0 ? bytes : kept + bytes[end...]
    }
}
