/// A plane for code that works with pointers.
///
/// A plane from `withUnsafePlanes` is read-only; one from `withUnsafeMutablePlanes` is also writable. It is valid only
/// inside the closure.
@unsafe package struct UnsafePlane {
    /// The first sample.
    package let base: UnsafeMutablePointer<UInt8>
    /// The shape of the plane.
    package let shape: PixelBuffer.Plane

    /// Returns the first sample of a row.
    func row(_ row: Int) -> UnsafeMutablePointer<UInt8> {
        unsafe base + row * shape.bytesPerRow
    }
}

/// The planes of an image for code that works with pointers.
@unsafe package struct UnsafePlanes {
    /// The arrangement of the bytes.
    package let format: PixelFormat
    /// The width of the image in pixels.
    package private(set) var width: Int
    /// The height of the image in pixels.
    package private(set) var height: Int
    /// The row of the whole image with which this part begins, an even one in planar formats.
    private var top = 0
    private let storage: PixelStorage

    init(_ buffer: borrowing PixelBuffer) {
        unsafe format = buffer.format
        unsafe width = buffer.width
        unsafe height = buffer.height
        unsafe storage = buffer.storage
    }

    /// Returns one of the format's planes.
    package subscript(_ plane: Int) -> UnsafePlane {
        let shape = unsafe PixelBuffer.Plane(
            width: format.planeWidth(plane, width: width),
            height: format.planeHeight(plane, height: height),
            bytesPerRow: storage.strides[plane],
            bytesPerSample: format.bytesPerSample(plane: plane)
        )
        let first = unsafe plane == 0 ? top : top / 2
        return unsafe UnsafePlane(base: storage.bases[plane] + first * shape.bytesPerRow, shape: shape)
    }

    /// Returns some rows of the image.
    ///
    /// For planar images, the range must begin with an even row, and have an even count unless it reaches the end.
    func rows(_ rows: Range<Int>) -> UnsafePlanes {
        var part = unsafe self
        unsafe (part.top, part.height) = unsafe (top + rows.lowerBound, rows.count)
        return unsafe part
    }

    /// Returns the top left part of the image.
    func cropped(toWidth width: Int, height: Int) -> UnsafePlanes {
        var part = unsafe self
        unsafe part.width = width
        unsafe part.height = height
        return unsafe part
    }

    /// Returns the chroma samples of a row of a planar image, and the distance from one to the next.
    func chroma(row: Int) -> UnsafeChromaRow {
        let first = unsafe self[1].row(row)
        return unsafe format == .nv12
            ? UnsafeChromaRow(blue: first, red: first + 1, step: 2)
            : UnsafeChromaRow(blue: first, red: self[2].row(row), step: 1)
    }

    /// The most bytes that one call copies.
    ///
    /// The C library would write images as large as a last-level cache past the caches, and whoever reads them next
    /// would wait for memory.
    private static let pieceByteCount = 1 << 20

    /// Copies all visible samples of an image of the same size and format.
    func copySamples(from other: UnsafePlanes) {
        for plane in 0..<(unsafe format.planeCount) {
            let (source, target) = unsafe (other[plane], self[plane])
            let shape = unsafe target.shape
            // Few copies of many rows are faster than a copy of each; padding, of unknown content, is not copied.
            if shape.bytesPerRow == shape.visibleBytesPerRow, unsafe source.shape.bytesPerRow == shape.bytesPerRow {
                let step = unsafe max(1, Self.pieceByteCount / shape.bytesPerRow)
                for row in stride(from: 0, to: shape.height, by: step) {
                    let byteCount = min(step, shape.height - row) * shape.bytesPerRow
                    unsafe target.row(row).update(from: source.row(row), count: byteCount)
                }
                continue
            }
            for row in 0..<shape.height {
                unsafe target.row(row).update(from: source.row(row), count: shape.visibleBytesPerRow)
            }
        }
    }
}

/// A row of chroma, separate or interleaved.
@unsafe struct UnsafeChromaRow {
    let blue: UnsafeMutablePointer<UInt8>
    let red: UnsafeMutablePointer<UInt8>
    let step: Int
}

