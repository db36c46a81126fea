/// Which parts of a JPEG are decoded, and by how many threads.
///
/// Where upsampling looks over the edge of a strip, the row beside it depends on the strip as well, and needs the strip beside it
/// to be right. A part is decoded together with one row of MCUs below it, which also gives the first row of pixels there. The
/// part above a seam between two threads gives the first row of the other part, so that no row of pixels is written twice.
struct StripPlan {
    /// The rows of MCUs that a thread has at least, for its seam not to show.
    private static let rowsPerThread = 16

    private(set) var jobs: [StripJob] = []
    /// How many threads are worth their seams.
    let threads: Int

    /// A plan for some strips, in ascending order.
    ///
    /// - Parameters:
    ///   - runs: The strips that are wanted.
    ///   - intervals: Where the strips are.
    ///   - threads: How many work on them at most.
    ///   - looksOverEdges: Whether upsampling takes the row of chroma beside a strip.
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

    /// How many threads some rows of MCUs are divided among.
    ///
    /// One row of MCUs is decoded twice at each seam: a thread has so many that it does not show, but that two threads share what one
    /// would be busy with for a while.
    static func threads(for mcuRows: Int, maximum: Int) -> Int {
        min(maximum, mcuRows < rowsPerThread ? 1 : max(2, mcuRows / rowsPerThread))
    }

    /// How many strips are decoded, those that are decoded in part or twice among them.
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
    /// The rows of the picture that are wanted of them.
    let rows: Range<Int>
    /// Whether what follows the strips is looked at to upsample their last row.
    let looksOverEdges: Bool
    var failure: TurboJPEGError?

    init(strips: Range<Int>, rows: Range<Int>, looksOverEdges: Bool) {
        self.strips = strips
        self.rows = rows
        self.looksOverEdges = looksOverEdges
    }
}

extension RestartIntervals {
    /// How many bytes of compressed data take as long to decode as their pixels do otherwise: measured.
    private static let pixelsPerByte = 8

    /// Strips in parts that take about as long as each other, one at least.
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
