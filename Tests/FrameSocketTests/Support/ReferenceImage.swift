import FrameSocket
import TestSupport

/// An image as plain arrays, and the slow and obvious way of doing to it what the package does.
struct ReferenceImage {
    /// The samples of a plane, `channels` bytes each, without padding.
    struct Plane: Equatable {
        let width: Int
        let height: Int
        let channels: Int
        var bytes: [UInt8]

        subscript(_ x: Int, _ y: Int, _ channel: Int) -> UInt8 { bytes[(y * width + x) * channels + channel] }

        /// The greatest distance of a sample from the mean of what it covers in a source, by area.
        func worstError(ofMeansOf source: Plane) -> Double {
            func shares(_ index: Int, _ from: Int, _ to: Int) -> [(Int, Double)] {
                let (start, end) = (Double(index * from) / Double(to), Double((index + 1) * from) / Double(to))
                return (Int(start)..<min(from, Int(end.rounded(.up)))).map {
                    ($0, min(end, Double($0 + 1)) - max(start, Double($0)))
                }
            }
            let columns = (0..<width).map { shares($0, source.width, width) }
            let area = Double(source.width * source.height) / Double(width * height)
            var worst = 0.0
            for y in 0..<height {
                let rows = shares(y, source.height, height)
                for x in 0..<width {
                    for channel in 0..<channels {
                        var sum = 0.0
                        for (row, tall) in rows {
                            for (column, wide) in columns[x] {
                                sum += tall * wide * Double(source[column, row, channel])
                            }
                        }
                        worst = max(worst, abs(Double(self[x, y, channel]) - sum / area))
                    }
                }
            }
            return worst
        }
    }

    let format: PixelFormat
    var planes: [Plane]

    init(_ image: PixelBuffer) {
        format = image.format
        planes = (0..<image.planeCount).map { index in
            let shape = image.plane(index)
            let rows = (0..<shape.height).flatMap { image.row($0, ofPlane: index) }
            return Plane(width: shape.width, height: shape.height, channels: shape.bytesPerSample, bytes: rows)
        }
    }

    private init(_ format: PixelFormat, _ planes: [Plane]) {
        self.format = format
        self.planes = planes
    }

    // MARK: Exact

    /// Each sample of the result is the one that `place` names.
    private func moved(
        _ size: (Plane) -> (Int, Int),
        _ place: (_ x: Int, _ y: Int, _ plane: Plane) -> (Int, Int)
    ) -> ReferenceImage {
        ReferenceImage(
            format,
            planes.map { plane in
                let (width, height) = size(plane)
                var bytes: [UInt8] = []
                for y in 0..<height {
                    for x in 0..<width {
                        let (column, row) = place(x, y, plane)
                        for channel in 0..<plane.channels { bytes.append(plane[column, row, channel]) }
                    }
                }
                return Plane(width: width, height: height, channels: plane.channels, bytes: bytes)
            }
        )
    }

    /// The image as a person sees it: flipped where it is mirrored, then turned clockwise.
    func upright(from orientation: FrameOrientation) -> ReferenceImage {
        let flipped = orientation.isMirrored ? moved({ ($0.width, $0.height) }) { ($2.width - 1 - $0, $1) } : self
        return switch orientation.rotation {
        case 90: flipped.moved({ ($0.height, $0.width) }) { x, y, plane in (y, plane.height - 1 - x) }
        case 180: flipped.moved({ ($0.width, $0.height) }) { ($2.width - 1 - $0, $2.height - 1 - $1) }
        case 270: flipped.moved({ ($0.height, $0.width) }) { x, y, plane in (plane.width - 1 - y, x) }
        default: flipped
        }
    }

    /// The part at the top left, its edges repeated if it is larger.
    func resized(width: Int, height: Int) -> ReferenceImage {
        let sizes = planes.indices.map { index in
            let half = index == 0 ? 1 : 2
            return ((width + half - 1) / half, (height + half - 1) / half)
        }
        var index = -1
        return moved({ _ in
            index += 1
            return sizes[index]
        }) { (min($0, $2.width - 1), min($1, $2.height - 1)) }
    }

    /// Red, green and blue of each pixel.
    var colors: [[UInt8]] {
        let order: [Int] =
            switch format {
            case .bgra, .bgrx, .bgr: [2, 1, 0]
            case .argb: [1, 2, 3]
            case .abgr: [3, 2, 1]
            default: [0, 1, 2]
            }
        let plane = planes[0]
        return (0..<plane.width * plane.height).map { index in
            order.map { plane.bytes[index * plane.channels + (plane.channels == 1 ? 0 : $0)] }
        }
    }

    /// Luma and chroma of packed pixels, each pixel with its own: what JFIF says.
    var luminance: [Plane] {
        let plane = planes[0]
        func samples(_ red: Double, _ green: Double, _ blue: Double, _ offset: Double) -> Plane {
            let bytes = colors.map { color in
                let sum = offset + red * Double(color[0]) + green * Double(color[1]) + blue * Double(color[2])
                return UInt8(min(max(sum.rounded(), 0), 255))
            }
            return Plane(width: plane.width, height: plane.height, channels: 1, bytes: bytes)
        }
        return [
            samples(0.299, 0.587, 0.114, 0), samples(-0.168736, -0.331264, 0.5, 128),
            samples(0.5, -0.418688, -0.081312, 128),
        ]
    }

