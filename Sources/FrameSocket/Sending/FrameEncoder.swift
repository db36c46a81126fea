internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// Makes JPEGs of pictures, in memory that is used again.
struct FrameEncoder: Sendable {
    /// What is to be sent.
    enum Content: Sendable {
        case pixels(PixelBuffer)
        case jpeg(FrameBytes, BufferSize)
    }

    private let scale: OutputScale
    private let encoder: JPEGEncoder
    let pixels = PixelBufferPool()

    /// A JPEG's memory is as large as its worst case, nearly all of which is never touched, so that a high limit to
    /// what is kept costs address space alone.
    let bytes = BytePool(maximumIdleBytes: 512 << 20)

    init(_ configuration: SampleUploader.Configuration) {
        scale = configuration.scale
        encoder = JPEGEncoder(quality: configuration.quality, subsampling: configuration.subsampling)
    }

    func encode(_ content: Content) throws(TurboJPEGError) -> (jpeg: FrameBytes, bufferSize: BufferSize) {
        switch content {
        case .jpeg(let jpeg, let bufferSize):
            return (jpeg, bufferSize)
        case .pixels(let picture):
            let picture = try scaled(picture)
            let capacity = try encoder.maximumByteCount(width: picture.width, height: picture.height)
            let jpeg = try FrameBytes(capacity: capacity, pool: bytes) { output throws(TurboJPEGError) in
                try encoder.encode(picture, into: &output)
            }
            return (jpeg, BufferSize(width: picture.width, height: picture.height))
        }
    }

    private func scaled(_ picture: PixelBuffer) throws(TurboJPEGError) -> PixelBuffer {
        let size = scale.size(forWidth: picture.width, height: picture.height)
        let source = scale.source(width: picture.width, height: picture.height)
        return try picture.cropped(toWidth: source.width, height: source.height)
            .scaled(toWidth: size.width, height: size.height, pool: pixels)
    }
}
