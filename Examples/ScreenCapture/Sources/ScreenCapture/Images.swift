import CXCB
import Foundation
import FrameSocket

/// Images of one size, in memory that the X server writes to.
///
/// An image keeps its memory while anything refers to it. The uploader keeps the latest one, so that usually two take turns.
final class Images {
    let (width, height): (Int, Int)
    private let display: Display
    private var memories: [ImageMemory] = []
    private var latest: ImageMemory?

    init(_ display: Display, width: Int, height: Int) {
        (self.display, self.width, self.height) = (display, width, height)
    }

    /// Makes the next image: it differs from the latest one in no other rows than these, which are read.
    ///
    /// What memory lacks of the latest image is copied from there: reading it again could show what is no part of this
    /// damage.
    ///
    /// - Parameters:
    ///   - rows: The rows.
    ///   - columns: The columns that can be read; the others stay as they were.
    ///   - drawable: What is read.
    ///   - offset: From the image's corner to that of the drawable.
    ///   - draw: Draws over the rows.
    /// - Returns: The image; nil if the rows could not be read.
    /// - Throws: If there is not enough memory for an image.
    func next(
        _ rows: RangeSet<Int>,
        _ columns: Range<Int>,
        of drawable: xcb_drawable_t,
        offset: (x: Int, y: Int),
        draw: (ImageMemory) -> Void
    ) throws -> PixelBuffer? {
        let free = memories.indices.first { isKnownUniquelyReferenced(&memories[$0]) }
        let memory = try free.map { memories[$0] } ?? ImageMemory(display, width: width, height: height)
        if free == nil { memories.append(memory) }
        if let latest { memory.copyOldRows(of: latest, except: columns.count == width ? rows : RangeSet()) }
        memory.oldRows = rows
        guard memory.read(rows, columns, of: drawable, offset: offset) else { return nil }
        draw(memory)
        for other in memories { other.oldRows.formUnion(rows) }
        memory.oldRows = RangeSet()
        latest = memory
        let start = UnsafePointer(memory.bytes.assumingMemoryBound(to: UInt8.self).baseAddress)
        guard let start else { return nil }
        return try PixelBuffer(
            adopting: [(start, memory.bytesPerRow)],
            width: width,
            height: height,
            format: .bgrx
        ) { withExtendedLifetime(memory) {} }
    }
}

/// The memory of one image; shared with the X server (MIT-SHM), unless that is on another machine.
///
/// Sendable: an image that refers to it only keeps it alive.
final class ImageMemory: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    let bytesPerRow: Int
    /// The rows that are older than in the latest image.
    var oldRows: RangeSet<Int>
    private let display: Display
    /// Its number at the server; nil if the server cannot write to it.
    private let segment: xcb_shm_seg_t?

    init(_ display: Display, width: Int, height: Int) throws(Failure) {
        (self.display, bytesPerRow, oldRows) = (display, 4 * width, RangeSet(0..<height))
        let byteCount = bytesPerRow * height
        if let (segment, bytes) = Self.share(byteCount, with: display) {
            (self.segment, self.bytes) = (segment, bytes)
        } else {
            let start = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            guard let start, start != MAP_FAILED else {
                throw .unavailable("not enough memory for an image of \(width)x\(height)")
            }
            (segment, bytes) = (nil, UnsafeMutableRawBufferPointer(start: start, count: byteCount))
        }
    }

    deinit {
        if let segment { xcb_shm_detach(display.connection, segment) }
        munmap(bytes.baseAddress, bytes.count)
    }

    /// Returns memory that the server has made; it passes a descriptor of it, so that none is left behind however this
    /// ends.
    private static func share(
        _ byteCount: Int,
        with display: Display
    ) -> (xcb_shm_seg_t, UnsafeMutableRawBufferPointer)? {
        guard display.sharesMemory else { return nil }
        let (connection, segment) = (display.connection, display.makeID())
        let cookie = xcb_shm_create_segment(connection, segment, UInt32(byteCount), 0)
        guard let reply = xcb_shm_create_segment_reply(connection, cookie, nil) else { return nil }
        defer { free(reply) }
        guard let descriptor = xcb_shm_create_segment_reply_fds(connection, reply)?.pointee else { return nil }
        defer { close(descriptor) }
        let start = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let start, start != MAP_FAILED else {
            xcb_shm_detach(connection, segment)
            return nil
        }
        return (segment, UnsafeMutableRawBufferPointer(start: start, count: byteCount))
    }

    /// The bytes of a row, or of some of its columns.
    func row(_ y: Int, _ columns: Range<Int>) -> UnsafeMutableRawBufferPointer {
        let start = y * bytesPerRow
        return UnsafeMutableRawBufferPointer(
            rebasing: bytes[start + 4 * columns.lowerBound..<start + 4 * columns.upperBound]
        )
    }

    fileprivate func copyOldRows(of latest: ImageMemory, except rows: RangeSet<Int>) {
        for range in oldRows.subtracting(rows).ranges {
            let range = range.lowerBound * bytesPerRow..<range.upperBound * bytesPerRow
            bytes[range].copyBytes(from: latest.bytes[range])
        }
    }

    /// Reads a part of some rows from the X server; returns whether all could be read: no part of a window can that is
    /// not on the screen.
    fileprivate func read(
        _ rows: RangeSet<Int>,
        _ columns: Range<Int>,
        of drawable: xcb_drawable_t,
        offset: (x: Int, y: Int)
    ) -> Bool {
        let format = UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue)
        let (connection, width) = (display.connection, UInt16(clamping: columns.count))
        func corner(_ y: Int) -> (x: Int16, y: Int16) {
            (Int16(clamping: columns.lowerBound + offset.x), Int16(clamping: y + offset.y))
        }
        guard let segment else {
            return rows.ranges.allSatisfy { range in
                let ((x, y), height) = (corner(range.lowerBound), UInt16(clamping: range.count))
                let cookie = xcb_get_image(connection, format, drawable, x, y, width, height, .max)
                guard let reply = xcb_get_image_reply(connection, cookie, nil) else { return false }
                defer { free(reply) }
                let pixels = UnsafeRawBufferPointer(
                    start: xcb_get_image_data(reply),
                    count: Int(xcb_get_image_data_length(reply))
                )
                let count = 4 * columns.count
                guard pixels.count >= count * range.count else { return false }
                for (index, y) in range.enumerated() {
                    row(y, columns).copyBytes(from: pixels[index * count..<(index + 1) * count])
                }
                return true
            }
        }
        // The server writes row after row without a gap: whole rows at once, parts of rows one by one.
        let isWhole = 4 * columns.count == bytesPerRow
        let ranges = rows.ranges.flatMap { range in isWhole ? [range] : range.map { $0..<$0 + 1 } }
        // All requests at once: the answers take one round trip.
        let cookies = ranges.map { range in
            let ((x, y), height) = (corner(range.lowerBound), UInt16(clamping: range.count))
            let place = UInt32(range.lowerBound * bytesPerRow + 4 * columns.lowerBound)
            return xcb_shm_get_image(connection, drawable, x, y, width, height, .max, format, segment, place)
        }
        let replies = cookies.map { xcb_shm_get_image_reply(connection, $0, nil) }
        defer { replies.forEach { free($0) } }
        return !replies.contains(nil)
    }
}
