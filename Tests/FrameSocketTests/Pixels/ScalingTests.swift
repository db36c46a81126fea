import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

/// Images made smaller and larger, against plain sums.
@Suite(.tags(.computes)) struct ScalingTests {
    /// One side below half, the other not; and both, by more than a hundred pixels into one.
    @Test(
        arguments: PixelFormat.allCases,
        [
            ((400, 100), (100, 100)), ((100, 400), (100, 100)), ((100, 100), (50, 20)),
            ((30, 2), (9, 2)), ((4000, 2), (400, 2)), ((24, 42), (12, 12)), ((70, 50), (200, 20)), ((640, 18), (10, 8)),
            ((2, 400), (1, 100)), ((2, 4), (2, 2)),
        ] as [(from: (Int, Int), to: (Int, Int))]
    )
    func `a side that shrinks below half leaves out no pixel`(
        format: PixelFormat,
        sizes: (from: (Int, Int), to: (Int, Int))
    ) throws {
        let (from, to) = sizes
        // Stripes across the side that shrinks more, without a regular distance.
        let areColumns = to.0 * from.1 < to.1 * from.0
        var image = try PixelBuffer(width: from.0, height: from.1, format: format, zeroFilled: true)
        for plane in 0..<image.planeCount {
            let shape = image.plane(plane)
            for y in 0..<shape.height {
                try image.withMutableRow(y, ofPlane: plane) { row in
                    for index in 0..<row.count {
                        let place = areColumns ? index / shape.bytesPerSample : y
                        row[index] = (place * place + place / 7) % 5 < 2 ? 230 : 20
                    }
                }
            }
        }
        // libyuv interpolates with 7 bits: the side that does not shrink makes samples two steps too dark at most.
        #expect(try image.scaled(toWidth: to.0, height: to.1).worstError(ofMeansOf: image) <= 3)
    }

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

    @Test(arguments: [PixelFormat.bgra, .bgrx, .rgba], [(36_000, 6), (65_500, 4)])
    func `a wide image is sent at every fraction of its size`(format: PixelFormat, size: (Int, Int)) throws {
        let (width, height) = size
        let image = try PixelBuffer(width: width, height: height, format: format) { _, x, _ in
            UInt8(50 + x * 25 / width)
        }
        for (numerator, denominator) in [(2, 5), (1, 3), (1, 2), (2, 3), (3, 4), (1, 1)] {
            let scale = SampleUploader.OutputScale.fraction(numerator: numerator, denominator: denominator)
            let plan = scale.plan(forWidth: width, height: height)
            let result =
                image.format.canBecomePlanes(by: plan)
                ? try image.planes(by: plan, pool: PixelBuffer.Pool()) : try image.applying(plan)
            let row = result.withRow(0) { row in (0..<row.count).map { row[$0] } }
            let step = result.plane(0).bytesPerSample
            let worst = (0..<result.width).map { abs(Int(row[$0 * step]) - 50 - $0 * 100 / result.width) }.max() ?? 0
            #expect(worst <= 2, "\(numerator)/\(denominator)")
        }
    }
}
