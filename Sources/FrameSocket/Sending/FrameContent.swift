package import FrameTransport
package import FrameWire
package import TurboJPEG

/// The content of a frame before and after encoding.
package enum FrameContent: Sendable {
    /// Pixels to scale and encode.
    case pixels(PixelBuffer)
    /// Pixels to encode at their own size, because they were scaled when submitted.
    case scaled(PixelBuffer)
    /// A JPEG that is sent unchanged, or rotated upright.
    case jpeg(FrameBytes, BufferSize)
    /// A JPEG that is encoded again if the configuration wants another size.
    case resizableJPEG(FrameBytes, BufferSize)
    /// Pixels in a shared buffer, with the size to send.
    case shared(BufferedImage)
    /// The result of encoding.
    case encoded(FrameBytes, BufferSize)

    /// The pixels, if the content consists of pixels.
    package var pixels: PixelBuffer? {
        switch self {
        case .pixels(let pixels), .scaled(let pixels): pixels
        case .shared(let image): image.pixels
        case .jpeg, .resizableJPEG, .encoded: nil
        }
    }

    /// The size of the image.
    var size: BufferSize {
        switch self {
        case .pixels(let pixels), .scaled(let pixels): BufferSize(width: pixels.width, height: pixels.height)
        case .shared(let image): BufferSize(width: image.pixels.width, height: image.pixels.height)
        case .jpeg(_, let size), .resizableJPEG(_, let size), .encoded(_, let size): size
        }
    }

    /// Whether the content consists of pixels with the size to send.
    package var isScaled: Bool {
        switch self {
        case .scaled, .shared: true
        case .pixels, .jpeg, .resizableJPEG, .encoded: false
        }
    }

    /// The bytes of the pixels or JPEG; those of a shared buffer count with its pool.
    var byteCount: Int {
        switch self {
        case .pixels(let pixels), .scaled(let pixels): EncodingMemory.bytes(of: pixels)
        case .shared: 0
        case .jpeg(let jpeg, _), .resizableJPEG(let jpeg, _), .encoded(let jpeg, _): jpeg.count
        }
    }
}

/// The result of encoding a frame.
package struct EncodedImage: Sendable {
    /// The JPEG.
    package let jpeg: FrameBytes
    /// The size that the message's header states.
    package let bufferSize: BufferSize
    /// The orientation of the encoded image.
    package let orientation: FrameOrientation

    package init(jpeg: FrameBytes, bufferSize: BufferSize, orientation: FrameOrientation) {
        (self.jpeg, self.bufferSize, self.orientation) = (jpeg, bufferSize, orientation)
    }
}
