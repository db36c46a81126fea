import CXCB
import Foundation
import FrameSocket

/// Reads pixels of a drawable from the X server: through memory that both share (MIT-SHM), or through the connection if
/// the server is on another machine.
final class PixelReader {
    private let display: Display
    private var segment: Segment?
    private let pixmapFormat = UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue)

    private struct Segment {
        let id: xcb_shm_seg_t
        let bytes: UnsafeMutableRawBufferPointer
    }

    init(_ display: Display) { self.display = display }

    deinit { releaseSegment() }

    /// Makes room for an image of this number of bytes.
    func prepare(byteCount: Int) {
        guard display.sharesMemory, segment?.bytes.count != byteCount else { return }
        releaseSegment()
        let (connection, id) = (display.connection, display.makeID())
        // The server makes the memory and passes a descriptor of it, so that none is left behind however this ends.
        let cookie = xcb_shm_create_segment(connection, id, UInt32(byteCount), 0)
        guard let reply = xcb_shm_create_segment_reply(connection, cookie, nil) else { return }
        defer { free(reply) }
        guard let descriptor = xcb_shm_create_segment_reply_fds(connection, reply)?.pointee else { return }
        defer { close(descriptor) }
        let start = mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0)
        guard let start, start != MAP_FAILED else { return _ = xcb_shm_detach(connection, id) }
        segment = Segment(id: id, bytes: UnsafeMutableRawBufferPointer(start: start, count: byteCount))
    }

    private func releaseSegment() {
        guard let segment else { return }
        xcb_shm_detach(display.connection, segment.id)
        munmap(segment.bytes.baseAddress, segment.bytes.count)
        self.segment = nil
    }

    /// Reads rectangles, no two of which overlap, and calls a closure with the pixels of each, row after row.
    ///
    /// - Parameters:
    ///   - rectangles: The rectangles, in pixels of the drawable.
    ///   - drawable: What is read.
    ///   - body: What is done with the pixels, which are valid only during the call.
    /// - Returns: Whether all could be read: no part of a window can that is not on the screen.
    func read(
        _ rectangles: [PixelBuffer.Rectangle],
        of drawable: xcb_drawable_t,
        _ body: (PixelBuffer.Rectangle, UnsafeRawBufferPointer) throws -> Void
    ) rethrows -> Bool {
        guard let segment else { return try readThroughConnection(rectangles, of: drawable, body) }
        // All requests at once, into a place of its own each: the answers take one round trip.
        var end = 0
        let requests = rectangles.map { part in
            defer { end += part.byteCount }
            let (place, size) = part.xcb
            let cookie = xcb_shm_get_image(
                display.connection,
                drawable,
                place.x,
                place.y,
                size.width,
                size.height,
                .max,
                pixmapFormat,
                segment.id,
                UInt32(end)
            )
            return (part, cookie, end)
        }
        let replies = requests.map { _, cookie, _ in xcb_shm_get_image_reply(display.connection, cookie, nil) }
        defer { replies.forEach { free($0) } }
        guard !replies.contains(nil) else { return false }
        for (rectangle, _, start) in requests {
            try body(rectangle, UnsafeRawBufferPointer(rebasing: segment.bytes[start..<start + rectangle.byteCount]))
        }
        return true
    }

    private func readThroughConnection(
        _ rectangles: [PixelBuffer.Rectangle],
        of drawable: xcb_drawable_t,
        _ body: (PixelBuffer.Rectangle, UnsafeRawBufferPointer) throws -> Void
    ) rethrows -> Bool {
        for rectangle in rectangles {
            let (place, size) = rectangle.xcb
            let cookie = xcb_get_image(
                display.connection,
                pixmapFormat,
                drawable,
                place.x,
                place.y,
                size.width,
                size.height,
                .max
            )
            guard let reply = xcb_get_image_reply(display.connection, cookie, nil) else { return false }
            defer { free(reply) }
            let bytes = UnsafeRawBufferPointer(
                start: xcb_get_image_data(reply),
                count: Int(xcb_get_image_data_length(reply))
            )
            guard bytes.count >= rectangle.byteCount else { return false }
            try body(rectangle, bytes)
        }
        return true
    }
}

extension PixelBuffer.Rectangle {
    fileprivate var byteCount: Int { 4 * width * height }

    /// The place and the size as X has them.
    fileprivate var xcb: (place: (x: Int16, y: Int16), size: (width: UInt16, height: UInt16)) {
        ((Int16(clamping: x), Int16(clamping: y)), (UInt16(clamping: width), UInt16(clamping: height)))
    }
}
