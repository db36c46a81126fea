internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// The memory that encoding uses again, for images of one shape.
///
/// One image is encoded at a time, so that one buffer of a kind is enough. An image of another shape gets memory of its
/// own, and that of the shape before is given up first: a phone that is turned does not hold both.
struct EncodingWorkspace: Sendable {
    /// What decides how large the buffers are.
    struct Shape: Sendable, Hashable {
        let canvas: BufferSize
        let format: PixelFormat
        let isTurned: Bool
    }

    private var shape: Shape?
    private var decodedSize: BufferSize?

    private(set) var scaled = PixelBufferPool(maximumIdle: 1)
    private(set) var turned = PixelBufferPool(maximumIdle: 1)
    private(set) var encoder = JPEGEncoder()
    private(set) var strips = StripEncoder()
    private var decoder = Self.newDecoder()

    /// A JPEG's memory is as large as its worst case, nearly all of which is never touched, so that a high limit to
    /// what is kept costs address space alone.
    private(set) var bytes = BytePool(maximumIdleBytes: 512 << 20)

    /// The workspace for a shape; a new one if it differs from the last one.
    mutating func prepared(for shape: Shape) -> EncodingWorkspace {
        if self.shape != shape {
            let (decoder, decodedSize) = (decoder, decodedSize)
            self = EncodingWorkspace()
            (self.shape, self.decoder, self.decodedSize) = (shape, decoder, decodedSize)
        }
        return self
    }

    /// The decoder for images of a size; a new one if it differs from the last one.
    mutating func decoder(for size: BufferSize) -> JPEGDecoder {
        if decodedSize != size {
            decoder = Self.newDecoder()
            decodedSize = size
        }
        return decoder
    }

    /// What is decoded here is the application's own.
    private static func newDecoder() -> JPEGDecoder {
        var decoder = JPEGDecoder(pool: PixelBufferPool(maximumIdle: 1))
        decoder.limits = .ownFiles
        return decoder
    }
}
