extension PixelBuffer {
    /// Returns whether the other image has the same size, format and visible bytes.
    ///
    /// Padding is not compared; alpha and unused bytes of pixels are.
    package func hasSamePixels(as other: PixelBuffer) -> Bool {
        (try? rows(differingFrom: other))?.isEmpty ?? false
    }

    /// Returns how close the other image is, as peak signal-to-noise ratio in decibels: higher is closer.
    ///
    /// The result is infinity if both are equal. At about 40 dB, images are hard to tell apart; below 30 dB, the
    /// difference is obvious.
    ///
    /// The formats may differ. Two planar images are compared sample by sample in all their planes. Otherwise red,
    /// green and blue are compared: alpha and unused bytes are ignored, gray counts as three equal channels, and planar
    /// images are converted with each chroma sample spread over its four pixels.
    ///
    /// - Throws: `sizeMismatch`.
    public func peakSignalToNoiseRatio(against other: PixelBuffer) throws(TurboJPEGError) -> Double {
        guard width == other.width, height == other.height else {
            throw TurboJPEGError(
                .sizeMismatch,
                "\(width)x\(height) cannot be compared with \(other.width)x\(other.height); make the sizes equal"
            )
        }
        var difference = SquaredDifference()
        unsafe withUnsafePlanes { mine in
            unsafe other.withUnsafePlanes { theirs in
                if format.isPlanar, other.format.isPlanar {
                    unsafe difference.addPlanes(mine, theirs)
                } else {
                    unsafe difference.addColors(mine, theirs)
                }
            }
        }
        guard difference.sum > 0 else { return .infinity }
        return decibels(255 * 255 * Double(difference.count) / Double(difference.sum))
    }
}

/// The sum of the squared differences of samples.
private struct SquaredDifference {
    private(set) var sum: UInt64 = 0
    private(set) var count: UInt64 = 0

    @unsafe mutating func addPlanes(_ first: UnsafePlanes, _ second: UnsafePlanes) {
        let (luma, otherLuma) = unsafe (first[0], second[0])
        for y in 0..<(unsafe luma.shape.height) {
            unsafe add(luma.row(y), otherLuma.row(y), count: luma.shape.width)
        }
        let chroma = unsafe first[1].shape
        for y in 0..<chroma.height {
            let (mine, theirs) = unsafe (first.chroma(row: y), second.chroma(row: y))
            let (step, otherStep) = unsafe (mine.step, theirs.step)
            unsafe add(mine.blue, step: step, theirs.blue, step: otherStep, count: chroma.width)
            unsafe add(mine.red, step: step, theirs.red, step: otherStep, count: chroma.width)
        }
    }

    @unsafe mutating func addColors(_ first: UnsafePlanes, _ second: UnsafePlanes) {
        let rowBytes = unsafe 3 * first.width
        var rows = [UInt8](repeating: 0, count: 2 * rowBytes)
        unsafe rows.withUnsafeMutableBufferPointer { rows in
            guard let row = rows.baseAddress else { return }
            for y in 0..<(unsafe first.height) {
                unsafe first.readRGB(row: y, into: row)
                unsafe second.readRGB(row: y, into: row + rowBytes)
                unsafe add(row, row + rowBytes, count: rowBytes)
            }
        }
    }

    @unsafe private mutating func add(
        _ first: UnsafePointer<UInt8>,
        step firstStep: Int = 1,
        _ second: UnsafePointer<UInt8>,
        step secondStep: Int = 1,
        count samples: Int
    ) {
        var rowSum: UInt64 = 0
        for x in 0..<samples {
            let distance = unsafe Int32(first[x * firstStep]) - Int32(second[x * secondStep])
            rowSum += UInt64(distance * distance)
        }
        sum += rowSum
        count += UInt64(samples)
    }
}
