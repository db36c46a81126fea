public import FrameWire
internal import Locking

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

    /// The nanoseconds from the first byte of the header to the last byte of the body.
    package let transferTime: UInt64

    /// Counts the undecodable frames of the connection, whose frames all share it.
    package let tally: DecodingTally?
    /// The reader of a fan-out that received the frame; 0 for the connection's own consumer.
    package var reader: UInt64
    /// Whether the memory budget counts the body until the frame has been taken.
    var isCounted: Bool

    // The last property, because it does not fill its last word: what is stored beside a frame has room there.
    /// The message's header.
    public let header: FrameHeader

    package init(
        _ content: Content,
        header: FrameHeader,
        index: Int = 0,
        receivedAt: UInt64 = MonotonicClock.now(),
        transferTime: UInt64 = 0,
        tally: DecodingTally? = nil
    ) {
        (self.content, self.header, self.index) = (content, header, index)
        (self.receivedAt, self.transferTime, self.tally) = (receivedAt, transferTime, tally)
        // Not where they are declared: the compiler would copy every frame that is made.
        (reader, isCounted) = (0, false)
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

extension Frame {
    /// The image of a frame in memory that its sender shares.
    ///
    /// The memory is the sender's: it goes back to the sender when the last copy of this value, and everything made from it
    /// without a copy, is released. A sender of this package does not change it until then; another one may, so nothing may
    /// be parsed from it. Copy the image to keep it beyond the next few frames: a sender has few buffers.
    public struct SharedImage: Sendable {
        /// The memory, which every copy keeps, and what is known of it: one reference, because a frame is passed on often.
        package let loan: SharedLoan

        /// The arrangement of the bytes.
        public var format: PixelFormat { loan.header.format }

        /// The size in pixels.
        public var bufferSize: BufferSize { loan.header.info.bufferSize }

        /// The rows that may differ from the previous frame in shared memory on the same connection.
        ///
        /// That is not always the image that a program shows: JPEGs may have come in between, and frames that were skipped.
        /// `FrameDecoder.decode(_:as:scale:in:)` takes this into account.
        public var changedRows: Range<Int> {
            let rows = 0..<bufferSize.height
            return loan.header.changedRows?.clamped(to: rows) ?? rows
        }

        /// The position of each plane.
        private var planes: [SharedFrameHeader.Plane] { loan.header.planes }

        /// The number of planes, which is that of the format.
        public var planeCount: Int { planes.count }

        /// Calls a closure with the bytes of a plane, from its first sample to its last, and the distance between its rows.
        ///
        /// - Precondition: `index` is in `0..<planeCount`.
        public func withPlane<Result: ~Copyable, Failure: Error>(
            _ index: Int,
            _ body: (Span<UInt8>, _ bytesPerRow: Int) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            precondition(0..<planeCount ~= index, "\(format.rawValue) has \(planeCount) planes.")
            let range = format.range(of: planes[index], index, bufferSize)
            let bytes = unsafe UnsafeRawBufferPointer(rebasing: loan.bytes[range])
            return try unsafe body(Span<UInt8>(_unsafeBytes: bytes), planes[index].bytesPerRow)
        }

        /// The first sample and the bytes per row of each plane, valid as long as ``loan``.
        @unsafe package var unsafePlanes: [(base: UnsafePointer<UInt8>, bytesPerRow: Int)] {
            guard let start = unsafe loan.bytes.baseAddress else { return unsafe [] }
            return unsafe planes.map { plane in
                unsafe ((start + plane.offset).assumingMemoryBound(to: UInt8.self), plane.bytesPerRow)
            }
        }
    }
}

/// Memory lent by a sender, released with the last reference.
///
/// - Note: `@unchecked Sendable` holds because everything stored is constant.
@safe package final class SharedLoan: @unchecked Sendable {
    /// The frame that the memory was lent for.
    fileprivate let header: SharedFrameHeader
    private let mapping: SharedMapping
    private let onRelease: @Sendable (_ index: Int) -> Void

    init(_ header: SharedFrameHeader, in mapping: SharedMapping, onRelease: @escaping @Sendable (Int) -> Void) {
        (self.header, self.mapping, self.onRelease) = (header, mapping, onRelease)
    }

    deinit {
        onRelease(header.buffer)
    }

    /// The size of the whole buffer.
    var byteCount: Int { unsafe mapping.bytes.count }

    /// The whole buffer.
    var bytes: UnsafeRawBufferPointer { unsafe mapping.bytes }
}

/// Counts the consecutive frames of a connection that could not be decoded.
package final class DecodingTally: Sendable {
    private struct State {
        var failures = 0
        /// The latest frame that failed: several readers may report the same ones, one reader after the other.
        var lastFailure = -1
    }

    private let limit: Int
    private let onFailure: @Sendable (_ index: Int) -> Void
    private let onLimit: @Sendable () -> Void
    private let state = Locked(State())

    /// Creates a tally that calls `onFailure` for every frame that fails, and `onLimit` after `limit` consecutive ones.
    init(
        limit: Int,
        onFailure: @escaping @Sendable (_ index: Int) -> Void = { _ in },
        onLimit: @escaping @Sendable () -> Void
    ) {
        self.limit = max(1, limit)
        self.onFailure = onFailure
        self.onLimit = onLimit
    }

    func note(frame index: Int, isDecoded: Bool) {
        let failures: Int? = state.withLock { state in
            guard !isDecoded else {
                // One reader may decode an old frame after another has failed at newer ones.
                if index > state.lastFailure { state.failures = 0 }
                return nil
            }
            guard index > state.lastFailure else { return nil }
            state.lastFailure = index
            state.failures += 1
            return state.failures
        }
        guard let failures else { return }
        onFailure(index)
        if failures == limit { onLimit() }
    }
}
