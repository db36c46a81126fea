import Foundation
package import TurboJPEG

/// Samples in memory that ends where the system ends a process that reads on: each plane's last sample is the last byte before a
/// page that nobody may touch.
package enum GuardedImage {
    /// An image over such memory, which goes with it; `fill` writes a row of a plane.
    package static func make(
        width: Int,
        height: Int,
        format: PixelFormat,
        padding: [Int],
        fill: (_ row: UnsafeMutableBufferPointer<UInt8>, _ y: Int, _ plane: Int) -> Void
    ) throws -> PixelBuffer {
        var planes: [(base: UnsafePointer<UInt8>, bytesPerRow: Int)] = unsafe []
        let memory = Mappings()
        for plane in 0..<format.planeCount {
            let half = (plane == 0 ? 1 : 2)
            let samples = (width + half - 1) / half * (format == .nv12 && plane == 1 ? 2 : format.bytesPerPixel)
            let rows = (height + half - 1) / half
            let stride = samples + padding[plane % padding.count]
            let base = try unsafe memory.map((rows - 1) * stride + samples)
            for y in 0..<rows {
                unsafe fill(UnsafeMutableBufferPointer(start: base + y * stride, count: samples), y, plane)
            }
            unsafe planes.append((UnsafePointer(base), stride))
        }
        return try unsafe PixelBuffer(adopting: planes, width: width, height: height, format: format) { memory.unmap() }
    }

    package struct OutOfMemory: Error {}

    /// Sendable: filled by one thread, and emptied by the one that lets go of the image.
    @safe private final class Mappings: @unchecked Sendable {
        private var places: [(UnsafeMutableRawPointer, Int)] = unsafe []

        /// Memory of just so many bytes before a page without access.
        @unsafe func map(_ byteCount: Int) throws -> UnsafeMutablePointer<UInt8> {
            let page = Int(sysconf(Int32(_SC_PAGESIZE)))
            let size = (byteCount + page - 1) / page * page
            let flags = MAP_PRIVATE | Int32(MAP_ANONYMOUS)
            guard let memory = unsafe mmap(nil, size + page, PROT_READ | PROT_WRITE, flags, -1, 0),
                unsafe memory != MAP_FAILED
            else { throw OutOfMemory() }
            unsafe mprotect(memory + size, page, PROT_NONE)
            unsafe places.append((memory, size + page))
            return unsafe (memory + (size - byteCount)).assumingMemoryBound(to: UInt8.self)
        }

        func unmap() {
            unsafe places.forEach { unsafe munmap($0.0, $0.1) }
        }
    }
}
