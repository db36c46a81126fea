internal import FrameTransport
internal import FrameWire
package import TurboJPEG

/// An image that has been copied to a shared buffer.
package struct SharedCopy: Sendable {
    /// The image, in the buffer's memory.
    package let pixels: PixelBuffer

    /// The buffer.
    package let place: Sharing.Place

    let memory: SharedMemory

    let orientation: FrameOrientation

    /// The rows that may differ from the receiver's last image; nil if any may.
    ///
    /// At first these are the rows that differ from the image that was copied before.
    var changedRows: Range<Int>?

    /// Returns the message that carries the image.
    ///
    /// - Parameters:
    ///   - info: What the frame states besides the size and orientation of the image.
    ///   - isNew: Whether the receiver does not have the buffer's memory yet.
    ///   - owner: The number of the uploader.
    /// - Returns: The message.
    func message(_ info: FrameInfo, isNew: Bool, owner: UInt64) -> FrameMessage? {
        guard let start = unsafe memory.bytes.baseAddress else { return nil }
        let planes = unsafe pixels.withUnsafePlanes { planes in
            (0..<pixels.planeCount).map { index in
                let plane = unsafe planes[index]
                return unsafe SharedFrameHeader.Plane(
                    offset: UnsafeRawPointer(plane.base) - UnsafeRawPointer(start),
                    bytesPerRow: plane.shape.bytesPerRow
                )
            }
        }
        var info = info
        (info.bufferSize, info.orientation) = (pixels.size, orientation)
        let header = SharedFrameHeader(
            buffer: place.index,
            format: pixels.format,
            info: info,
            planes: planes,
            changedRows: changedRows
        )
        return FrameMessage(header, in: memory, isNew: isNew, owner: owner)
    }
}
