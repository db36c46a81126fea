public import FrameWire

/// A frame to send: a JPEG, and the fields of its header.
public struct FrameMessage: Sendable {
    /// The JPEG.
    public var jpeg: FrameBytes

    /// The image's size in pixels.
    public var bufferSize: BufferSize

    /// The image's orientation.
    ///
    /// Default: up.
    public var orientation: FrameOrientation

    /// The presentation time in nanoseconds; nil to omit it.
    public var timestamp: UInt64?

    /// The frame's number; nil to omit it.
    public var sequence: UInt64?

    /// Creates a message with `jpeg` as its body.
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

/// A frame to send, in either form; behind a reference, since it is passed on many times.
package indirect enum FrameSubmission: Sendable {
    case jpeg(FrameMessage)
    case shared(SharedFrameMessage)
}

/// A frame to send whose pixels are in shared memory.
package struct SharedFrameMessage: Sendable {
    /// The header.
    package var header: SharedFrameHeader

    /// The memory, to which nothing is written until the receiver has released it.
    package var memory: SharedMemory

    /// Whether the receiver does not have the memory yet, and is passed its descriptor.
    package var isNew: Bool

    /// The uploader that the buffer belongs to.
    package var owner: UInt64

    package init(header: SharedFrameHeader, memory: SharedMemory, isNew: Bool, owner: UInt64 = 0) {
        (self.header, self.memory, self.isNew, self.owner) = (header, memory, isNew, owner)
    }
}
