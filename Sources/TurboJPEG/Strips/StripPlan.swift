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
