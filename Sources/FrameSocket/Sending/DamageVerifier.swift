internal import FrameWire
internal import Locking
internal import TurboJPEG

/// Finds damage that is too small, by hashes of the blocks of the image that was prepared last.
final class DamageVerifier: Sendable {
    private struct Latest: Sendable {
        let job: UInt64
        let size: BufferSize
        let format: PixelFormat
        let hashes: [UInt64]
    }

    /// The width of a block in pixels; it has one row of a plane.
    private static let blockWidth = 16

    private let key = ImageHash.Key()
    private let latest = Locked<Latest?>(nil)

    /// Returns whether an image differs from that of the base outside the region, which is that of this image; always
    /// false if the base is not the image of the last call.
    func finds(_ image: PixelBuffer, _ damage: EncodingJob.Damage, _ region: ImageDamage?) -> Bool {
        var hashes: [UInt64] = []
        Self.forEachBlock(of: image) { _, _, bytes in
            var hash = ImageHash(key: key)
            hash.add(bytes)
            hashes.append(hash.value)
        }
        let known = latest.withLock { latest in
            defer { latest = Latest(job: damage.job, size: image.size, format: image.format, hashes: hashes) }
            return latest
        }
        guard let known, let region, known.job == damage.base, known.size == image.size,
            region.size == image.size,
            known.format == image.format
        else { return false }
        var (index, isFound) = (0, false)
        Self.forEachBlock(of: image) { rows, columns, _ in
            defer { index += 1 }
            guard known.hashes[index] != hashes[index] else { return }
            if !region.rows.overlaps(rows) || !region.columns.overlaps(columns) { isFound = true }
        }
        return isFound
    }

    /// Calls a closure with the rows, columns and bytes of every block of every plane.
    private static func forEachBlock(
        of image: PixelBuffer,
        _ body: (_ rows: Range<Int>, _ columns: Range<Int>, _ bytes: Span<UInt8>) -> Void
    ) {
        for plane in 0..<image.planeCount {
            let (shape, factor) = (image.plane(plane), plane == 0 ? 1 : 2)
            for row in 0..<shape.height {
                let rows = (factor * row..<factor * (row + 1)).clamped(to: 0..<image.height)
                image.withRow(row, ofPlane: plane) { bytes in
                    for start in stride(from: 0, to: shape.width, by: blockWidth / factor) {
                        let end = min(start + blockWidth / factor, shape.width)
                        let columns = (factor * start..<factor * end).clamped(to: 0..<image.width)
                        body(rows, columns, bytes.extracting(shape.bytesPerSample * start..<shape.bytesPerSample * end))
                    }
                }
            }
        }
    }
}
