internal import CYUV
public import TurboJPEG

extension PixelBuffer {
    /// Returns the image in another size: every new pixel is the mean of what it covers, up to half the size, and
    /// interpolated above.
    ///
    /// Means count parts of pixels, and are rounded to the nearest value; those of packed pixels at exactly half the size
    /// are rounded twice. If only one side shrinks to half or less, it alone is averaged. Planes that are one sample wide
    /// are enlarged without interpolation.
    ///
    /// Planar formats are scaled plane by plane, without conversion to RGB. An image that already has the size is
    /// returned unchanged, without a copy.
    ///
    /// - Parameters:
    ///   - width: The new width in pixels, from 1 to 65,500.
    ///   - height: The new height in pixels, from 1 to 65,500.
    ///   - pool: The pool that provides the memory of the result.
    /// - Returns: The scaled image, in the same format.
    /// - Throws: `invalidSize` or `allocationFailed`.
    public func scaled(
        toWidth width: Int,
        height: Int,
        pool: Pool = Pool()
    ) throws(TurboJPEGError) -> PixelBuffer {
        guard (width, height) != (self.width, self.height) else { return self }
        var result = try pool.buffer(width: width, height: height, format: format)
        try unsafe result.withUnsafeMutablePlanes(preservingContents: false) { targets throws(TurboJPEGError) in
            unsafe withUnsafePlanes { sources in
                for plane in 0..<planeCount {
                    unsafe scale(UnsafeArea(sources[plane]), into: UnsafeArea(targets[plane]))
                }
            }
        }
        return result
    }
}

/// Scales a part of a plane to the size of another, or copies it if the sizes are equal.
func scale(_ from: UnsafeArea, into to: UnsafeArea) {
    typealias Scaler = (
        UnsafePointer<UInt8>?, Int32, Int32, Int32, UnsafeMutablePointer<UInt8>?, Int32, Int32, Int32, FilterMode
    ) -> Int32
    if let mean = unsafe AreaMean(from, to) { return unsafe scale(from, by: mean, into: to) }
    if unsafe ScalingTile.isNeeded(for: from) {
        for tile in unsafe ScalingTile.all(from, to) {
            unsafe scale(tile.source(of: from), into: tile.target(of: to))
        }
        return
    }
    if unsafe from.bytesPerSample > 1 && isInterpolated(from, to) { return unsafe interpolate(from, into: to) }
    // The results only report a wrong size or pointer, which buffers rule out.
    let scaler: Scaler =
        switch unsafe from.bytesPerSample {
        case 1: unsafe scalePlane
        case 2: unsafe UVScale
        case 3: unsafe RGBScale
        default: unsafe ARGBScale
        }
    _ = unsafe scaler(
        from.base,
        from.stride,
        from.width,
        from.height,
        to.base,
        to.stride,
        to.width,
        to.height,
        kFilterBox
    )
}

/// Scales an area by exact means where its sides shrink to half or less, and by libyuv the rest of the way, in bands.
private func scale(_ from: UnsafeArea, by mean: AreaMean, into to: UnsafeArea) {
    let (width, height) = unsafe (Int(to.width), Int(to.height))
    if mean.width == width && mean.height == height {
        return unsafe mean.write(0..<width, 0..<height, of: from, into: to)
    }
    // A side that is interpolated is whole in every band.
    let isWide = mean.height == height
    let channels = unsafe from.bytesPerSample
    let length = isWide ? mean.width : mean.height
    let count = isWide ? height : width
    let step = max(1, 65_536 / (length * channels))
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length * min(step, count) * channels) { memory in
        guard let base = memory.baseAddress else { return }
        for start in stride(from: 0, to: count, by: step) {
            let band = start..<min(start + step, count)
            let (columns, rows) = isWide ? (0..<length, band) : (band, 0..<length)
            let means = unsafe UnsafeArea(base, width: columns.count, height: rows.count, bytesPerSample: channels)
            unsafe mean.write(columns, rows, of: from, into: means)
            unsafe scale(means, into: isWide ? to.rows(band) : to.part(band, 0..<height))
        }
    }
}

/// Returns whether libyuv would interpolate between columns of pixels of several bytes, with weights that lose up to one
/// part in 128; those of planes do not.
private func isInterpolated(_ from: UnsafeArea, _ to: UnsafeArea) -> Bool {
    unsafe to.width != from.width && 2 * to.width > from.width
}

/// `ScalePlane` with the signature of its siblings, which return a result.
private func scalePlane(
    _ source: UnsafePointer<UInt8>?,
    _ sourceStride: Int32,
    _ sourceWidth: Int32,
    _ sourceHeight: Int32,
    _ target: UnsafeMutablePointer<UInt8>?,
    _ targetStride: Int32,
    _ targetWidth: Int32,
    _ targetHeight: Int32,
    _ filter: FilterMode
) -> Int32 {
    unsafe ScalePlane(
        source,
        sourceStride,
        sourceWidth,
        sourceHeight,
        target,
        targetStride,
        targetWidth,
        targetHeight,
        filter
    )
    return 0
}

