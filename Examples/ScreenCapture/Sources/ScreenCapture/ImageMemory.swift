import CXCB
import Foundation
import FrameSocket

/// The memory of one image; shared with the X server (MIT-SHM), unless that is on another machine.
///
/// An image keeps its memory while anything refers to it. The uploader keeps the latest one, so that usually two take turns.
///
/// Sendable: an image that refers to it only keeps it alive.
final class ImageMemory: @unchecked Sendable {
    private let bytes: UnsafeMutableRawBufferPointer
    let (width, height): (Int, Int)
    private let bytesPerRow: Int
    private let display: Display
    /// Its number at the server; nil if the server cannot write to it.
    private let segment: xcb_shm_seg_t?

    init(_ display: Display, width: Int, height: Int) throws(Failure) {
        (self.display, self.width, self.height, bytesPerRow) = (display, width, height, 4 * width)
        let shared = display.makeMemory(bytesPerRow * height)
        defer { if let shared { close(shared.descriptor) } }
        segment = shared?.segment
        let flags = shared == nil ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED
        let start = mmap(nil, bytesPerRow * height, PROT_READ | PROT_WRITE, flags, shared?.descriptor ?? -1, 0)
        guard let start, start != MAP_FAILED else {
            throw .unavailable("not enough memory for an image of \(width)x\(height)")
        }
        bytes = UnsafeMutableRawBufferPointer(start: start, count: bytesPerRow * height)
    }

    deinit {
        if let segment { xcb_shm_detach(display.connection, segment) }
        munmap(bytes.baseAddress, bytes.count)
    }

    /// The image over this memory.
    func image() throws -> PixelBuffer {
        // There is memory, as long as there is any row.
        let planes = bytes.assumingMemoryBound(to: UInt8.self).baseAddress.map { [(UnsafePointer($0), bytesPerRow)] }
        return try PixelBuffer(adopting: planes ?? [], width: width, height: height, format: .bgrx) {
            withExtendedLifetime(self) {}
        }
    }

    /// The bytes of a row, or of some of its columns.
    func row(_ y: Int, _ columns: Range<Int>) -> UnsafeMutableRawBufferPointer {
        let start = y * bytesPerRow
        return .init(rebasing: bytes[start + 4 * columns.lowerBound..<start + 4 * columns.upperBound])
    }

    /// Copies some rows of another image.
    func copy(_ rows: RangeSet<Int>, of other: ImageMemory) {
        for range in rows.ranges {
            let range = range.lowerBound * bytesPerRow..<range.upperBound * bytesPerRow
            bytes[range].copyBytes(from: other.bytes[range])
        }
    }

    /// Reads a part of some rows from the X server; returns whether all could be read: no part of a window can that is
    /// not on the screen.
    func read(
        _ rows: RangeSet<Int>,
        _ columns: Range<Int>,
        of drawable: xcb_drawable_t,
        offset: (x: Int, y: Int)
    ) -> Bool {
        let (connection, format) = (display.connection, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue))
        let (x, width) = (Int16(clamping: columns.lowerBound + offset.x), UInt16(clamping: columns.count))
        func span(_ range: Range<Int>) -> (y: Int16, height: UInt16) {
            (Int16(clamping: range.lowerBound + offset.y), UInt16(clamping: range.count))
        }
        // Into shared memory, the server writes row after row without a gap.
        guard let segment, columns.count == self.width else {
            return rows.ranges.allSatisfy { range in
                let (y, height) = span(range)
                let cookie = xcb_get_image(connection, format, drawable, x, y, width, height, .max)
                guard let reply = xcb_get_image_reply(connection, cookie, nil) else { return false }
                defer { free(reply) }
                let (count, length) = (4 * columns.count, Int(xcb_get_image_data_length(reply)))
                let pixels = UnsafeRawBufferPointer(start: xcb_get_image_data(reply), count: length)
                guard length >= count * range.count else { return false }
                for (index, y) in range.enumerated() {
                    row(y, columns).copyBytes(from: pixels[index * count..<(index + 1) * count])
                }
                return true
            }
        }
        // All requests at once: the answers take one round trip.
        let cookies = rows.ranges.map { range in
            let ((y, height), place) = (span(range), UInt32(range.lowerBound * bytesPerRow))
            return xcb_shm_get_image(connection, drawable, x, y, width, height, .max, format, segment, place)
        }
        let replies = cookies.map { xcb_shm_get_image_reply(connection, $0, nil) }
        defer { replies.forEach { free($0) } }
        return !replies.contains(nil)
    }
}
