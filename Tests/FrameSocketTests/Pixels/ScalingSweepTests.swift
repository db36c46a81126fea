import TestDescriptions
import Testing

@testable import FrameSocket

/// libyuv ends the process for some pairs of sizes; none of them may be reached.
@Suite(.tags(.computes)) struct ScalingSweepTests {
    @Test(arguments: [PixelFormat.bgra, .rgb, .nv12, .gray])
    func `every small size scales to every other small size`(format: PixelFormat) throws {
        let sides = [1, 2, 3, 4, 5, 6, 8, 12, 16, 24]
        for width in sides {
            for height in sides {
                let image = try PixelBuffer(width: width, height: height, format: format, zeroFilled: true)
                for newWidth in sides {
                    for newHeight in sides {
                        let scaled = try image.scaled(toWidth: newWidth, height: newHeight)
                        guard scaled.width == newWidth, scaled.height == newHeight else {
                            Issue.record("\(width)x\(height) to \(newWidth)x\(newHeight)")
                            return
                        }
                    }
                }
            }
        }
    }
}
