/// What stands before the compressed data of a strip, as the library wrote it; equal for strips of any height.
struct StripHeader: Sendable, Equatable {
    private var bytes: [UInt8]
    /// Where the height stands, in two bytes.
    private let height: Int
    /// Where the segment of the scan begins.
    private let scan: Int

    /// How many bytes it has.
    var byteCount: Int { bytes.count }

    /// Takes the header of a JPEG of the library's own making.
    ///
    /// It is nil if that is no baseline JPEG without restart markers: variables of the process's environment can make the
    /// library write others (`TJ_RESTART`, `TJ_PROGRESSIVE`, `TJ_ARITHMETIC`).
    init?(of jpeg: UnsafeBufferPointer<UInt8>) {
        var index = 2
        var height = 0
        while unsafe index + 4 <= jpeg.count && jpeg[index] == 0xFF {
            let end = unsafe index + 2 + (Int(jpeg[index + 2]) << 8 | Int(jpeg[index + 3]))
            guard end + 2 <= jpeg.count else { return nil }
            let marker = unsafe jpeg[index + 1]
            switch marker {
            case JPEGMarker.sequentialFrames.lowerBound:
                height = index + 5
            case JPEGMarker.scan where height > 0:
                bytes = unsafe Array(jpeg[..<end])
                self.height = height
                scan = index
                set(height: 0)
                return
            case JPEGMarker.quantizationTables, JPEGMarker.huffmanTables, JPEGMarker.comment, JPEGMarker.applications:
                break
            default:
                return nil
            }
            index = end
        }
        return nil
    }

    /// The header of an image whose strips stand under restart markers.
    func bytes(of layout: StripLayout) -> [UInt8] {
        var header = self
        header.set(height: layout.height)
        guard layout.count > 1 else { return header.bytes }
        let (high, low) = (
            UInt8(truncatingIfNeeded: layout.interval >> 8), UInt8(truncatingIfNeeded: layout.interval)
        )
        header.bytes.insert(contentsOf: [0xFF, JPEGMarker.restartInterval, 0, 4, high, low], at: scan)
        return header.bytes
    }

    private mutating func set(height rows: Int) {
        bytes[height] = UInt8(truncatingIfNeeded: rows >> 8)
        bytes[height + 1] = UInt8(truncatingIfNeeded: rows)
    }
}
