package import FrameTransport
package import FrameWire
package import TurboJPEG

/// What a frame consists of before, and after, it is encoded.
package enum FrameContent: Sendable {
    /// Pixels to scale and encode.
    case pixels(PixelBuffer)
    /// Pixels to encode in the size that they have: they were scaled when they were offered.
    case scaled(PixelBuffer)
    /// A JPEG that is sent as it is, or turned upright.
    case jpeg(FrameBytes, BufferSize)
    /// A JPEG that is encoded again if the configuration wants another size.
    case resizableJPEG(FrameBytes, BufferSize)
    /// What encoding has produced.
    case encoded(FrameBytes, BufferSize)

    /// The pixels, if it consists of these.
    var pixels: PixelBuffer? {
        switch self {
        case .pixels(let pixels), .scaled(let pixels): pixels
        case .jpeg, .resizableJPEG, .encoded: nil
        }
    }

    /// Whether it consists of pixels that have the size to send.
    var isScaled: Bool {
        if case .scaled = self { true } else { false }
    }

    /// The bytes of pixels or JPEG that it holds.
    var byteCount: Int {
        switch self {
        case .pixels(let pixels), .scaled(let pixels): EncodingMemory.bytes(of: pixels)
        case .jpeg(let jpeg, _), .resizableJPEG(let jpeg, _), .encoded(let jpeg, _): jpeg.count
        }
    }
}

/// What encoding a frame has produced.
package struct EncodedImage: Sendable {
    /// The JPEG.
    package let jpeg: FrameBytes
    /// The size that the message's header states.
    package let bufferSize: BufferSize
    /// How the encoded image lies.
    package let orientation: FrameOrientation

    package init(jpeg: FrameBytes, bufferSize: BufferSize, orientation: FrameOrientation) {
        (self.jpeg, self.bufferSize, self.orientation) = (jpeg, bufferSize, orientation)
    }
}
