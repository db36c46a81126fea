import FrameSocket

/// Raw video on standard output: pictures of one size, one after the other, without anything between them.
///
/// Whoever reads raw video knows its size beforehand. So all pictures have the size of the first, or of the box that the
/// user gave; one of another size ends the output, rather than being read as garbage.
struct RawOutput {
    private let format: PixelFormat
    private let box: OutputScale?
    private let decoder: FrameDecoder
    /// The memory of scaled pictures, from one to the next.
    private let pool = PixelBufferPool(maximumIdle: 1)
    private var size: BufferSize?

    /// Prepares to write.
    ///
    /// - Parameters:
    ///   - format: how pixels are written.
    ///   - box: the size that every picture is scaled to, black where it does not reach; nil leaves them as they are.
    ///   - decoder: decodes the frames.
    init(_ format: PixelFormat, box: BufferSize?, decoder: FrameDecoder) {
        self.format = format
        self.box = box.map { .letterbox(width: $0.width, height: $0.height, turning: .never) }
        self.decoder = decoder
    }

    /// A picture's bytes, without padding between rows and planes.
    mutating func bytes(of frame: Frame) throws -> FrameBytes {
        var pixels = try decoder.decode(frame, as: format)
        if let box {
            pixels = try pixels.applying(box.plan(forWidth: pixels.width, height: pixels.height), pool: pool)
        }
        let current = BufferSize(width: pixels.width, height: pixels.height)
        if let size, size != current {
            throw CommandFailure(
                .badData,
                "the pictures were \(size.width)x\(size.height) and now are \(current.width)x\(current.height), which raw"
                    + " video cannot tell its reader: give all one size with --letterbox WxH"
            )
        }
        size = current
        return try FrameBytes(capacity: pixels.packedByteCount) { output throws(TurboJPEGError) in
            try pixels.copyPacked(into: &output)
        }
    }
}
