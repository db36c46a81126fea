/// Scales areas down by exact means: every new sample is the rounded mean of what it covers, in fractions of samples.
///
/// The boxes of libyuv are whole samples, its means are rounded down, by a whole step even if all samples are equal, and
/// its steps from one to the next, counted in fractions of 16 bits, may end before the last sample.
struct AreaMean {
    /// The width of the means; if it does not shrink to half, that of the area, for an interpolating scaler.
    let width: Int

    /// The height of the means, likewise.
    let height: Int

    private let columns: Side
    private let rows: Side

    /// Creates the step for an area and its target; nil if both sides stay above half, or are left to libyuv.
    @unsafe init?(_ from: UnsafeArea, _ to: UnsafeArea) {
        let (isNarrow, isLow) = unsafe (2 * to.width <= from.width, 2 * to.height <= from.height)
        guard isNarrow || isLow else { return nil }
        unsafe self.init(
            width: Int(isNarrow ? to.width : from.width),
            height: Int(isLow ? to.height : from.height),
            of: (Int(from.width), Int(from.height))
        )
        guard unsafe !isLeftToLibyuv(channels: from.bytesPerSample) else { return nil }
    }

    /// Creates the step to a size that is no larger than that of the area, whatever the ratio.
    init(width: Int, height: Int, of area: (width: Int, height: Int)) {
        (self.width, self.height) = (width, height)
        columns = Side(width, of: area.width)
        rows = Side(height, of: area.height)
    }

    /// Returns whether libyuv's means are as good, at many times the speed: those of half a side, which it rounds twice
    /// in pixels of three or four bytes; and those of a quarter of single bytes.
    func isLeftToLibyuv(channels: Int) -> Bool {
        guard columns.parts == 1, rows.parts == 1, columns.samples == rows.samples else { return false }
        return columns.samples == 2 || columns.samples == 4 && channels == 1
    }

    /// Returns the rows of the area that some rows of the result are means of.
    func source(of rows: Range<Int>) -> Range<Int> { self.rows.source(of: rows) }

    /// Writes the means of these columns and rows of the result to an area of that size.
    ///
    /// `from` begins with row `firstRow` if it is only a part.
    @unsafe func write(
        _ columns: Range<Int>,
        _ rows: Range<Int>,
        of from: UnsafeArea,
        from firstRow: Int = 0,
        into to: UnsafeArea
    ) {
        // Sums of at most 257 samples fit into 16 bits, with which a processor adds twice as many at once.
        if self.rows.samples <= 257 {
            unsafe write(columns, rows, of: from, firstRow, into: to, sums: UInt16.self)
        } else {
            unsafe write(columns, rows, of: from, firstRow, into: to, sums: UInt32.self)
        }
    }

    @unsafe private func write<Sum: FixedWidthInteger & UnsignedInteger>(
        _ columns: Range<Int>,
        _ rows: Range<Int>,
        of from: UnsafeArea,
        _ firstRow: Int,
        into to: UnsafeArea,
        sums: Sum.Type
    ) {
        let channels = unsafe from.bytesPerSample
        let covered = self.columns.source(of: columns)
        let borders = (columns.lowerBound...columns.upperBound).map { self.columns.border($0, after: covered) }
        let division = RoundedDivision(by: self.columns.samples * self.rows.samples)
        let byteCount = covered.count * channels
        // The last border may be the end of the area: it has a sample behind it, no part of which counts.
        unsafe withUnsafeTemporaryAllocation(of: Sum.self, capacity: byteCount + channels) { memory in
            guard let sums = memory.baseAddress else { return }
            unsafe memory.initialize(repeating: 0)
            let start = unsafe from.base + covered.lowerBound * channels
            for row in rows {
                let samples = self.rows.source(of: row..<row + 1)
                for sample in samples {
                    let source = unsafe start + (sample - firstRow) * Int(from.stride)
                    // At most 65,500: a product of 16 bits is less work than one of 32.
                    let weight = UInt16(truncatingIfNeeded: self.rows.weight(of: sample, in: row))
                    if sample == samples.lowerBound {
                        for index in 0..<byteCount {
                            unsafe sums[index] =
                                Sum(truncatingIfNeeded: weight) &* Sum(truncatingIfNeeded: source[index])
                        }
                    } else {
                        for index in 0..<byteCount {
                            unsafe sums[index] &+=
                                Sum(truncatingIfNeeded: weight) &* Sum(truncatingIfNeeded: source[index])
                        }
                    }
                }
                let target = unsafe to.base + (row - rows.lowerBound) * Int(to.stride)
                // With a constant number the compiler makes a loop for each.
                switch channels {
                case 1: unsafe divide(sums, at: borders, by: division, channels: 1, into: target)
                case 2: unsafe divide(sums, at: borders, by: division, channels: 2, into: target)
                case 3: unsafe divide(sums, at: borders, by: division, channels: 3, into: target)
                default: unsafe divide(sums, at: borders, by: division, channels: 4, into: target)
                }
            }
        }
    }