/// Scales interleaved samples one channel after the other, each as a plane.
///
/// The rows are not divided into bands, because libyuv would not interpolate across their ends.
private func interpolate(_ from: UnsafeArea, into to: UnsafeArea) {
    let channels = unsafe from.bytesPerSample
    let (source, target) = unsafe (
        (width: Int(from.width), height: Int(from.height)), (width: Int(to.width), height: Int(to.height))
    )
    let sourceBytes = source.width * source.height
    let byteCount = sourceBytes + target.width * target.height
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: byteCount) { scratch in
        guard let plane = scratch.baseAddress else { return }
        let scaled = unsafe plane + sourceBytes
        for channel in 0..<channels {
            for y in 0..<source.height {
                let row = unsafe from.base + y * Int(from.stride) + channel
                let samples = unsafe plane + y * source.width
                for x in 0..<source.width { unsafe samples[x] = row[x * channels] }
            }
            unsafe scale(
                UnsafeArea(plane, width: source.width, height: source.height),
                into: UnsafeArea(scaled, width: target.width, height: target.height)
            )
            for y in 0..<target.height {
                let row = unsafe to.base + y * Int(to.stride) + channel
                let samples = unsafe scaled + y * target.width
                for x in 0..<target.width { unsafe row[x * channels] = samples[x] }
            }
        }
    }
}

/// A part of an image with long sides that is scaled separately.
///
/// libyuv stores positions in 16 bits and a fraction: for a side over 32,767 it reads outside the image, or leaves the
/// result unchanged. Such sides are divided into pieces that it can handle.
private struct ScalingTile {
    /// The longest side that libyuv can scale.
    private static let longestSide = 32_767
    /// The maximum number of samples of a piece.
    private static let pieceLength = 16_384

    private let columns: Piece
    private let rows: Piece

    /// A piece of a side, and its result.
    private struct Piece {
        let source: Range<Int>
        let target: Range<Int>
    }

    /// Returns whether an area has more positions than libyuv can count.
    @unsafe static func isNeeded(for area: UnsafeArea) -> Bool {
        unsafe Int(max(area.width, area.height)) > longestSide
    }

    /// Returns the tiles of an area and its target.
    @unsafe static func all(_ from: UnsafeArea, _ to: UnsafeArea) -> [ScalingTile] {
        let columns = unsafe pieces(of: Int(from.width), into: Int(to.width))
        let rows = unsafe pieces(of: Int(from.height), into: Int(to.height))
        return rows.flatMap { rows in columns.map { ScalingTile(columns: $0, rows: rows) } }
    }

    @unsafe func source(of area: UnsafeArea) -> UnsafeArea { unsafe area.part(columns.source, rows.source) }
    @unsafe func target(of area: UnsafeArea) -> UnsafeArea { unsafe area.part(columns.target, rows.target) }

    private static func pieceCount(_ side: Int) -> Int {
        side > longestSide ? (side + pieceLength - 1) / pieceLength : 1
    }

    /// Divides a side into pieces; boundaries are exact on the shorter side and rounded down on the longer one.
    private static func pieces(of source: Int, into target: Int) -> [Piece] {
        let count = pieceCount(source)
        let (shorter, longer) = (min(source, target), max(source, target))
        return (0..<count).map { index in
            let short = (shorter * index / count)..<(shorter * (index + 1) / count)
            let long = (short.lowerBound * longer / shorter)..<(short.upperBound * longer / shorter)
            return source <= target ? Piece(source: short, target: long) : Piece(source: long, target: short)
        }
    }
}

/// A part of a plane, in the form that libyuv takes.
@unsafe struct UnsafeArea {
    let base: UnsafeMutablePointer<UInt8>
    let stride: Int32
    let width: Int32
    let height: Int32
    let bytesPerSample: Int

    /// Memory with rows at this distance, or without padding.
    init(_ base: UnsafeMutablePointer<UInt8>, stride: Int? = nil, width: Int, height: Int, bytesPerSample: Int = 1) {
        unsafe self.base = unsafe base
        unsafe self.stride = Int32(stride ?? width * bytesPerSample)
        unsafe self.width = Int32(width)
        unsafe self.height = Int32(height)
        unsafe self.bytesPerSample = bytesPerSample
    }

    /// The whole plane.
    init(_ plane: UnsafePlane) {
        let shape = unsafe plane.shape
        unsafe self.init(PixelBuffer.Rectangle(x: 0, y: 0, width: shape.width, height: shape.height), of: plane)
    }

    /// A part, in samples, that lies within the plane.
    init(_ part: PixelBuffer.Rectangle, of plane: UnsafePlane) {
        let shape = unsafe plane.shape
        unsafe self.init(
            plane.base + part.y * shape.bytesPerRow + part.x * shape.bytesPerSample,
            stride: shape.bytesPerRow,
            width: part.width,
            height: part.height,
            bytesPerSample: shape.bytesPerSample
        )
    }

    /// A part, in samples, that lies within the area.
    func part(_ columns: Range<Int>, _ rows: Range<Int>) -> UnsafeArea {
        unsafe UnsafeArea(
            base + rows.lowerBound * Int(stride) + columns.lowerBound * bytesPerSample,
            stride: Int(stride),
            width: columns.count,
            height: rows.count,
            bytesPerSample: bytesPerSample
        )
    }

    /// Some of the rows.
    func rows(_ rows: Range<Int>) -> UnsafeArea {
        unsafe part(0..<Int(width), rows)
    }
}
