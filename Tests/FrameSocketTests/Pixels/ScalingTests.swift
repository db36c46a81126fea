import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

/// Sizes that are no matter of samples; `PixelPropertyTests` and `MeanScalingTests` have those.
@Suite(.tags(.computes)) struct ScalingTests {
    /// libyuv's filter for packed pixels stops the process for some of these, if it is asked.
    @Test(arguments: PixelFormat.allCases) func `every small size fits into every other`(format: PixelFormat) throws {
        for (width, height) in [(1, 1), (4, 6), (8, 12), (9, 5), (16, 18), (17, 4)] {
            let image = try PixelBuffer(width: width, height: height, format: format) { plane, _, _ in
                UInt8(50 + 60 * plane)
            }
            for newWidth in 1...10 {
                for newHeight in 1...10 {
                    let scaled = try image.scaled(toWidth: newWidth, height: newHeight)
                    let isAsExpected = (0..<scaled.planeCount).allSatisfy { plane in
                        scaled.row(0, ofPlane: plane).allSatisfy { abs(Int($0) - (50 + 60 * plane)) <= 2 }
                    }
                    #expect(isAsExpected, "\(width)x\(height) to \(newWidth)x\(newHeight)")
                }
            }
        }
    }

    @Test func `an image of the target size shares its memory with the result`() throws {
        let image = try testImage(20, 30, as: .bgra)
        #expect(try image.scaled(toWidth: 20, height: 30).address == image.address)
    }

    @Test(arguments: [(0, 1), (1, 0), (-1, 5), (65_501, 1), (1, 65_501), (.max, .max)])
    func `impossible sizes are errors`(width: Int, height: Int) throws {
        let image = try testImage(4, 4)
        #expect(
            #expect(throws: TurboJPEGError.self) { try image.scaled(toWidth: width, height: height) }?.code
                == .invalidSize
        )
    }

    /// libyuv counts in 16 bits and a fraction: beyond that it scales nothing, or reads from elsewhere.
    @Test(arguments: [PixelFormat.bgra, .gray, .nv12], [(40_000, 2), (2, 40_000), (65_500, 1)])
    func `a side over 32,767 is scaled like any other`(format: PixelFormat, size: (Int, Int)) throws {
        let (width, height) = size
        let length = max(width, height)
        let shapes = try PixelBuffer(width: width, height: height, format: format).planeShapes
        let image = try PixelBuffer(width: width, height: height, format: format) { plane, x, y in
            let shape = shapes[plane]
            return UInt8(20 + 10 * plane + 100 * x / shape.visibleBytesPerRow + 100 * y / shape.height)
        }
        for target in [1, 1_000, 16_375, length * 2 / 5, length - 1, 65_500] {
            let across = target == 1 ? 1 : min(width, height)
            let scaled =
                try width > height
                ? image.scaled(toWidth: target, height: across) : image.scaled(toWidth: across, height: target)
            // libyuv interpolates with 7 bits: two steps too dark at most, and the gradient's own rounding.
            #expect(scaled.worstError(ofMeansOf: image) <= 4, "to \(scaled.width)x\(scaled.height)")
        }
    }
}
