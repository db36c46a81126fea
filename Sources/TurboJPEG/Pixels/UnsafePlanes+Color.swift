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
