/// Converts a JPEG's planes to the shape of a planar image.
extension UnsafePlanes {
    /// Removes all color.
    func clearChroma() {
        for plane in 1..<(unsafe format.planeCount) {
            for y in 0..<(unsafe self[plane].shape.height) {
                unsafe self[plane].row(y).update(repeating: 128, count: self[plane].shape.visibleBytesPerRow)
            }
        }
    }

    /// Interleaves chroma that already has the right size.
    private func interleaveChroma(_ blue: UnsafePlane, _ red: UnsafePlane) {
        let shape = unsafe self[1].shape
        for y in 0..<shape.height {
            let (blueRow, redRow, pairs) = unsafe (blue.row(y), red.row(y), self[1].row(y))
            for x in 0..<shape.width {
                unsafe pairs[2 * x] = blueRow[x]
                unsafe pairs[2 * x + 1] = redRow[x]
            }
        }
    }

    /// Sets the chroma from planes with another subsampling: finer ones are averaged, coarser ones repeated.
    func resampleChroma(blue: UnsafePlane, red: UnsafePlane, from subsampling: ChromaSubsampling) {
        guard subsampling != .yuv420 else {
            // Only a format with interleaved chroma needs this.
            return unsafe interleaveChroma(blue, red)
        }
        let shape = unsafe self[1].shape
        let sourceHeight = unsafe blue.shape.height
        let columns: ChromaColumns =
            switch subsampling.pixelsPerChromaSample.width {
            case 1: .averaged
            case 2: .same
            default: .repeated
            }
        for y in 0..<shape.height {
            let isAveraged = subsampling.pixelsPerChromaSample.height == 1
            let upper = isAveraged ? 2 * y : y
            let lower = isAveraged ? min(2 * y + 1, sourceHeight - 1) : y
            let target = unsafe chroma(row: y)
            func resample(_ plane: UnsafePlane, to samples: UnsafeMutablePointer<UInt8>) {
                unsafe resampleRow(
                    plane.row(upper),
                    plane.row(lower),
                    sourceWidth: plane.shape.width,
                    columns: columns,
                    to: samples,
                    step: target.step,
                    count: shape.width
                )
            }
            unsafe resample(blue, to: target.blue)
            unsafe resample(red, to: target.red)
        }
    }
}

/// The conversion of the columns of one chroma plane to those of another.
private enum ChromaColumns {
    case averaged, same, repeated
}

/// Sets a row of chroma from two rows, which may be the same one.
///
/// The even case of each loop has no branch inside, so that the compiler can use vector instructions.
@unsafe private func resampleRow(
    _ upper: UnsafeMutablePointer<UInt8>,
    _ lower: UnsafeMutablePointer<UInt8>,
    sourceWidth: Int,
    columns: ChromaColumns,
    to target: UnsafeMutablePointer<UInt8>,
    step: Int,
    count: Int
) {
    switch columns {
    case .averaged:
        let pairs = sourceWidth / 2
        for x in 0..<pairs {
            let sum =
                unsafe UInt16(upper[2 * x]) + UInt16(upper[2 * x + 1]) + UInt16(lower[2 * x])
                + UInt16(lower[2 * x + 1])
            unsafe target[x * step] = UInt8(truncatingIfNeeded: (sum + 2) >> 2)
        }
        if pairs < count {
            let sum = unsafe UInt16(upper[2 * pairs]) + UInt16(lower[2 * pairs])
            unsafe target[pairs * step] = UInt8(truncatingIfNeeded: (sum + 1) >> 1)
        }
    case .same:
        for x in 0..<count {
            let sum = unsafe UInt16(upper[x]) + UInt16(lower[x])
            unsafe target[x * step] = UInt8(truncatingIfNeeded: (sum + 1) >> 1)
        }
    case .repeated:
        for x in 0..<count {
            let sum = unsafe UInt16(upper[x / 2]) + UInt16(lower[x / 2])
            unsafe target[x * step] = UInt8(truncatingIfNeeded: (sum + 1) >> 1)
        }
    }
}
