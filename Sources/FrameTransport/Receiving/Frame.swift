public import FrameWire

/// A received frame: the JPEG's bytes, or the image in shared memory, and the message's header.
public struct Frame: Sendable {
    /// The form in which a frame arrives.
    public enum Content: Sendable {
        /// The message's body: one JPEG, possibly followed by zero bytes as padding.
        case jpeg(FrameBytes)

        /// An image in memory that the sender shares.
        ///
        /// Only servers with ``FrameServer/Configuration/acceptsSharedMemory`` receive such frames.
        case shared(Frame.SharedImage)
    }

    /// The JPEG, or the image.
    public internal(set) var content: Content

    /// The frame's index among those of its connection, from 0.
    public let index: Int

    /// The time at which the last byte was read, in nanoseconds of ``MonotonicClock``.
    public let receivedAt: UInt64

    private let transferNanoseconds: UInt64

    /// The time from the first byte of the header to the last byte of the body.
    package var transferTime: Duration { Duration(nanoseconds: transferNanoseconds) }

    /// Counts the undecodable frames of the connection, whose frames all share it.
    package var tally: DecodingTally?
    /// The reader of a fan-out that received the frame; 0 for the connection's own consumer.
    package var reader: UInt64 = 0
    /// Whether the memory budget counts the body until the frame has been taken.
    var isCounted = false

    // The last property, because it does not fill its last word: what is stored beside a frame has room there.
    /// The message's header.
    public let header: FrameHeader

    /// Creates a frame without a connection, for use in tests.
    ///
    /// - Parameters:
    ///   - jpeg: The JPEG's bytes.
    ///   - header: The header; its `contentLength` is not compared with `jpeg`.
    ///   - index: The frame's index among those of its connection, from 0.
    ///   - receivedAt: The time of arrival, in nanoseconds of ``MonotonicClock``.
    ///   - transferTime: The duration of the transfer.
    package init(
        jpeg: FrameBytes,
        header: FrameHeader,
        index: Int = 0,
        receivedAt: UInt64 = MonotonicClock.now(),
        transferTime: Duration = .zero
    ) {
        self.init(
            .jpeg(jpeg),
            header: header,
            index: index,
            receivedAt: receivedAt,
            transferTime: transferTime.nanoseconds,
            tally: nil
        )
    }

    init(
        _ content: Content,
        header: FrameHeader,
        index: Int,
        receivedAt: UInt64,
        transferTime: UInt64,
        tally: DecodingTally?
    ) {
        (self.content, self.header, self.index) = (content, header, index)
        (self.receivedAt, transferNanoseconds) = (receivedAt, transferTime)
        self.tally = tally
    }

    /// The JPEG; nil if the image is in shared memory, which only happens if the program asks for it.
    public var jpeg: FrameBytes? { if case .jpeg(let jpeg) = content { jpeg } else { nil } }

    /// The image's size according to the header; the JPEG's own may differ by a pixel.
    public var bufferSize: BufferSize { header.info.bufferSize }

    /// The image's orientation.
    public var orientation: FrameOrientation { header.info.orientation }

    /// The presentation time in nanoseconds of the sender's clock, if the sender states one.
    ///
    /// Senders of this package use ``MonotonicClock`` unless given another time.
    public var timestamp: UInt64? { header.info.timestamp }

    /// The sender's number of the frame, if it states one; a gap means a frame dropped before the socket.
    public var sequence: UInt64? { header.info.sequence }
}

extension Frame {
    /// Reports that the JPEG was decoded.
    ///
    /// `FrameDecoder` calls this method; call it yourself if you use another decoder.
    public func reportDecoded() {
        tally?.note(frame: index, isDecoded: true)
    }

    /// Reports that the JPEG could not be decoded; after ``FrameServer/Limits/maximumUndecodableFrames`` consecutive failures the
    /// connection is closed, and the frames that wait for their consumer are dropped.
    ///
    /// `FrameDecoder` calls this method; call it yourself if you use another decoder.
    public func reportUndecodable() {
        tally?.note(frame: index, isDecoded: false)
    }

    /// The image, if it is in shared memory.
    package var shared: Frame.SharedImage? { if case .shared(let image) = content { image } else { nil } }

    /// The bytes of memory that the frame keeps.
    var memoryByteCount: Int {
        switch content {
        case .jpeg(let jpeg): jpeg.capacity
        case .shared(let image): image.loan.byteCount
        }
    }
}
