/// Which parts of a JPEG are decoded, and where to.
///
/// A strip that is decoded by itself has its first and its last row wrong where upsampling looks over the edge, so that strips
/// are decoded together with those beside them. It also takes the marker behind a strip to see that all of its data was used.
struct StripPlan {
    private(set) var jobs: [StripJob] = []
    /// The strips of which that is not seen, because it would take too long for a picture that changes all over.
    private(set) var unverified: Range<Int> = 0..<0

    /// How many threads are worth their seams.
    let threads: Int

    private let layout: StripLayout
    private let isHasty: Bool

    /// A plan for some strips, in ascending order.
    ///
    /// - Parameters:
    ///   - runs: The strips that are wanted.
    ///   - layout: Where the strips are.
    ///   - threads: How many work on them at most.
    ///   - isHasty: Whether some may be left unverified.
    init(for runs: [Range<Int>], of layout: StripLayout, threads: Int, isHasty: Bool) {
        self.layout = layout
        self.threads = Self.threads(for: runs.reduce(0) { $0 + $1.count }, maximum: threads)
        self.isHasty = isHasty
        for run in runs {
            if 2 * run.count > layout.count { addLarge(run) } else { addSmall(run) }
        }
        let last = layout.count - 1
        guard let end = runs.last?.upperBound, end == layout.count, unverified.isEmpty,
            !jobs.contains(where: { $0.isExactEnd })
        else { return }
        // The end is read as it is, and what stands before it by the other jobs.
        jobs.append(StripJob(strips: (last - 1)..<(last + 1), rows: 0..<0, place: .scratch))
        jobs[jobs.count - 1].isExactEnd = true
    }

    /// How many threads some strips are divided among.
    ///
    /// Two strips are decoded twice at each seam: a piece has so many strips that it does not show, but that two threads share
    /// what one would be busy with for a while.
    static func threads(for strips: Int, maximum: Int) -> Int {
        min(maximum, strips < 16 ? 1 : max(2, strips / 24))
    }

    /// Decodes strips with their neighbours, and copies what is wanted of it.
    private mutating func addSmall(_ run: Range<Int>) {
        for piece in run.divided(by: Self.threads(for: run.count, maximum: threads)) {
            let strips = max(0, piece.lowerBound - 1)..<min(layout.count, piece.upperBound + 1)
            var rows = layout.rows(of: piece)
            // The rows beside the run look over the edge as well.
            if piece.lowerBound == run.lowerBound { rows = max(0, rows.lowerBound - 1)..<rows.upperBound }
            if piece.upperBound == run.upperBound {
                rows = rows.lowerBound..<min(layout.height, rows.upperBound + 1)
            }
            var job = StripJob(strips: strips, rows: rows, place: .scratch)
            job.isExactEnd = piece == (layout.count - 1)..<layout.count
            jobs.append(job)
        }
    }

    /// Decodes strips to their place without copying, and the seams between them once more.
    private mutating func addLarge(_ run: Range<Int>) {
        let pieces = run.divided(by: Self.threads(for: run.count, maximum: threads))
        for piece in pieces {
            var job = StripJob(strips: piece, rows: layout.rows(of: piece), place: .canvas)
            if isHasty, piece.upperBound == layout.count {
                job.isExactEnd = true
                unverified = piece
            }
            jobs.append(job)
        }
        for boundary in pieces.map(\.lowerBound) + [run.upperBound] where 0 < boundary && boundary < layout.count {
            let row = boundary * layout.stripHeight
            let seam = (boundary - 1)..<(boundary + 1)
            jobs.append(StripJob(strips: seam, rows: (row - 1)..<(row + 1), place: .seam))
        }
    }
}

/// Strips of a JPEG that are decoded together.
struct StripJob: Sendable {
    enum Place: Sendable {
        /// Decoded where the pixels belong.
        case canvas
        /// Decoded elsewhere, and copied.
        case scratch
        /// Decoded elsewhere, and copied when all else is done.
        case seam
    }

    let strips: Range<Int>
    /// The rows of the picture that are wanted of them.
    let rows: Range<Int>
    let place: Place
    /// Whether the JPEG's own end follows the strips.
    var isExactEnd = false
    var failure: TurboJPEGError?
    /// The strips, where they are still to be copied.
    var scratch: PixelBuffer?

    init(strips: Range<Int>, rows: Range<Int>, place: Place) {
        self.strips = strips
        self.rows = rows
        self.place = place
    }
}

extension Range<Int> {
    /// The range in parts of nearly the same size, one at least.
    fileprivate func divided(by wanted: Int) -> [Range<Int>] {
        let parts = Swift.max(1, Swift.min(wanted, count))
        return (0..<parts).map { part in
            (lowerBound + count * part / parts)..<(lowerBound + count * (part + 1) / parts)
        }
    }
}
