/// The parts of a JPEG to decode, and the number of threads for them.
///
/// If upsampling reads past the edge of a strip, the row beside it depends on the strip as well, and needs both strips
/// to be correct. A part is decoded together with one row of MCUs below it, which also yields the first row of pixels
/// there. The part above a seam between two threads yields the first row of the other part, so that no row of pixels is
/// written twice.
struct StripPlan {
    /// The minimum number of MCU rows per thread at which the cost of its seam is negligible.
    private static let rowsPerThread = 16

    private(set) var jobs: [StripJob] = []
    /// The number of threads that are worth their seams.
    let threads: Int

    /// Creates a plan for some strips, in ascending order.
    ///
    /// - Parameters:
    ///   - runs: The strips to decode.
    ///   - intervals: The positions of the strips.
    ///   - threads: The maximum number of threads.
    ///   - looksOverEdges: Whether upsampling uses the row of chroma beside a strip.
    init(for runs: [Range<Int>], of intervals: RestartIntervals, threads: Int, looksOverEdges: Bool) {
        let layout = intervals.layout
        let mcuRows = layout.stripHeight / intervals.structure.mcuHeight
        self.threads = Self.threads(for: mcuRows * runs.reduce(0) { $0 + $1.count }, maximum: threads)
        for run in runs {
            let parts = intervals.divide(run, into: Self.threads(for: mcuRows * run.count, maximum: threads))
            for part in parts {
                var rows = layout.rows(of: part)
                var first = part.lowerBound
                if looksOverEdges, part.lowerBound > 0 {
                    if part.lowerBound == run.lowerBound {
                        first -= 1
                        rows = (rows.lowerBound - 1)..<rows.upperBound
                    } else {
                        rows = (rows.lowerBound + 1)..<rows.upperBound
                    }
                }
                if looksOverEdges, part.upperBound < layout.count {
                    rows = rows.lowerBound..<(rows.upperBound + 1)
                }
                jobs.append(StripJob(strips: first..<part.upperBound, rows: rows, looksOverEdges: looksOverEdges))
            }
        }
    }

    /// Returns the number of threads that some rows of MCUs are divided among.
    ///
    /// One row of MCUs is decoded twice at each seam. A thread gets enough rows to make that negligible, except that
    /// two threads share work that would keep one busy for a while.
    static func threads(for mcuRows: Int, maximum: Int) -> Int {
        min(maximum, mcuRows < rowsPerThread ? 1 : max(2, mcuRows / rowsPerThread))
    }

    /// Returns the number of strips that are decoded, including those decoded in part or twice.
    func codedCount(of layout: StripLayout) -> Int {
        jobs.reduce(0) { count, job in
            let isFollowed = job.looksOverEdges && job.strips.upperBound < layout.count
            return count + job.strips.count + (isFollowed ? 1 : 0)
        }
    }
}

/// Strips of a JPEG that are decoded together.
struct StripJob: Sendable {
    /// The strips, with the one above them if it is needed.
    let strips: Range<Int>
    /// The rows of the image that are wanted from them.
    let rows: Range<Int>
    /// Whether the data after the strips is read to upsample their last row.
    let looksOverEdges: Bool
    var failure: TurboJPEGError?

    init(strips: Range<Int>, rows: Range<Int>, looksOverEdges: Bool) {
        self.strips = strips
        self.rows = rows
        self.looksOverEdges = looksOverEdges
    }
}

extension RestartIntervals {
    /// The number of pixels that take as long to decode as one byte of compressed data: measured.
    private static let pixelsPerByte = 8

    /// Returns the strips in parts that take about the same time to decode; at least one part.
    fileprivate func divide(_ run: Range<Int>, into wanted: Int) -> [Range<Int>] {
        guard wanted > 1 else { return [run] }
        let total = run.reduce(0) { $0 + effort(of: $1) }
        var parts: [Range<Int>] = []
        var (start, done) = (run.lowerBound, 0)
        for strip in run.dropLast() {
            done += effort(of: strip)
            guard parts.count < wanted - 1, done * wanted >= total * (parts.count + 1) else { continue }
            parts.append(start..<(strip + 1))
            start = strip + 1
        }
        return parts + [start..<run.upperBound]
    }

    private func effort(of strip: Int) -> Int {
        layout.rows(of: strip).count * structure.width + Self.pixelsPerByte * data[strip].count
    }
}

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
