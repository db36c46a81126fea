import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// Rectangles, however strange, and what becomes of them with the image.
@Suite(.tags(.computes)) struct ImageDamageTests {
    private typealias Rectangle = PixelBuffer.Rectangle

    /// A rectangle of an image of 20x10, and the rows that it stands for.
    struct Clamping: CustomTestStringConvertible {
        let rectangle: PixelBuffer.Rectangle
        var rows: Range<Int> = 0..<0
        var testDescription: String {
            "\(rectangle.width)x\(rectangle.height) at \(rectangle.x), \(rectangle.y)"
        }

        init(_ x: Int, _ y: Int, _ width: Int, _ height: Int, _ rows: Range<Int>) {
            rectangle = .init(x: x, y: y, width: width, height: height)
            self.rows = rows
        }
    }

    /// Shows P353.
    @Test(arguments: [
        Clamping(0, 0, 20, 10, 0..<10), Clamping(3, 4, 5, 2, 4..<6),
        Clamping(-3, -4, 5, 6, 0..<2), Clamping(18, 9, 5, 5, 9..<10),
        Clamping(.min, .min, .max, .max, 0..<0), Clamping(0, 0, .max, .max, 0..<10),
        Clamping(19, 9, .max, .max, 9..<10), Clamping(-1, -1, .max, .max, 0..<10),
        Clamping(.max, .max, .max, .max, 0..<0), Clamping(20, 0, 1, 1, 0..<0),
        Clamping(0, 10, 1, 1, 0..<0), Clamping(5, 5, 0, 3, 0..<0), Clamping(5, 5, 3, 0, 0..<0),
        Clamping(5, 5, -3, 3, 0..<0), Clamping(5, 5, .min, .min, 0..<0),
        Clamping(-10, 2, 10, 1, 0..<0), Clamping(-10, 2, 11, 1, 2..<3),
    ])
    func `of a rectangle, what lies within the image counts`(clamping: Clamping) {
        let damage = ImageDamage([clamping.rectangle], of: BufferSize(width: 20, height: 10))
        #expect(damage.rows.ranges == (clamping.rows.isEmpty ? [] : [clamping.rows]))
        #expect(damage.isEmpty == clamping.rows.isEmpty)
    }

    /// Shows P353.
    @Test func `ten thousand rectangles, or none, take as much memory as one`() {
        let size = BufferSize(width: 1920, height: 1080)
        let many = (0..<10_000).map { index in
            Rectangle(x: index * 7 % 1900, y: index * 13 % 1070, width: 30, height: 30)
        }
        let whole = ImageDamage([Rectangle(x: 0, y: 0, width: 1920, height: 1080)], of: size)
        #expect(ImageDamage(many, of: size) == whole)
        #expect(ImageDamage([], of: size).isEmpty && ImageDamage([], of: size) == ImageDamage(noneOf: size))
    }

    /// Rows of two images of the same size and format that differ.
    private func differences(_ first: PixelBuffer, _ second: PixelBuffer) -> Set<Int> {
        var rows = Set<Int>()
        for plane in 0..<first.planeCount {
            let factor = plane == 0 ? 1 : 2
            for row in 0..<first.plane(plane).height {
                guard first.row(row, ofPlane: plane) != second.row(row, ofPlane: plane) else { continue }
                // All pixels that share a chroma sample.
                rows.formUnion((factor * row..<factor * (row + 1)).clamped(to: 0..<first.height))
            }
        }
        return rows
    }

    /// Shows P350.
    @Test(arguments: UInt64(0)..<60)
    func `what a change reaches when the image is scaled, placed and rotated is damaged`(group: UInt64) throws {
        for seed in 20 * group..<20 * (group + 1) {
            var random = SplitMix(seed: seed)
            let isLong = seed % 50 == 0
            let width = Int.random(in: 1...(isLong ? 3 : 90), using: &random)
            let height = Int.random(in: isLong ? 32_760...40_000 : 1...400, using: &random)
            let format = try #require(PixelFormat.allCases.randomElement(using: &random))
            let before = try PixelBuffer(width: width, height: height, format: format) { plane, x, y in
                UInt8(truncatingIfNeeded: 5 * x + 11 * y + plane)
            }
            var after = before
            let (x, y) = (Int.random(in: 0..<width, using: &random), Int.random(in: 0..<height, using: &random))
            for plane in 0..<after.planeCount {
                let factor = plane == 0 ? 1 : 2
                let first = x / factor * after.plane(plane).bytesPerSample
                try after.withMutableRow(y / factor, ofPlane: plane) { row in
                    for index in first..<first + before.plane(plane).bytesPerSample { row[index] ^= 0xFF }
                }
            }
            let orientation = try #require(FrameOrientation.allCases.randomElement(using: &random))
            var settings = SampleUploader.Configuration(appliesOrientation: Bool.random(using: &random))
            let box = (Int.random(in: 1...100, using: &random), Int.random(in: 1...500, using: &random))
            settings.scale = try #require(
                [
                    .full, .half, .fraction(numerator: 1, denominator: Int.random(in: 3...30, using: &random)),
                    .fraction(numerator: Int.random(in: 1...99, using: &random), denominator: 100),
                    .fit(width: box.0, height: box.1), .letterbox(width: box.0, height: box.1),
                    .fill(width: box.0, height: box.1),
                ].randomElement(using: &random)
            )
            // Copied first for another size, or not.
            var (contents, origin) = ([FrameContent.pixels(before), .pixels(after)], "")
            if Bool.random(using: &random) {
                var copying = settings
                copying.scale = Bool.random(using: &random) ? settings.scale : .fit(width: 80, height: 300)
                let recipe = EncodingRecipe(copying: before, orientation, .init(copying))
                contents = try [before, after].map {
                    .scaled(try recipe.copy($0, of: .jpeg, pool: .init()), by: recipe.output)
                }
                origin = "\(recipe.output) "
            }
            let recipe = try #require(EncodingRecipe(contents[0], orientation, .init(settings)))
            let name = "seed \(seed): \(width)x\(height) \(format.rawValue) \(orientation) \(origin)\(recipe.output)"
            // For an encoder, which may get planes, and for a shared buffer.
            let own = contents[0].pixels?.format ?? format
            let prepared = Bool.random(using: &random) ? recipe.format ?? own : own
            let images = try contents.compactMap(\.pixels).map { pixels in
                let scaled = try recipe.scaled(pixels, as: prepared, pool: .init())
                return recipe.appliesOrientation ? try scaled.upright(from: orientation) : scaled
            }
            let damage = ImageDamage(
                [Rectangle(x: x, y: y, width: 1, height: 1)],
                of: BufferSize(width: width, height: height)
            )
            let damaged = recipe.rows(damagedBy: .rows(damage))
            if recipe.appliesOrientation, orientation.swapsAxes {
                #expect(damaged == nil, "\(name)")
                continue
            }
            let rows = try #require(damaged)
            let found = differences(images[0], images[1])
            #expect(found.allSatisfy { rows.contains($0) }, "\(name) at \(x), \(y): \(found.sorted()), \(rows.ranges)")
        }
    }
}
