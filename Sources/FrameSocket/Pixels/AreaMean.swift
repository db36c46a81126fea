/// Scales areas down by a large factor: every new sample is the exact mean of whole samples.
///
/// libyuv multiplies sums by a 16-bit reciprocal, so that the mean of a thousand samples is up to 2 % too dark, and
/// that of 65,536 is black. Up to a hundred samples its error is below half a step.
struct AreaMean {
    /// The size to which the area is reduced; sides that change little are left to an interpolating scaler.
    let width: Int
    let height: Int

    /// Creates the step for an area and its target; nil if libyuv is precise enough.
    @unsafe init?(_ from: UnsafeArea, _ to: UnsafeArea) {
        let columns = unsafe Double(from.width) / Double(to.width)
        let rows = unsafe Double(from.height) / Double(to.height)
        guard max(1, columns) * max(1, rows) > 100 else { return nil }
        // A sample at the edge of two means counts for only one of them: there is none, or the side shrinks too much
        // for it to be visible.
        width = unsafe Int(columns >= 8 || from.width % to.width == 0 ? to.width : from.width)
        height = unsafe Int(rows >= 8 || from.height % to.height == 0 ? to.height : from.height)
    }

    /// Writes the means to an area of this size.
    @unsafe func write(_ from: UnsafeArea, into to: UnsafeArea) {
        let channels = unsafe from.bytesPerSample
        let rowBytes = unsafe Int(from.width) * channels
        // A column of 65,500 samples adds up to less than 2^24.
        unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: rowBytes) { sums in
            for y in 0..<height {
                let rows = unsafe Self.range(y, of: Int(from.height), in: height)
                unsafe sums.initialize(repeating: 0)
                for row in rows {
                    let source = unsafe from.base + row * Int(from.stride)
                    for index in 0..<rowBytes { unsafe sums[index] &+= UInt32(source[index]) }
                }
                let target = unsafe to.base + y * Int(to.stride)
                for x in 0..<width {
                    let columns = unsafe Self.range(x, of: Int(from.width), in: width)
                    let count = UInt64(columns.count * rows.count)
                    for channel in 0..<channels {
                        var sum: UInt64 = count / 2
                        for column in columns { unsafe sum += UInt64(sums[column * channels + channel]) }
                        unsafe target[x * channels + channel] = UInt8(sum / count)
                    }
                }
            }
        }
    }

    /// Returns the samples that one of `parts` covers.
    private static func range(_ part: Int, of count: Int, in parts: Int) -> Range<Int> {
        (part * count / parts)..<((part + 1) * count / parts)
    }
}
