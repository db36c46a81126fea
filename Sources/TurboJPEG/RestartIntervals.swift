/// A JPEG whose restart intervals end with rows of MCUs: strips that can be decoded by themselves.
struct RestartIntervals: Sendable {
    /// More before the data than this is not repeated for each strip.
    private static let maximumHeaderBytes = 8_192

    let structure: JPEGStructure
    let layout: StripLayout
    /// The data of each strip, without the marker behind it.
    let data: [Range<Int>]

    /// Where the strips are; nil where a JPEG is not made of at least two, or not in the simplest way there is.
    ///
    /// That way is one baseline scan, with each restart marker in its place. Whatever else can be decoded is no less right, but
    /// is decoded as a whole.
    init?(_ structure: JPEGStructure, of jpeg: Span<UInt8>) {
        guard !structure.isProgressive, structure.scans.count == 1, let scan = structure.scans.first,
            scan.data.lowerBound <= Self.maximumHeaderBytes,
            let layout = StripLayout(structure, interval: scan.restartInterval), layout.count > 1,
            let data = Self.split(jpeg, scan.data, count: layout.count)
        else { return nil }
        self.structure = structure
        self.layout = layout
        self.data = data
    }

    /// The runs of bytes between restart markers; nil unless these are all there, in their order.
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

    /// A JPEG of some strips that follow one another.
    ///
    /// With the end of the picture comes all that follows it: how far the library reads ahead depends on the bytes there are.
    /// Elsewhere a comment stands before the end. It makes the library look for a marker behind the data of the
    /// strips, and find what is there and was not used.
    func wrap(_ strips: Range<Int>, of jpeg: Span<UInt8>, isExactEnd: Bool) -> [UInt8] {
        let first = data[strips.lowerBound].lowerBound
        let last = data[strips.upperBound - 1].upperBound
        let header = data[0].lowerBound
        var result: [UInt8] = []
        unsafe jpeg.withUnsafeBufferPointer { bytes in
            let end = isExactEnd ? bytes.count : last
            result.reserveCapacity(header + end - first + 6)
            unsafe result.append(contentsOf: bytes[..<header])
            unsafe result.append(contentsOf: bytes[first..<end])
        }
        let height = layout.rows(of: strips).count
        result[structure.frameHeader.lowerBound + 5] = UInt8(truncatingIfNeeded: height >> 8)
        result[structure.frameHeader.lowerBound + 6] = UInt8(truncatingIfNeeded: height)
        for number in 0..<(strips.count - 1) {
            let marker = header + data[strips.lowerBound + number].upperBound - first + 1
            result[marker] = JPEGMarker.restarts.lowerBound + UInt8(truncatingIfNeeded: number % 8)
        }
        if !isExactEnd { result += [0xFF, JPEGMarker.comment, 0, 2, 0xFF, JPEGMarker.end] }
        return result
    }
}
