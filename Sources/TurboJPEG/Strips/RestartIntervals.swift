/// A JPEG whose restart intervals end with rows of MCUs: its strips can be decoded independently.
struct RestartIntervals: Sendable {
    /// A longer header is not repeated for each strip.
    private static let maximumHeaderBytes = 8_192

    let structure: JPEGStructure
    let subsampling: ChromaSubsampling
    let layout: StripLayout
    /// The data of each strip, without the marker after it.
    let data: [Range<Int>]

    /// Finds the strips; nil if a JPEG does not have at least two, or not in the simplest form.
    ///
    /// That form is one baseline scan, with each restart marker in its place. Any other JPEG that can be decoded is
    /// just as valid, but is decoded as a whole.
    init?(_ structure: JPEGStructure, of jpeg: Span<UInt8>) {
        guard !structure.isProgressive, let subsampling = structure.subsampling,
            structure.scans.count == 1, let scan = structure.scans.first,
            scan.data.lowerBound <= Self.maximumHeaderBytes,
            let layout = StripLayout(structure, interval: scan.restartInterval), layout.count > 1,
            let data = Self.split(jpeg, scan.data, count: layout.count)
        else { return nil }
        self.structure = structure
        self.subsampling = subsampling
        self.layout = layout
        self.data = data
    }

    /// Returns the byte ranges between restart markers; nil unless all markers are present, in order.
    private static func split(_ jpeg: Span<UInt8>, _ data: Range<Int>, count: Int) -> [Range<Int>]? {
        var intervals: [Range<Int>] = []
        intervals.reserveCapacity(count)
        var start = data.lowerBound
        let isWhole = unsafe jpeg.withUnsafeBufferPointer { bytes in
            var index = start
            while let found = unsafe nextMarkedByte(bytes, in: index..<data.upperBound) {
                guard found + 1 < data.upperBound else { return false }
                index = found + 2
                let marker = unsafe bytes[found + 1]
                if marker == 0 { continue }
                let expected = JPEGMarker.restarts.lowerBound + UInt8(truncatingIfNeeded: intervals.count % 8)
                guard marker == expected, intervals.count < count - 1 else { return false }
                intervals.append(start..<found)
                start = index
            }
            return true
        }
        intervals.append(start..<data.upperBound)
        return isWhole && intervals.count == count ? intervals : nil
    }

    /// The bytes after the data, up to the marker that ends the JPEG.
    var ending: Range<Int> {
        let start = data[data.count - 1].upperBound
        return start..<max(start, structure.end)
    }
}