    /// Samples of another range and matrix, before they are rounded.
    func converted(from source: PixelBuffer.Color, to target: PixelBuffer.Color) -> [[Double]] {
        func weights(_ color: PixelBuffer.Color) -> (red: Double, blue: Double) {
            color.matrix == .bt601 ? (0.299, 0.114) : (0.2126, 0.0722)
        }
        func levels(_ color: PixelBuffer.Color) -> (black: Double, luma: Double, chroma: Double) {
            color.range == .full ? (0, 255, 255) : (16, 219, 224)
        }
        func convert(_ sample: (Double, Double, Double)) -> (Double, Double, Double) {
            let (old, new) = (weights(source), weights(target))
            let (from, to) = (levels(source), levels(target))
            let luma = (sample.0 - from.black) / from.luma
            let (cb, cr) = ((sample.1 - 128) / from.chroma, (sample.2 - 128) / from.chroma)
            let (red, blue) = (luma + cr * 2 * (1 - old.red), luma + cb * 2 * (1 - old.blue))
            let green = (luma - old.red * red - old.blue * blue) / (1 - old.red - old.blue)
            let result = new.red * red + (1 - new.red - new.blue) * green + new.blue * blue
            return (
                to.black + result * to.luma, 128 + (blue - result) / (2 - 2 * new.blue) * to.chroma,
                128 + (red - result) / (2 - 2 * new.red) * to.chroma
            )
        }
        func chroma(_ x: Int, _ y: Int) -> (Double, Double) {
            format == .nv12
                ? (Double(planes[1][x, y, 0]), Double(planes[1][x, y, 1]))
                : (Double(planes[1][x, y, 0]), Double(planes[2][x, y, 0]))
        }
        var luma: [Double] = []
        for y in 0..<planes[0].height {
            for x in 0..<planes[0].width {
                let (cb, cr) = chroma(x / 2, y / 2)
                luma.append(convert((Double(planes[0][x, y, 0]), cb, cr)).0)
            }
        }
        var (blue, red): ([Double], [Double]) = ([], [])
        for y in 0..<planes[1].height {
            for x in 0..<planes[1].width {
                let (cb, cr) = chroma(x, y)
                let found = convert((128, cb, cr))
                blue.append(found.1)
                red.append(found.2)
            }
        }
        return format == .nv12 ? [luma, zip(blue, red).flatMap { [$0, $1] }] : [luma, blue, red]
    }
}

/// What a sample of a scaled image may be, by the samples of the area that it stands for.
struct ScalingBounds {
    /// The least and the greatest sample within two samples of the area.
    private(set) var least: UInt8 = 255
    private(set) var greatest: UInt8 = 0
    /// The least and the greatest mean of the area: one mean if both sides shrink to half or less; otherwise one for each
    /// row or column, or sample, within two samples of the area, since libyuv interpolates between those.
    private(set) var means = 0.0...0.0

    /// The sample at a place of `target`, to which `part` of the source was scaled.
    init(
        _ source: ReferenceImage.Plane,
        _ part: PixelBuffer.Rectangle,
        _ target: (width: Int, height: Int),
        _ place: (x: Int, y: Int, channel: Int)
    ) {
        let (columns, wide) = Self.span(place.x, of: part.width, in: target.width)
        let (rows, tall) = Self.span(place.y, of: part.height, in: target.height)
        let shares = columns.map { Self.share($0, wide) }
        let (areColumnsMeans, areRowsMeans) = (part.width >= 2 * target.width, part.height >= 2 * target.height)
        let groupCount = (areColumnsMeans ? 1 : columns.count) * (areRowsMeans ? 1 : rows.count)
        var groups = [(sum: Double, area: Double)](repeating: (0, 0), count: groupCount)
        for (rowIndex, y) in rows.enumerated() {
            let tallShare = areRowsMeans ? Self.share(y, tall) : 1
            var index = ((part.y + y) * source.width + part.x + columns.lowerBound) * source.channels + place.channel
            let firstGroup = areRowsMeans ? 0 : rowIndex * groupCount / rows.count
            for (columnIndex, wideShare) in shares.enumerated() {
                let sample = source.bytes[index]
                if sample < least { least = sample }
                if sample > greatest { greatest = sample }
                let share = (areColumnsMeans ? wideShare : 1) * tallShare
                let group = firstGroup + (areColumnsMeans ? 0 : columnIndex)
                groups[group].sum += share * Double(sample)
                groups[group].area += share
                index += source.channels
            }
        }
        let all = groups.map { $0.sum / $0.area }
        means = (all.min() ?? 0)...(all.max() ?? 0)
    }

    /// What a part of a side covers, and the samples within two of it.
    private static func span(_ index: Int, of count: Int, in parts: Int) -> (Range<Int>, (Double, Double)) {
        let (start, end) = (Double(index * count) / Double(parts), Double((index + 1) * count) / Double(parts))
        return (max(0, Int(start) - 2)..<min(count, Int(end.rounded(.up)) + 2), (start, end))
    }

    private static func share(_ sample: Int, _ covered: (Double, Double)) -> Double {
        max(0, min(covered.1, Double(sample + 1)) - max(covered.0, Double(sample)))
    }
}

extension PixelBuffer {
    /// The shapes of its planes.
    var planeShapes: [PixelBuffer.Plane] { (0..<planeCount).map { plane($0) } }

    /// The greatest distance of a sample from the mean of what it covers in a source.
    func worstError(ofMeansOf source: PixelBuffer) -> Double {
        zip(ReferenceImage(self).planes, ReferenceImage(source).planes).map { $0.worstError(ofMeansOf: $1) }.max() ?? 0
    }
}
