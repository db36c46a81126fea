public import FrameWire

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
