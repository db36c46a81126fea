public import FrameWire

/// One picture as it crossed the socket: the JPEG's bytes and what the message's head said of it.
public struct Frame: Sendable {
    /// The message's body: one JPEG, possibly followed by zero bytes that a sender padded it with.
    public let jpeg: FrameBytes

    /// The message's head.
    public let head: FrameHead

    /// The frame's place among those of its connection, from 0.
    public let index: Int

    /// When the last byte had been read, in nanoseconds of ``MonotonicClock``.
    public let receivedAt: UInt64

    /// Nanoseconds from the first byte of the head to the last of the body.
    public let transferTime: UInt64

    /// The picture's size as the head states it; the JPEG's own may differ by a pixel.
    public var bufferSize: BufferSize { head.bufferSize }

    /// How the picture lies.
    public var orientation: FrameOrientation { head.orientation }

    /// The presentation time in nanoseconds of the sender's clock, where the sender states one.
    ///
    /// A sender of this package uses ``MonotonicClock`` unless it was given another time.
    public var timestamp: UInt64? { head.presentationTime }

    /// The sender's number of the frame, where it states one: a gap is a frame dropped before the socket.
    public var sequence: UInt64? { head.sequence }
}
