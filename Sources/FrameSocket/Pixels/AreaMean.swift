/// Scales areas down by exact means: every new sample is the mean of what it covers, in fractions of samples.
///
/// libyuv does so only if both sides shrink below half, and not by much. If only one side does, it skips samples. And
/// since it multiplies sums by a 16-bit reciprocal, the mean of a thousand samples is up to 2 % too dark, and that of
/// 65,536 is black; up to a hundred samples its error is below half a step.
struct AreaMean {
    /// The width of the means; if it does not shrink to half, that of the area, for an interpolating scaler.
    let width: Int

    /// The height of the means, likewise.
    let height: Int

    /// Creates the step for an area and its target; nil if libyuv skips next to nothing and is precise enough.
    @unsafe init?(_ from: UnsafeArea, _ to: UnsafeArea) {
        let columns = unsafe Double(from.width) / Double(to.width)
        let rows = unsafe Double(from.height) / Double(to.height)
        // libyuv does not interpolate between the rows of a single column.
        let isColumn = unsafe from.width == 1 && rows >= 2
        // Half of an odd width is a little less than half: libyuv then skips less than interpolation does above a half.
        let isUneven = max(columns, rows) > 2.25 && min(columns, rows) <= 2
        guard isUneven || isColumn || columns * rows > 100 else { return nil }
        width = unsafe Int(columns >= 2 ? to.width : from.width)
        height = unsafe Int(rows >= 2 ? to.height : from.height)
    }

    /// Writes the means of these columns and rows of the result to an area of that size.
    @unsafe func write(_ columns: Range<Int>, _ rows: Range<Int>, of from: UnsafeArea, into to: UnsafeArea) {
        let channels = unsafe from.bytesPerSample
        let (fullWidth, fullHeight) = unsafe (Int(from.width), Int(from.height))
        let shares = columns.map { Share($0, of: fullWidth, in: width) }
        guard let left = shares.first?.samples.lowerBound, let right = shares.last?.samples.upperBound else { return }
        let scale = 1 / (Double(fullWidth) * Double(fullHeight))
        unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: (right - left) * channels) { sums in
            for (row, part) in rows.enumerated() {
                unsafe add(Share(part, of: fullHeight, in: height), of: from, columns: left, into: sums)
                let target = unsafe to.base + row * Int(to.stride)
                for (column, share) in shares.enumerated() {
                    let (first, last) = (share.samples.lowerBound, share.samples.upperBound - 1)
                    let (firstWeight, lastWeight) = (share.weight(of: first), share.weight(of: last))
                    for channel in 0..<channels {
                        func sum(_ sample: Int) -> Int { unsafe Int(sums[(sample - left) * channels + channel]) }
                        var total = firstWeight * sum(first)
                        if last > first {
                            total += lastWeight * sum(last)
                            for sample in first + 1..<last { total += width * sum(sample) }
                        }
                        unsafe target[column * channels + channel] = UInt8(Double(total) * scale + 0.5)
                    }
                }
            }
        }
    }

    /// Writes the weighted sums of the columns of some rows.
    @unsafe private func add(
        _ rows: Share,
        of from: UnsafeArea,
        columns left: Int,
        into sums: UnsafeMutableBufferPointer<UInt32>
    ) {
        unsafe sums.initialize(repeating: 0)
        for row in rows.samples {
            let source = unsafe from.base + row * Int(from.stride) + left * from.bytesPerSample
            // The weights add up to the number of rows, 65,500 at most, and the sum stays below 2^24.
            let weight = UInt32(rows.weight(of: row))
            for index in sums.indices { unsafe sums[index] &+= weight &* UInt32(source[index]) }
        }
    }

    /// What one of `parts` equal parts of a side covers, where a whole sample weighs `parts`.
    private struct Share {
        let start: Int
        let end: Int
        let parts: Int

        init(_ part: Int, of count: Int, in parts: Int) {
            start = part * count
            end = start + count
            self.parts = parts
        }

        var samples: Range<Int> { start / parts..<(end + parts - 1) / parts }
        func weight(of sample: Int) -> Int { min((sample + 1) * parts, end) - max(sample * parts, start) }
    }
}
