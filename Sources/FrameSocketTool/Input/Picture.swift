import FrameSocket

/// A picture to be sent, and what to call it in a complaint.
struct Picture: Sendable {
    /// The picture, as it came.
    enum Content: Sendable {
        case jpeg([UInt8])
        case pixels(PixelBuffer)
    }

    let name: String
    let content: Content

    /// The pixels, decoded into memory of `pool` where the picture came as a JPEG.
    func pixels(_ pool: PixelBufferPool) throws(CommandFailure) -> PixelBuffer {
        switch content {
        case .pixels(let pixels): return pixels
        case .jpeg(let jpeg):
            var decoder = JPEGDecoder(pool: pool)
            decoder.limits = .ownFiles
            do {
                return try decoder.decode(jpeg.span, as: .bgrx)
            } catch {
                throw CommandFailure(.badData, "\(name): \(error)")
            }
        }
    }
}
