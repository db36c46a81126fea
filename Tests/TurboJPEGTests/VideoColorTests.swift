import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct VideoColorTests {
    /// Luma and chroma of a color, by the formulas of the standards.
    private func samples(_ color: [Double], as meaning: PixelBuffer.Color) -> [Double] {
        let (red, blue) = meaning.matrix == .bt601 ? (0.299, 0.114) : (0.2126, 0.0722)
        let luma = red * color[0] + (1 - red - blue) * color[1] + blue * color[2]
        let (cb, cr) = ((color[2] - luma) / (2 - 2 * blue), (color[0] - luma) / (2 - 2 * red))
        return meaning.range == .full
            ? [255 * luma, 128 + 255 * cb, 128 + 255 * cr] : [16 + 219 * luma, 128 + 224 * cb, 128 + 224 * cr]
    }

    static let meanings = PixelBuffer.Color.Range.allCases.flatMap { range in
        PixelBuffer.Color.Matrix.allCases.map { PixelBuffer.Color(range: range, matrix: $0) }
    }

    @Test(arguments: meanings, meanings)
    func `converted samples of a color equal those of the target's formulas`(
        source: PixelBuffer.Color,
        target: PixelBuffer.Color
    )
        throws
    {
        for format in [PixelFormat.i420, .nv12] {
            for number in 0..<27 {
                // Colors whose samples no range cuts off.
                let color = [0.1, 0.5, 0.9].flatMap { a in
                    [0.1, 0.5, 0.9].flatMap { b in [0.1, 0.5, 0.9].map { [a, b, $0] } }
                }[number]
                let (from, to) = (samples(color, as: source), samples(color, as: target))
                let image = try PixelBuffer.planar(7, 5, format, from.map { UInt8($0.rounded()) })
                let found = try image.converted(from: source, to: target)
                let expected = try PixelBuffer.planar(7, 5, format, to.map { UInt8($0.rounded()) })
                for plane in 0..<found.planeCount {
                    let isNear = zip(found.row(2, ofPlane: plane), expected.row(2, ofPlane: plane)).allSatisfy {
                        abs(Int($0) - Int($1)) <= 2
                    }
                    #expect(isNear, "\(color), plane \(plane)")
                }
            }
        }
    }

    @Test(arguments: meanings, [PixelFormat.i420, .nv12])
    func `gray stays gray, and black and white are those of the target`(source: PixelBuffer.Color, format: PixelFormat)
        throws
    {
        let (black, white): (UInt8, UInt8) = source.range == .full ? (0, 255) : (16, 235)
        for (luma, expected) in [(black, 0), (white, 255)] as [(UInt8, UInt8)] {
            let found = try PixelBuffer.planar(3, 3, format, [luma, 128, 128]).converted(from: source)
            #expect(found.row(2) == [expected, expected, expected])
            #expect(found.row(1, ofPlane: 1).allSatisfy { $0 == 128 })
        }
    }

    @Test func `values out of range are clamped`() throws {
        let found = try PixelBuffer.planar(2, 2, .i420, [255, 255, 0]).converted(
            from: PixelBuffer.Color(range: .limited, matrix: .bt709)
        )
        #expect(found.row(0) == [255, 255])
        #expect(found.row(0, ofPlane: 1) == [255] && found.row(0, ofPlane: 2) == [0])
    }

    @Test(arguments: PixelFormat.allCases) func `an image that needs no conversion is not copied`(format: PixelFormat)
        throws
    {
        let image = try PixelBuffer(width: 4, height: 4, format: format, zeroFilled: true)
        #expect(try image.converted(from: .jpeg).address == image.address)
        let limited = PixelBuffer.Color(range: .limited, matrix: .bt601)
        #expect(try (image.converted(from: limited).address == image.address) == !format.isPlanar)
    }
}

extension PixelBuffer {
    /// An image of one color, given as its samples of luma, Cb and Cr.
    fileprivate static func planar(_ width: Int, _ height: Int, _ format: PixelFormat, _ samples: [UInt8]) throws
        -> PixelBuffer
    {
        var image = try PixelBuffer(width: width, height: height, format: format)
        for plane in 0..<image.planeCount {
            try image.withMutablePlane(plane) { bytes in
                for index in 0..<bytes.count {
                    bytes[index] = plane == 0 ? samples[0] : format == .nv12 ? samples[1 + index % 2] : samples[plane]
                }
            }
        }
        return image
    }
}
