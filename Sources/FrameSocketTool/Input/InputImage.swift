import FrameSocket

/// An image to send, with its name in error messages.
struct InputImage: Sendable {
    /// The image as it was read.
    enum Content: Sendable {
        case jpeg([UInt8])
        case pixels(PixelBuffer)
    }

    let name: String
    let content: Content
    /// Whether a JPEG of a stream had its end marker.
    var isComplete = true
    /// What is not sent of the image's file, if that has not been reported yet.
    var omission: String?

    /// The pixels; those of a JPEG, which may deviate from the format if `isLenient`, are decoded into memory of `pool`.
    func pixels(_ pool: PixelBuffer.Pool, isLenient: Bool) throws(CommandFailure) -> PixelBuffer {
        switch content {
        case .pixels(let pixels): return pixels
        case .jpeg(let jpeg):
            var decoder = JPEGDecoder(pool: pool)
            decoder.limits = .ownFiles
            decoder.limits.acceptsDeviations = isLenient
            do {
                let bytes = jpeg[...]
                return try decoder.decode(bytes.span, as: .bgrx)
            } catch {
                throw CommandFailure(.badData, "\(name): \(error.advice)")
            }
        }
    }
}
