package import FrameTransport
package import FrameWire
package import TurboJPEG

/// The content of a frame, from which what is sent is prepared.
package enum FrameContent: Sendable {
    /// Pixels to scale and encode.
    case pixels(PixelBuffer)
    /// Pixels to encode at their own size, because they were scaled by this plan when submitted; only if a receiver that
    /// comes later wants a smaller size, they are scaled again.
    indirect case scaled(PixelBuffer, by: OutputPlan)
    /// A JPEG that is sent unchanged, or rotated upright.
    case jpeg(FrameBytes, BufferSize)
    /// A JPEG that is encoded again if the configuration wants another size.
    case resizableJPEG(FrameBytes, BufferSize)

    /// The pixels, if the content consists of pixels.
    package var pixels: PixelBuffer? {
        switch self {
        case .pixels(let pixels), .scaled(let pixels, _): pixels
        case .jpeg, .resizableJPEG: nil
        }
    }

    /// The size of the image.
    package var size: BufferSize {
        switch self {
        case .pixels(let pixels), .scaled(let pixels, _): pixels.size
        case .jpeg(_, let size), .resizableJPEG(_, let size): size
        }
    }

    /// Whether the content consists of pixels with the size to send.
    package var isScaled: Bool { if case .scaled = self { true } else { false } }

    /// Whether something else can be made of it for another receiver: a JPEG that is sent as it is stays the same.
    var isAdaptable: Bool { if case .jpeg = self { false } else { true } }
}
