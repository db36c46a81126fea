public import FrameWire

/// One image to be sent: a JPEG, and what its header is to say.
public struct FrameMessage: Sendable {
    /// The JPEG.
    public var jpeg: FrameBytes

    /// The image's size in pixels.
    public var bufferSize: BufferSize

    /// How the image lies.
    ///
    /// Default: up.
    public var orientation: FrameOrientation

    /// The presentation time in nanoseconds; nil to leave it out.
    public var timestamp: UInt64?

    /// The frame's number; nil to leave it out.
    public var sequence: UInt64?

    /// A message with `jpeg` as its body.
    public init(
        jpeg: FrameBytes,
        bufferSize: BufferSize,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil,
        sequence: UInt64? = nil
    ) {
        self.jpeg = jpeg
        self.bufferSize = bufferSize
        self.orientation = orientation
        self.timestamp = timestamp
        self.sequence = sequence
    }
}