/// Rows as red, green and blue, regardless of the format: for conversions and comparisons whose speed does not matter.
///
/// The conversion is JFIF's full-range one in 16-bit fixed point, with libjpeg's constants and rounding, so the results
/// equal libjpeg's own without fancy upsampling.
extension UnsafePlanes {
    /// Converts a row's pixels to red, green and blue in memory for `3 * width` bytes.
    func readRGB(row: Int, into target: UnsafeMutablePointer<UInt8>) {
        let source = unsafe self[0].row(row)
        let width = unsafe width
        guard unsafe format.isPlanar else {
            let (red, green, blue) = unsafe format.channelOffsets
            let step = unsafe format.bytesPerPixel
            for x in 0..<width {
                unsafe target[3 * x] = unsafe source[x * step + red]
                unsafe target[3 * x + 1] = unsafe source[x * step + green]
                unsafe target[3 * x + 2] = unsafe source[x * step + blue]
            }
            return
        }
        let chroma = unsafe chroma(row: row / 2)
        for x in 0..<width {
            let at = unsafe x / 2 * chroma.step
            let y = unsafe Int32(source[x])
            let blueness = unsafe Int32(chroma.blue[at]) - 128
            let redness = unsafe Int32(chroma.red[at]) - 128
            let red = y + (91_881 * redness + 32_768) >> 16
            let green = y + (-22_554 * blueness - 46_802 * redness + 32_768) >> 16
            let blue = y + (116_130 * blueness + 32_768) >> 16
            unsafe target[3 * x] = UInt8(clamping: red)
            unsafe target[3 * x + 1] = UInt8(clamping: green)
            unsafe target[3 * x + 2] = UInt8(clamping: blue)
        }
    }

    /// Sets a row's pixels from red, green and blue; in planar formats, only the luma.
    func writeRGB(row: Int, from source: UnsafePointer<UInt8>) {
        let target = unsafe self[0].row(row)
        let step = unsafe format.bytesPerPixel
        let (red, green, blue) = unsafe format.channelOffsets
        let opaque = unsafe format.opaqueOffset
        for x in 0..<(unsafe width) {
            let pixel = unsafe (source[3 * x], source[3 * x + 1], source[3 * x + 2])
            guard step > 1 else {
                unsafe target[x] = luma(pixel)
                continue
            }
            unsafe target[x * step + red] = pixel.0
            unsafe target[x * step + green] = pixel.1
            unsafe target[x * step + blue] = pixel.2
            if let opaque { unsafe target[x * step + opaque] = 255 }
        }
    }

    /// Sets a row of chroma from the two rows of red, green and blue that it covers, averaging each four pixels.
    func writeChroma(row: Int, from upper: UnsafePointer<UInt8>, _ lower: UnsafePointer<UInt8>) {
        let chroma = unsafe chroma(row: row)
        let width = unsafe width
        for x in 0..<(width + 1) / 2 {
            let left = 6 * x
            let right = 2 * x + 1 < width ? left + 3 : left
            func sum(_ channel: Int) -> Int32 {
                unsafe Int32(upper[left + channel]) + Int32(upper[right + channel])
                    + Int32(lower[left + channel]) + Int32(lower[right + channel])
            }
            let (red, green, blue) = (sum(0), sum(1), sum(2))
            // Four pixels at once: two more bits to shift out, and the middle of the range is 4 x 128.
            let middle: Int32 = (512 << 16) + (1 << 17) - 1
            let blueness = (-11_059 * red - 21_709 * green + 32_768 * blue + middle) >> 18
            let redness = (32_768 * red - 27_439 * green - 5_329 * blue + middle) >> 18
            unsafe chroma.blue[x * chroma.step] = UInt8(clamping: blueness)
            unsafe chroma.red[x * chroma.step] = UInt8(clamping: redness)
        }
    }

    /// Fills an image of the same size, in any format, from this one.
    package func convert(into target: UnsafePlanes) {
        let rowBytes = unsafe 3 * width
        let height = unsafe height
        var rows = [UInt8](repeating: 0, count: 2 * rowBytes)
        unsafe rows.withUnsafeMutableBufferPointer { rows in
            guard let upper = rows.baseAddress else { return }
            let lower = unsafe upper + rowBytes
            for y in stride(from: 0, to: height, by: 2) {
                unsafe readRGB(row: y, into: upper)
                unsafe readRGB(row: min(y + 1, height - 1), into: lower)
                unsafe target.writeRGB(row: y, from: upper)
                if y + 1 < height { unsafe target.writeRGB(row: y + 1, from: lower) }
                if unsafe target.format.isPlanar { unsafe target.writeChroma(row: y / 2, from: upper, lower) }
            }
        }
    }
}

/// Returns the luma of a pixel.
private func luma(_ pixel: (red: UInt8, green: UInt8, blue: UInt8)) -> UInt8 {
    let sum = 19_595 * Int32(pixel.red) + 38_470 * Int32(pixel.green) + 7_471 * Int32(pixel.blue)
    return UInt8(clamping: (sum + 32_768) >> 16)
}

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
