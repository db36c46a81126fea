public import FrameWire

/// The image of a frame in memory that its sender shares.
///
/// The memory is the sender's: it goes back to the sender when the last copy of this value, and everything made from it
/// without a copy, is released. A sender of this package does not change it until then; another one may, so nothing may
/// be parsed from it. Copy the image to keep it for longer than the next frames: a sender has few buffers.
public struct SharedImage: Sendable {
    /// The arrangement of the bytes.
    public let format: SharedFrameHeader.Format

    /// The size in pixels.
    public let bufferSize: BufferSize

    /// The rows that may differ from the frame before it on the same connection.
    public let changedRows: Range<Int>

    /// The position of each plane.
    let planes: [SharedFrameHeader.Plane]

    /// The memory, which every copy keeps.
    package let loan: SharedLoan

    init(_ header: SharedFrameHeader, _ loan: SharedLoan) {
        (format, bufferSize, planes) = (header.format, header.bufferSize, header.planes)
        changedRows = (header.changedRows ?? 0..<bufferSize.height).clamped(to: 0..<bufferSize.height)
        self.loan = loan
    }

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

/// Memory lent by a sender, released with the last reference.
///
/// - Note: `@unchecked Sendable` holds because everything stored is constant.
@safe package final class SharedLoan: @unchecked Sendable {
    private let mapping: SharedMapping
    private let release: @Sendable () -> Void

    init(_ mapping: SharedMapping, release: @escaping @Sendable () -> Void) {
        (self.mapping, self.release) = (mapping, release)
    }

    deinit {
        release()
    }

    /// The size of the whole buffer.
    var byteCount: Int { unsafe mapping.bytes.count }

    /// The whole buffer.
    var bytes: UnsafeRawBufferPointer { unsafe mapping.bytes }
}
