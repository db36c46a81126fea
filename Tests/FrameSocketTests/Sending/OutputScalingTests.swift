import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

@Suite(.tags(.computes)) struct OutputScalingTests {
    static func noise(_ format: PixelFormat, width: Int, height: Int) throws -> PixelBuffer {
        var random = SplitMix(seed: 42)
        var image = try PixelBuffer(width: width, height: height, format: format)
        for plane in 0..<image.planeCount {
            try image.withMutablePlane(plane) { for i in $0.indices { $0[i] = .random(in: 0...255, using: &random) } }
        }
        return image
    }

    /// Detail that a smaller image cannot show becomes gray, and no pattern.
    @Test(arguments: PixelFormat.allCases, [(26, 15), (50, 37), (18, 25)])
    func `detail that is too small is averaged`(_ format: PixelFormat, size: (Int, Int)) throws {
        let image = try Self.noise(format, width: 160, height: 120)
        let result = try image.scaled(toWidth: size.0, height: size.1)
        let shape = result.plane(0)
        var (sum, squares) = (0.0, 0.0)
        for y in 0..<shape.height {
            result.withRow(y) { row in
                for x in row.indices {
                    sum += Double(row[x])
                    squares += Double(row[x]) * Double(row[x])
                }
            }
        }
        let count = Double(shape.height * shape.visibleBytesPerRow)
        let deviation = (squares / count - sum / count * sum / count).squareRoot()
        // Noise has a deviation of 74, which the mean of n samples divides by the root of n.
        let ratio = (160 * 120 / Double(size.0 * size.1)).squareRoot()
        #expect(deviation < 74 / ratio * 1.15)
    }

    @Test(
        arguments: [PixelFormat.bgra, .bgrx, .rgba],
        [SampleUploader.OutputScale.half, .width(100), .letterbox(width: 90, height: 90)]
    )
    func `planes made while scaling equal planes made afterwards`(
        _ format: PixelFormat,
        _ scale: SampleUploader.OutputScale
    ) throws {
        let image = try OutputPixelTests.gradient(format, width: 403, height: 302)
        let plan = scale.plan(forWidth: 403, height: 302)
        #expect(image.format.canBecomePlanes(by: plan))
        let pool = PixelBuffer.Pool()
        let planes = try image.planes(by: plan, pool: pool)
        let pixels = try image.applying(plan, pool: pool)
        #expect((planes.width, planes.height) == (pixels.width, pixels.height))
        // No more than rounding lies between them, at the seams of bands as elsewhere.
        #expect(try planes.peakSignalToNoiseRatio(against: pixels) > 40)
    }

    @Test func `pixels that stay large keep their format`() throws {
        let image = try PixelBuffer(width: 100, height: 100, format: .bgra)
        #expect(
            image.format.canBecomePlanes(by: SampleUploader.OutputScale.width(60).plan(forWidth: 100, height: 100))
                == false
        )
        #expect(image.format.canBecomePlanes(by: SampleUploader.OutputScale.width(50).plan(forWidth: 100, height: 100)))
        let planar = try PixelBuffer(width: 100, height: 100, format: .nv12)
        #expect(
            planar.format.canBecomePlanes(by: SampleUploader.OutputScale.half.plan(forWidth: 100, height: 100)) == false
        )
    }
}
