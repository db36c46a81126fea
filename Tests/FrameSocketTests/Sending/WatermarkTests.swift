import Foundation
import FrameTransport
import FrameWire
import Locking
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// Where a watermark comes to lie, and what the pixels become.
@Suite(.tags(.computes)) struct WatermarkTests {
    private typealias Watermark = SampleUploader.Watermark

    private func bytes(_ jpeg: FrameBytes) -> [UInt8] {
        jpeg.array()
    }

    private static let orientations = FrameOrientation.allCases.filter { $0 != .unknown }

    private static let scales: [SampleUploader.OutputScale] = [
        .full, .half, .width(40), .fit(width: 32, height: 32), .letterbox(width: 40, height: 50),
        .fill(width: 30, height: 30),
    ]

    /// Positions and scales: within the frame, at an odd place, and beyond each of its edges.
    private static let places = [(0.1, 0.2, 0.4), (0.33, 0.37, 0.21), (-0.1, -0.15, 0.5), (0.7, 0.8, 0.6)]

    // MARK: Pixels

    /// Shows P320, P324.
    @Test(arguments: PixelFormat.allCases, orientations)
    func `every pixel of what is sent is the frame's and the watermark's, as a viewer sees them`(
        format: PixelFormat,
        orientation: FrameOrientation
    ) throws {
        let image = try testImage(61, 47, as: format)
        let original = ReferenceImage(image).planes
        for (index, scale) in Self.scales.enumerated() {
            for appliesOrientation in [false, true] {
                var plain = SampleUploader.Configuration(scale: scale, usesStrips: false)
                plain.appliesOrientation = appliesOrientation
                // What is encoded, without the watermark.
                let recipe = try #require(EncodingRecipe(.pixels(image), orientation, .init(plain)))
                let sent = try recipe.scaled(image, as: recipe.format ?? format, pool: .init()).upright(
                    from: recipe.appliesOrientation ? orientation : .up
                )
                let stated = recipe.appliesOrientation ? .up : orientation
                let size = BufferSize(width: sent.width, height: sent.height)
                let place = Self.places[(index + (appliesOrientation ? 1 : 0)) % Self.places.count]
                let upright = size.oriented(by: stated)
                let reference = try WatermarkReference(on: upright, x: place.0, y: place.1, scale: place.2)
                let expected = WatermarkReference.drawn(
                    try reference.layer(on: size, stated),
                    on: ReferenceImage(sent)
                )
                var marked = plain
                marked.watermark = reference.watermark
                let placement = try #require(
                    EncodingRecipe(.pixels(image), orientation, .init(marked))?.watermark
                )
                var drawn = sent
                try DrawnWatermark(placement, sent.format).draw(on: &drawn)
                let planes = zip(ReferenceImage(drawn).planes, expected)
                for (plane, (found, wanted)) in planes.enumerated() {
                    let worst = zip(found.bytes, wanted).map { abs(Double($0) - $1) }.max() ?? 0
                    // One rounding for colors; one of luma and one of the result; one more of the weight for chroma.
                    let limit = sent.format.bytesPerPixel > 1 ? 0.51 : plane == 0 ? 1.01 : 1.51
                    #expect(worst <= limit, "\(scale), \(appliesOrientation), \(place), plane \(plane)")
                }
                // The encoder draws the same, in strips or not, and leaves the image alone.
                for usesStrips in [false, true] {
                    (marked.usesStrips, plain.usesStrips) = (usesStrips, usesStrips)
                    let jpeg = try FrameEncoder().encode(.pixels(image), orientation, marked).jpeg
                    let bare = SampleUploader.Configuration(usesStrips: usesStrips)
                    let other = try FrameEncoder().encode(.pixels(drawn), .up, bare).jpeg
                    #expect(bytes(jpeg) == bytes(other), "\(scale), strips: \(usesStrips)")
                    #expect(ReferenceImage(image).planes == original)
                }
            }
        }
    }

    /// The example of Tencent's screen-share kit.
    ///
    /// Shows P320.
    @Test func `a tenth of 540x960 begins at pixel 54, 96 and is 54 pixels wide`() throws {
        let watermark = try Watermark(WatermarkReference.pattern(200, 100), x: 0.1, y: 0.1, scale: 0.1)
        let size = BufferSize(width: 540, height: 960)
        let placement = try #require(WatermarkPlacement(watermark, on: size, .up))
        #expect(placement.place == PixelBuffer.Rectangle(x: 54, y: 96, width: 54, height: 27))
        // The same frame in a buffer on its side: the left edge of the viewer is the lower one of the buffer.
        let turned = try #require(WatermarkPlacement(watermark, on: BufferSize(width: 960, height: 540), .left))
        #expect(turned.place == PixelBuffer.Rectangle(x: 96, y: 540 - 54 - 54, width: 27, height: 54))
    }

    // MARK: Pillow

    private static let hasPillow = (try? ChildProcess(ChildProcess.python, ["-c", "import PIL"]).status) == 0

    /// Composes the images that `files` name, of the given sizes, at a place and in a size.
    private static let script = """
        import sys
        from PIL import Image
        behind, mark = sys.argv[1:3]
        w, h, own_w, own_h, x, y, wide, high = map(int, sys.argv[3:])
        frame = Image.frombytes("RGB", (w, h), open(behind, "rb").read()).convert("RGBA")
        image = Image.frombytes("RGBA", (own_w, own_h), open(mark, "rb").read())
        if (wide, high) != image.size:
            image = image.resize((wide, high), Image.Resampling.BILINEAR)
        layer = Image.new("RGBA", (w, h), (0, 0, 0, 0))
        layer.paste(image, (x, y))
        sys.stdout.buffer.write(Image.alpha_composite(frame, layer).convert("RGB").tobytes())
        """

    /// A watermark of this size that is drawn in another width, and how far the results may be apart.
    ///
    /// Without scaling, by one rounding. Pillow scales colors that are multiplied with their alpha, rounded to 8 bits
    /// twice, so that in nearly transparent pixels they are off by more; little of that shows.
    private static let pillowCases: [(width: Int, height: Int, drawn: Int, x: Int, y: Int, limit: Int)] = [
        (40, 30, 40, 10, 20, 1), (40, 30, 40, -13, -7, 1), (40, 30, 40, 81, 66, 1), (100, 80, 100, 0, 0, 1),
        (1, 1, 1, 50, 40, 1), (1, 40, 1, 99, 50, 1), (64, 48, 32, 7, 3, 2), (200, 333, 33, 60, 11, 2),
        (12, 9, 60, 20, 20, 2), (1, 1, 25, 3, 5, 2), (7, 100, 50, 10, -30, 2), (301, 10, 90, -20, 70, 2),
    ]

    /// Shows P320.
    @Test(.enabled(if: hasPillow), arguments: pillowCases)
    func `composing equals Pillow's within a level`(
        _ test: (width: Int, height: Int, drawn: Int, x: Int, y: Int, limit: Int)
    ) throws {
        let size = BufferSize(width: 100, height: 80)
        let image = try testImage(size.width, size.height, as: .rgb)
        let mark = try WatermarkReference.pattern(test.width, test.height)
        let high = max(1, (2 * test.drawn * test.height + test.width) / (2 * test.width))
        let directory = try TemporaryDirectory()
        let files = (directory.path + "/frame", directory.path + "/mark")
        try Data(ReferenceImage(image).planes[0].bytes).write(to: URL(fileURLWithPath: files.0))
        try Data(ReferenceImage(mark).planes[0].bytes).write(to: URL(fileURLWithPath: files.1))
        let numbers = [size.width, size.height, test.width, test.height, test.x, test.y, test.drawn, high]
        let arguments = ["-c", Self.script, files.0, files.1] + numbers.map(String.init)
        let pillow = try ChildProcess(ChildProcess.python, arguments)
        try #require(pillow.status == 0)
        let watermark = try Watermark(
            mark,
            x: Double(test.x) / Double(size.width),
            y: Double(test.y) / Double(size.height),
            scale: Double(test.drawn) / Double(size.width)
        )
        let placement = try #require(WatermarkPlacement(watermark, on: size, .up))
        for format in PixelFormat.allCases where format.bytesPerPixel > 1 {
            var drawn = try image.converted(as: format)
            try DrawnWatermark(placement, format).draw(on: &drawn)
            let found = ReferenceImage(drawn).colors.flatMap(\.self)
            #expect(found.count == pillow.output.count)
            let worst = zip(found, pillow.output).map { abs(Int($0) - Int($1)) }.max() ?? 0
            #expect(worst <= test.limit, "\(format)")
        }
    }

    // MARK: Unusual watermarks

    /// Shows P322.
    @Test(
        arguments: [
            (.nan, 0), (.infinity, 1), (-.infinity, -1), (-3, -1), (2, 1), (0.25, 0.25), (-0.5, -0.5),
            (.signalingNaN, 0),
            (.leastNonzeroMagnitude, .leastNonzeroMagnitude), (.greatestFiniteMagnitude, 1),
        ] as [(Double, Double)]
    )
    func `a position or scale outside its range becomes the nearest one inside`(value: Double, result: Double) throws {
        let image = try WatermarkReference.pattern(4, 3)
        var watermark = try Watermark(image, x: value, y: value, scale: value)
        let other = try Watermark(image, x: result, y: result, scale: result)
        #expect(watermark.x == result && watermark.y == result && watermark.scale == max(result, 0))
        #expect(watermark == other && watermark.hashValue == other.hashValue)
        (watermark.x, watermark.y, watermark.scale) = (value, value, value)
        #expect(watermark == other)
        // Whatever it is, frames are encoded.
        var configuration = SampleUploader.Configuration()
        configuration.watermark = watermark
        _ = try FrameEncoder().encode(.pixels(try testImage(33, 21, as: .i420)), .left, configuration)
    }

    /// Shows P322.
    @Test(
        arguments: [(1, 0.5, 0.5), (0.5, 1, 0.5), (-0.5, 0, 0.5), (0, -1, 0.5), (0.2, 0.2, 0)]
            as [(Double, Double, Double)]
    )
    func `a watermark outside the frame, or without a size, is not drawn and costs nothing`(
        x: Double,
        y: Double,
        scale: Double
    ) throws {
        let watermark = try Watermark(WatermarkReference.pattern(40, 30), x: x, y: y, scale: scale)
        #expect(WatermarkPlacement(watermark, on: BufferSize(width: 100, height: 80), .right) == nil)
        var configuration = SampleUploader.Configuration()
        let content = FrameContent.pixels(try testImage(100, 80, as: .bgra))
        let (plain, encoder) = (configuration, FrameEncoder())
        configuration.watermark = watermark
        let (one, other) = (try encoder.encode(content, .up, configuration), try encoder.encode(content, .up, plain))
        #expect(bytes(one.jpeg) == bytes(other.jpeg))
    }

    /// Shows P322.
    @Test(arguments: [(1, 65_500), (65_500, 1), (1, 1), (3, 2_000), (2_000, 3)], [0.001, 0.1, 1])
    func `of a watermark of any shape only the visible part takes memory`(
        image: (width: Int, height: Int),
        scale: Double
    ) throws {
        let watermark = try Watermark(
            WatermarkReference.pattern(image.width, image.height),
            x: 0.1,
            y: -0.2,
            scale: scale
        )
        let size = BufferSize(width: 54, height: 96)
        guard let placement = WatermarkPlacement(watermark, on: size, .up) else {
            // A single row of pixels above the frame.
            #expect(image.height <= image.width)
            return
        }
        let place = placement.place
        #expect(place.x >= 0 && place.x + place.width <= 54 && place.y >= 0 && place.y + place.height <= 96)
        for format in PixelFormat.allCases {
            var frame = try testImage(54, 96, as: format)
            try DrawnWatermark(placement, format).draw(on: &frame)
        }
    }

    @Test func `a uniform watermark stays uniform in any size, and what is transparent does not show`() throws {
        for (width, height) in [(7, 5), (64, 64), (3, 90)] {
            // Half of it is red, half is transparent green.
            let image = try PixelBuffer(width: width, height: height, format: .rgba) { _, x, _ in
                x / 4 < width / 2 ? [255, 0, 0, 255][x % 4] : [0, 255, 0, 0][x % 4]
            }
            let watermark = try Watermark(image, x: 0, y: 0, scale: 1)
            let size = BufferSize(width: 40, height: 20)
            let pixels = try #require(WatermarkPlacement(watermark, on: size, .up)).pixels()
            #expect(pixels.count == 40 * 20)
            for y in 0..<20 {
                let row = pixels[40 * y..<40 * (y + 1)]
                #expect(row.first == SIMD4(255, 0, 0, 255) && row.last?.w == 0)
                for pixel in row where pixel.w > 0 { #expect(pixel.x == 255 && pixel.y == 0) }
            }
        }
    }

    /// Shows P322.
    @Test(arguments: PixelFormat.allCases)
    func `watermarks of packed formats are read, with the alpha that they have`(format: PixelFormat) throws {
        let image = try testImage(16, 8, as: format)
        guard !format.isPlanar else {
            let error = #expect(throws: TurboJPEGError.self) { try Watermark(image) }
            #expect(error?.code == .unsupported && error?.message.contains(format.rawValue) == true)
            return
        }
        // In its own size, over all of the frame.
        let watermark = try Watermark(image, x: 0, y: 0, scale: 1)
        let placement = try #require(WatermarkPlacement(watermark, on: BufferSize(width: 16, height: 8), .up))
        let (own, source) = (placement.pixels(), ReferenceImage(image))
        let alpha: Int? = [.bgra: 3, .rgba: 3, .argb: 0, .abgr: 0][format]
        for index in 0..<16 * 8 {
            let expected = alpha.map { source.planes[0].bytes[4 * index + $0] } ?? 255
            let pixel = own[index]
            #expect(pixel.w == expected)
            // What is transparent has no color.
            if expected > 0 { #expect([pixel.x, pixel.y, pixel.z] == source.colors[index]) }
        }
    }

    @Test func `watermarks with the same pixels at the same place are equal`() throws {
        let one = try Watermark(WatermarkReference.pattern(9, 7))
        #expect(one == (try Watermark(WatermarkReference.pattern(9, 7))))
        #expect(one != (try Watermark(WatermarkReference.pattern(9, 8))))
        #expect(one != (try Watermark(WatermarkReference.pattern(9, 7), x: 0.2)))
        #expect(one != (try Watermark(WatermarkReference.pattern(9, 7), y: 0.2)))
        #expect(one != (try Watermark(WatermarkReference.pattern(9, 7), scale: 0.2)))
    }

    // MARK: Cost

    /// Shows P323.
    @Test(arguments: [PixelFormat.bgra, .nv12], [ChromaSubsampling.yuv420, .yuv444])
    func `only the strips under the watermark are encoded when it appears, moves or vanishes`(
        format: PixelFormat,
        subsampling: ChromaSubsampling
    ) throws {
        let size = BufferSize(width: 64, height: 320)
        let image = try testImage(size.width, size.height, as: format)
        let strips = StripEncoder()
        let encoder = JPEGEncoder(subsampling: subsampling)
        let height = format.isPlanar ? 16 : subsampling.mcuHeight
        func drawn(_ y: Double, on image: PixelBuffer) throws -> (image: PixelBuffer, rows: Range<Int>) {
            let watermark = try Watermark(WatermarkReference.pattern(32, 24), x: 0.3, y: y, scale: 0.5)
            let placement = try #require(WatermarkPlacement(watermark, on: size, .up))
            var copy = image
            try DrawnWatermark(placement, format).draw(on: &copy)
            let (top, bottom) = (placement.place.y, placement.place.y + placement.place.height)
            return (copy, top / height * height..<(bottom + height - 1) / height * height)
        }
        let (first, second) = (try drawn(0.1, on: image), try drawn(0.6, on: image))
        let all = try strips.encode(image, with: encoder).changes
        #expect(all.codedCount == size.height / height)
        #expect(try strips.encode(first.image, with: encoder).changes.rows == [first.rows])
        #expect(try strips.encode(first.image, with: encoder).changes.codedCount == 0)
        #expect(try strips.encode(second.image, with: encoder).changes.rows == [first.rows, second.rows])
        #expect(try strips.encode(image, with: encoder).changes.rows == [second.rows])
        // A change elsewhere costs what it costs without a watermark.
        _ = try strips.encode(first.image, with: encoder)
        var changed = image
        try changed.withMutableRow(size.height - 1) { $0[0] ^= 255 }
        let changes = try strips.encode(drawn(0.1, on: changed).image, with: encoder).changes
        #expect(changes.rows == [size.height - height..<size.height])
    }

    /// Shows P323.
    @Test func `a steady stream composes the watermark once, and a frame without one holds none`() throws {
        let watermark = try Watermark(WatermarkReference.pattern(64, 48), scale: 0.5)
        var configuration = SampleUploader.Configuration()
        let content = FrameContent.pixels(try testImage(64, 48, as: .bgra))
        let encoder = FrameEncoder()
        func drawn(_ watermark: Watermark?) throws -> DrawnWatermark? {
            configuration.watermark = watermark
            _ = try encoder.encode(content, .up, configuration)
            return encoder.workspace?.watermark.withLock { $0 }
        }
        let first = try #require(try drawn(watermark))
        #expect(try drawn(watermark) === first)
        var moved = watermark
        moved.x = 0.4
        let second = try #require(try drawn(moved))
        #expect(second !== first)
        #expect(try drawn(nil) == nil)
    }

    /// Shows P324.
    @Test(
        arguments: [
            (.full, .lent, 1), (.half, .lent, 0), (.width(30), .lent, 0), (.full, .turned, 0), (.full, .jpeg, 0),
        ] as [(SampleUploader.OutputScale, Source, Int)]
    )
    func `an image is copied only if it is neither scaled, rotated nor decoded`(
        scale: SampleUploader.OutputScale,
        source: Source,
        copies: Int
    ) throws {
        var configuration = SampleUploader.Configuration(scale: scale)
        configuration.watermark = try Watermark(WatermarkReference.pattern(16, 16))
        configuration.appliesOrientation = source == .turned
        let image = try testImage(64, 48, as: .bgra)
        let jpeg = FrameBytes(try JPEGEncoder().encode(image))
        let content: FrameContent =
            source == .jpeg ? .resizableJPEG(jpeg, BufferSize(width: 64, height: 48)) : .pixels(image)
        let encoder = FrameEncoder()
        for _ in 0..<2 { _ = try encoder.encode(content, .left, configuration) }
        #expect(encoder.workspace?.marked.allocatedCount == copies)
    }

    /// What is encoded.
    enum Source {
        case lent, turned, jpeg
    }
}
