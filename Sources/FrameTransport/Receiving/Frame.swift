public import FrameWire

/// One image as it crossed the socket: the JPEG's bytes and what the message's header said of it.
public struct Frame: Sendable {
    /// The message's body: one JPEG, possibly followed by zero bytes that a sender padded it with.
    public let jpeg: FrameBytes

    /// The message's header.
    public let head: FrameHead

    /// The frame's place among those of its connection, from 0.
    public let index: Int

    /// When the last byte had been read, in nanoseconds of ``MonotonicClock``.
    public let receivedAt: UInt64

    /// Nanoseconds from the first byte of the header to the last of the body.
    public let transferTime: UInt64

    /// What counts the frames of its connection that cannot be decoded: all of them share it, and those of others have another.
    package var tally: DecodingTally?
    /// Which reader of a fan-out got it; 0 for the connection's own consumer.
    package var reader: UInt64 = 0
    /// What it takes of the memory budget until the consumer has it.
    var grant: MemoryBudget.Grant?

    /// Makes a frame without any connection, as a program's tests may need one.
    ///
    /// - Parameters:
    ///   - jpeg: The JPEG's bytes.
    ///   - head: What is said of it; `contentLength` is not compared with `jpeg`.
    ///   - index: Its place among the frames of its connection, from 0.
    ///   - receivedAt: When it had come, in nanoseconds of ``MonotonicClock``.
    ///   - transferTime: For how many nanoseconds it was coming.
    public init(
        jpeg: FrameBytes,
        head: FrameHead,
        index: Int = 0,
        receivedAt: UInt64 = MonotonicClock.now(),
        transferTime: UInt64 = 0
    ) {
        self.init(
            jpeg: jpeg,
            head: head,
            index: index,
            receivedAt: receivedAt,
            transferTime: transferTime,
            tally: nil
        )
    }

    init(
        jpeg: FrameBytes,
        head: FrameHead,
        index: Int,
        receivedAt: UInt64,
        transferTime: UInt64,
        tally: DecodingTally?,
        grant: MemoryBudget.Grant? = nil
    ) {
        (self.jpeg, self.head, self.index) = (jpeg, head, index)
        (self.receivedAt, self.transferTime) = (receivedAt, transferTime)
        (self.tally, self.grant) = (tally, grant)
    }

    /// The image's size as the header states it; the JPEG's own may differ by a pixel.
    public var bufferSize: BufferSize { head.bufferSize }

    /// How the image lies.
    public var orientation: FrameOrientation { head.orientation }

    /// The presentation time in nanoseconds of the sender's clock, if the sender states one.
    ///
    /// A sender of this package uses ``MonotonicClock`` unless it was given another time.
    public var timestamp: UInt64? { head.presentationTime }

    /// The sender's number of the frame, if it states one: a gap is a frame dropped before the socket.
    public var sequence: UInt64? { head.sequence }
}

extension Frame {
    /// Says that the JPEG was decoded.
    ///
    /// `FrameDecoder` says it by itself; for those who decode by other means.
    public func reportDecoded() {
        tally?.note(frame: index, isDecoded: true)
    }

    /// Says that the JPEG could not be decoded: after ``TransportLimits/undecodableFrames`` of them in a row the connection
    /// is closed.
    ///
    /// `FrameDecoder` says it by itself; for those who decode by other means.
    public func reportUndecodable() {
        tally?.note(frame: index, isDecoded: false)
    }

    /// The frame as the consumer gets it: no longer a part of what is being received.
    func handedOver() -> Frame {
        var frame = self
        frame.grant = nil
        return frame
    }
}
