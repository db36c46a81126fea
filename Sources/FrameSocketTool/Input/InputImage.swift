import FrameSocket
import JPEGStreams

/// An image to send, with its name in error messages.
struct InputImage: Sendable {
    /// The image as it was read.
    enum Content: Sendable {
        case jpeg([UInt8])
        case pixels(PixelBuffer)
    }

    /// Images behind the first of a file.
    struct Omission: Sendable {
        /// Where the next one begins.
        let offset: Int
        /// What sends all of them.
        let command: String
    }

    let name: String
    private(set) var content: Content
    /// Whether a JPEG of a stream had its end marker.
    let isComplete: Bool
    /// Whether zeros followed a JPEG of a stream without its end marker, of which the first may belong to it.
    private let isBeforeZeros: Bool
    /// The version of the image's file; nil for one of a stream or a pipe.
    let version: Files.Version?
    /// What is not sent of the image's file, if that has not been reported yet.
    var omission: Omission?

    init(name: String, content: Content, version: Files.Version? = nil) {
        (self.name, self.content, self.version) = (name, content, version)
        (isComplete, isBeforeZeros) = (true, false)
    }

    /// The image of a stream.
    init(name: String, _ image: JPEGStreamImage) {
        (self.name, content) = (name, .jpeg(image.bytes))
        (isComplete, isBeforeZeros, version) = (image.isComplete, image.isBeforeZeros, nil)
    }

    /// The pixels; those of a JPEG, which may deviate from the format if `isLenient`, are decoded into memory of `pool`.
    ///
    /// From then on, the content of a JPEG without an end marker is what could be decoded.
    mutating func pixels(_ pool: PixelBuffer.Pool, isLenient: Bool) throws(CommandFailure) -> PixelBuffer {
        switch content {
        case .pixels(let pixels): return pixels
        case .jpeg(let jpeg):
            var decoder = JPEGDecoder(pool: pool)
            decoder.limits = .ownFiles
            decoder.limits.acceptsDeviations = isLenient
            let bytes = jpeg[...]
            do {
                return try decoder.decode(bytes.span, as: .bgrx)
            } catch {
                let failure = CommandFailure(.badData, "\(name): \(error.advice)")
                guard isBeforeZeros else { throw failure }
                let whole = Array(bytes.dropLast(2) + [0] + bytes.suffix(2))
                let again = whole[...]
                guard let pixels = try? decoder.decode(again.span, as: .bgrx) else { throw failure }
                content = .jpeg(whole)
                return pixels
            }
        }
    }
}