    /// Writes a row of means of the weighted sums of its columns.
    @inline(__always) @unsafe private func divide<Sum: FixedWidthInteger & UnsignedInteger>(
        _ sums: UnsafeMutablePointer<Sum>,
        at borders: [Border],
        by division: RoundedDivision,
        channels: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        let parts = UInt64(columns.parts)
        unsafe borders.withUnsafeBufferPointer { borders in
            for channel in 0..<channels {
                var offset = unsafe borders[0].sample &* channels &+ channel
                // What the previous mean has of its last sample is taken from this one, which begins with it.
                var before = unsafe borders[0].part &* UInt64(truncatingIfNeeded: sums[offset])
                var place = channel
                for index in 1..<borders.count {
                    let border = unsafe borders[index]
                    let end = border.sample &* channels &+ channel
                    var sum: UInt64 = 0
                    while offset < end {
                        unsafe sum &+= UInt64(truncatingIfNeeded: sums[offset])
                        offset &+= channels
                    }
                    let after = unsafe border.part &* UInt64(truncatingIfNeeded: sums[offset])
                    let mean = division.quotient(of: sum &* parts &+ after &- before)
                    unsafe target[place] = UInt8(truncatingIfNeeded: mean)
                    before = after
                    place &+= channels
                }
            }
        }
    }

    /// Where one mean ends, and the next one begins.
    private struct Border {
        /// The sample in which it lies.
        let sample: Int
        /// How much of the sample is before it, where a whole one weighs the parts of its side.
        let part: UInt64
    }

    /// A side of which `parts` equal parts cover `samples` samples, without a common divisor.
    private struct Side {
        let samples: Int
        let parts: Int

        init(_ parts: Int, of samples: Int) {
            var (divisor, rest) = (samples, parts)
            while rest > 0 { (divisor, rest) = (rest, divisor % rest) }
            (self.samples, self.parts) = (samples / divisor, parts / divisor)
        }

        /// The samples that some results cover, wholly or partly.
        func source(of results: Range<Int>) -> Range<Int> {
            results.lowerBound * samples / parts..<(results.upperBound * samples + parts - 1) / parts
        }

        /// The weight of a sample in a result, where a whole one weighs `parts`: together `samples`.
        func weight(of sample: Int, in result: Int) -> Int {
            min((sample + 1) * parts, (result + 1) * samples) - max(sample * parts, result * samples)
        }

        func border(_ result: Int, after covered: Range<Int>) -> Border {
            let (sample, part) = (result * samples).quotientAndRemainder(dividingBy: parts)
            return Border(sample: sample - covered.lowerBound, part: UInt64(part))
        }
    }

    /// A division by the same number again and again, rounded to the nearest whole: a multiplication.
    ///
    /// The quotients of sums of up to 2^27 samples are exact. Beyond that, the reciprocal is so much too large that a mean
    /// just below a half may be rounded up.
    private struct RoundedDivision {
        private let half: UInt64
        private let reciprocal: UInt64

        init(by divisor: Int) {
            half = UInt64(divisor / 2)
            reciprocal = (1 << 63) / UInt64(divisor) + 1
        }

        func quotient(of value: UInt64) -> UInt64 {
            ((value &+ half) &* 2).multipliedFullWidth(by: reciprocal).high
        }
    }
}
