import FrameWire
import TestSupport

@testable import FrameSocket

/// A watermark that has the size in which it is drawn, and the slow and obvious way of drawing it.
struct WatermarkReference {
    let image: PixelBuffer
    let watermark: SampleUploader.Watermark
    /// The left upper corner on the upright frame, which may lie outside.
    let corner: (x: Int, y: Int)

    /// Creates a watermark for frames of a size as a viewer sees them; it is `aspect` times as high as it is wide.
    init(
        on frame: BufferSize,
        x: Double,
        y: Double,
        scale: Double,
        aspect: Double = 0.75,
        format: PixelFormat = .rgba
    ) throws {
        let width = max(1, Int((scale * Double(frame.width)).rounded()))
        image = try Self.pattern(width, max(1, Int(aspect * Double(width))), format)
        watermark = try SampleUploader.Watermark(image, x: x, y: y, scale: scale)
        corner = (Int((x * Double(frame.width)).rounded()), Int((y * Double(frame.height)).rounded()))
    }

    /// An image of every kind of pixel: opaque, transparent, half transparent, and anything between.
    static func pattern(_ width: Int, _ height: Int, _ format: PixelFormat = .rgba) throws -> PixelBuffer {
        try PixelBuffer(width: width, height: height, format: format) { _, x, y in
            let (column, channel) = x.quotientAndRemainder(dividingBy: 4)
            guard channel == (format == .rgba || format == .bgra ? 3 : 0) else {
                return UInt8(truncatingIfNeeded: column * 37 + y * 53 + channel * 91)
            }
            return [0, 255, 128, UInt8(truncatingIfNeeded: column * 11 + y * 7)][(column / 2 + y / 3) % 4]
        }
    }

    /// Red, green, blue and alpha of every pixel of a frame as it is encoded, and transparent black around the watermark.
    func layer(on frame: BufferSize, _ orientation: FrameOrientation) throws -> ReferenceImage.Plane {
        let upright = frame.oriented(by: orientation)
        let source = ReferenceImage(image).planes[0]
        let layer = try PixelBuffer(width: upright.width, height: upright.height, format: .rgba) { _, x, y in
            let (column, channel) = x.quotientAndRemainder(dividingBy: 4)
            let (ownX, ownY) = (column - corner.x, y - corner.y)
            return (0..<source.width ~= ownX && 0..<source.height ~= ownY) ? source[ownX, ownY, channel] : 0
        }
        let opposite = [FrameOrientation.left: FrameOrientation.right, .right: .left][orientation] ?? orientation
        return ReferenceImage(layer).upright(from: opposite).planes[0]
    }

    /// What each byte of a frame becomes, before it is rounded.
    static func drawn(_ layer: ReferenceImage.Plane, on frame: ReferenceImage) -> [[Double]] {
        func sample(_ x: Int, _ y: Int, _ offset: Double, _ red: Double, _ green: Double, _ blue: Double) -> Double {
            let color = (0..<3).map { Double(layer[x, y, $0]) }
            return offset + red * color[0] + green * color[1] + blue * color[2]
        }
        func luma(_ x: Int, _ y: Int) -> Double { sample(x, y, 0, 0.299, 0.587, 0.114) }
        func chroma(_ x: Int, _ y: Int, isRed: Bool) -> Double {
            isRed
                ? sample(x, y, 128, 0.5, -0.418688, -0.081312) : sample(x, y, 128, -0.168736, -0.331264, 0.5)
        }
        return frame.planes.enumerated().map { index, plane in
            var values: [Double] = []
            for y in 0..<plane.height {
                for x in 0..<plane.width {
                    for channel in 0..<plane.channels {
                        let behind = Double(plane[x, y, channel])
                        // The pixels that share the sample.
                        let size = index == 0 ? 1 : 2
                        var (sum, count) = (0.0, 0.0)
                        for row in y * size..<min(y * size + size, layer.height) {
                            for column in x * size..<min(x * size + size, layer.width) {
                                let alpha = Double(layer[column, row, 3]) / 255
                                let color: Double =
                                    if index > 0 {
                                        chroma(column, row, isRed: index == 2 || channel == 1)
                                    } else if plane.channels == 1 {
                                        luma(column, row)
                                    } else {
                                        Self.channel(channel, of: frame.format).map { Double(layer[column, row, $0]) }
                                            ?? 255
                                    }
                                sum += color * alpha + behind * (1 - alpha)
                                count += 1
                            }
                        }
                        values.append(sum / count)
                    }
                }
            }
            return values
        }
    }

    /// Which of red, green and blue a byte of a packed pixel is; nil for alpha.
    private static func channel(_ index: Int, of format: PixelFormat) -> Int? {
        let order: [Int?] =
            switch format {
            case .bgra, .bgrx, .bgr: [2, 1, 0, nil]
            case .argb: [nil, 0, 1, 2]
            case .abgr: [nil, 2, 1, 0]
            default: [0, 1, 2, nil]
            }
        return order[index]
    }
}
