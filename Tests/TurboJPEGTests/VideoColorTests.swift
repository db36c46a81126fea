import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct VideoColorTests {
    static let meanings = PixelBuffer.Color.Range.allCases.flatMap { range in
        PixelBuffer.Color.Matrix.allCases.map { PixelBuffer.Color(range: range, matrix: $0) }
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
