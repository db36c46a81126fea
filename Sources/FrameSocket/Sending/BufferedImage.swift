package import FrameTransport
internal import FrameWire
internal import Locking
package import TurboJPEG

/// An image in a shared buffer.
package struct BufferedImage: Sendable {
    /// The image, which keeps the buffer.
    package let pixels: PixelBuffer

    let claim: SharedClaim

    let origin: Origin

    var orientation = FrameOrientation.up

    /// Whether it was sent before, and is the receiver's last image.
    var isSent = false

    /// The rows that may differ from the receiver's last image; nil if any may.
    ///
    /// Of a copy, these are at first the rows that differ from the image that was copied before.
    var changedRows: Range<Int>?

    /// The number of an image that was drawn, and whose damage is known; nil of any other.
    var job: UInt64?

    /// How an image came to be in a shared buffer.
    enum Origin: Sendable {
        /// It was copied there.
        case copied
        /// The program drew it there.
        case drawn
    }
}

/// The owner of a shared buffer's memory while this side refers to an image in it.
package final class SharedClaim: PixelLender {
    package let lease: SharedPool.Lease
    package let memory: SharedMemory
    private let isSubmitted = Locked(false)
    private let onRelease: @Sendable (SharedPool.Lease) -> Void

    init(_ lease: SharedPool.Lease, _ memory: SharedMemory, onRelease: @escaping @Sendable (SharedPool.Lease) -> Void) {
        (self.lease, self.memory, self.onRelease) = (lease, memory, onRelease)
    }

    deinit {
        onRelease(lease)
    }

    /// Whether the image has not been submitted: after that, a receiver may have it for as long as it likes.
    package var isWritable: Bool { isSubmitted.withLock { !$0 } }

    /// Makes later changes of the image affect a copy.
    package func submit() {
        isSubmitted.withLock { $0 = true }
    }
}

extension BufferedImage {
    /// Returns an image drawn in a buffer of a pool; nil if its memory is not a pool's.
    init?(drawn pixels: PixelBuffer, _ orientation: FrameOrientation) {
        guard let claim = pixels.lender as? SharedClaim else { return nil }
        self.init(pixels: pixels, claim: claim, origin: .drawn, orientation: orientation)
    }

    func message(_ info: FrameInfo, isNew: Bool) -> FrameMessage? {
        guard let start = unsafe claim.memory.bytes.baseAddress else { return nil }
        let planes = unsafe pixels.withUnsafePlanes { planes in
            (0..<pixels.planeCount).map { index in
                let plane = unsafe planes[index]
                return unsafe SharedFrameHeader.Plane(
                    offset: UnsafeRawPointer(plane.base) - UnsafeRawPointer(start),
                    bytesPerRow: plane.shape.bytesPerRow
                )
            }
        }
        let header = SharedFrameHeader(
            buffer: claim.lease.index,
            format: pixels.format,
            info: info,
            planes: planes,
            changedRows: changedRows
        )
        return FrameMessage(header, in: claim.memory, isNew: isNew, owner: claim.lease.owner)
    }
}
