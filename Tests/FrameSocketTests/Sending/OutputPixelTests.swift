import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

@Suite(.tags(.computes)) struct OutputPixelTests {
    /// An image of four flat quarters: red, green, blue, white.
    static func quarters(_ format: PixelFormat, width: Int, height: Int) throws -> PixelBuffer {
        var image = try PixelBuffer(width: width, height: height, format: .rgb)
        let colors: [[UInt8]] = [[250, 0, 0], [0, 250, 0], [0, 0, 250], [250, 250, 250]]
        for y in 0..<height {
            try image.withMutableRow(y) { row in
                for x in 0..<width {
                    let color = colors[(y < height / 2 ? 0 : 2) + (x < width / 2 ? 0 : 1)]
                    for channel in 0..<3 { row[3 * x + channel] = color[channel] }
                }
            }
        }
        return try image.converted(as: format)
    }

    /// An image that changes slowly, and looks different however it is turned.
    static func gradient(_ format: PixelFormat, width: Int, height: Int) throws -> PixelBuffer {
        var image = try PixelBuffer(width: width, height: height, format: .rgb)
        for y in 0..<height {
            try image.withMutableRow(y) { row in
                for x in 0..<width {
                    row[3 * x] = UInt8(255 * x / width)
                    row[3 * x + 1] = UInt8(255 * y / height)
                    row[3 * x + 2] = UInt8(100 * x / width + 50 * y / height)
                }
            }
        }
        return try image.converted(as: format)
    }

    /// Red, green and blue at a place, whatever the format.
    static func color(_ image: PixelBuffer, _ x: Int, _ y: Int) throws -> [UInt8] {
        Array(try image.converted(as: .rgb).row(y)[3 * x..<3 * x + 3])
    }

    static func isNear(_ first: [UInt8], _ second: [UInt8]) -> Bool {
        zip(first, second).allSatisfy { abs(Int($0) - Int($1)) <= 6 }
    }

    static let colored = PixelFormat.allCases.filter { $0 != .gray }

    @Test(arguments: colored)
    func `the bars of a letterbox are black`(_ format: PixelFormat) throws {
        let image = try Self.quarters(format, width: 160, height: 80)
        let plan = SampleUploader.OutputScale.letterbox(width: 80, height: 80).plan(forWidth: 160, height: 80)
        // Memory that was used before shows what is not written.
        let pool = PixelBuffer.Pool()
        for _ in 0..<1 {
            var dirty = try pool.buffer(width: 80, height: 80, format: format)
            for plane in 0..<dirty.planeCount {
                try dirty.withMutablePlane(plane) { for index in $0.indices { $0[index] = 99 } }
            }
        }
        let result = try image.applying(plan, pool: pool)
        #expect((result.width, result.height) == (80, 80))
        for y in [0, 19, 60, 79] {
            for x in [0, 40, 79] { #expect(Self.isNear(try Self.color(result, x, y), [0, 0, 0]), "\(x),\(y)") }
        }
        #expect(Self.isNear(try Self.color(result, 2, 22), [250, 0, 0]))
        #expect(Self.isNear(try Self.color(result, 77, 57), [250, 250, 250]))
        if format == .bgra {
            #expect(result.withRow(0) { $0[3] } == 255)
        }
    }

    @Test(arguments: [PixelFormat.bgra, .i420, .nv12], FrameOrientation.allCases)
    func `the bars beside an image that is rotated before encoding share no chroma with it`(
        _ format: PixelFormat,
        _ orientation: FrameOrientation
    ) throws {
        let scale = SampleUploader.OutputScale.letterbox(width: 101, height: 75)
        // Upright: one with bars on all sides, and one with bars on two that becomes planes while it is scaled.
        for size in [BufferSize(width: 61, height: 47), BufferSize(width: 240, height: 60)] {
            let buffer = size.oriented(by: orientation)
            let color = try solidImage(buffer.width, buffer.height, red: 255, green: 0, blue: 0)
            let red = try color.converted(as: format)
            for subsampling in ChromaSubsampling.allCases where subsampling != .gray {
                let configuration = SampleUploader.Configuration(
                    quality: 100,
                    scale: scale,
                    subsampling: subsampling,
                    appliesOrientation: true,
                    usesStrips: false
                )
                let sent = try FrameEncoder().encode(.pixels(red), orientation, configuration)
                #expect(sent.bufferSize == BufferSize(width: 101, height: 75))
                // Interpolated chroma would reach into the bars.
                let pixels = try ReferenceTool.djpeg.run(["-pnm", "-nosmooth"], on: sent.jpeg.array())
                let image = try PixelBuffer(ppm: pixels.span, as: .rgb)
                // A submitted image that is upright already has the same place.
                let place = scale.plan(
                    forWidth: size.width,
                    height: size.height,
                    subsampling: format.isPlanar ? .yuv420 : subsampling
                ).place
                try Self.checkEdges(of: place, in: image, "\(size.width)x\(size.height) \(subsampling)")
            }
        }
    }

    /// Checks that an image is red up to the sides of a rectangle, and black beyond them.
    private static func checkEdges(of place: PixelBuffer.Rectangle, in image: PixelBuffer, _ name: String) throws {
        let (columns, rows) = (place.x..<place.x + place.width, place.y..<place.y + place.height)
        let (centerX, centerY) = (place.x + place.width / 2, place.y + place.height / 2)
        func edges(_ range: Range<Int>, _ side: Int) -> [Int] {
            [0, range.lowerBound - 1, range.lowerBound, range.upperBound - 1, range.upperBound, side - 1]
                .filter { 0..<side ~= $0 }
        }
        let points =
            edges(columns, image.width).map { ($0, centerY) } + edges(rows, image.height).map { (centerX, $0) }
        for (x, y) in points {
            let expected: [UInt8] = columns.contains(x) && rows.contains(y) ? [255, 0, 0] : [0, 0, 0]
            let found = try color(image, x, y)
            #expect(isNear(found, expected), "\(name): \(found) at \(x),\(y)")
        }
    }

    @Test(arguments: [(true, 200, 100), (false, 202, 101)])
    func `both sides are whole chroma samples of the JPEG, rotated or not`(
        appliesOrientation: Bool,
        width: Int,
        height: Int
    ) throws {
        let configuration = SampleUploader.Configuration(
            scale: .width(101),
            subsampling: .yuv422,
            appliesOrientation: appliesOrientation,
            usesStrips: false
        )
        let image = try PixelBuffer(width: 400, height: 200, format: .bgra, zeroFilled: true)
        let plan = try #require(EncodingRecipe(.pixels(image), .left, .init(configuration)))
        #expect(plan.output.canvas == BufferSize(width: width, height: height))
        let sent = try FrameEncoder().encode(.pixels(image), .left, plan).message.bufferSize
        #expect(sent.width % 2 == 0 && sent.width == (appliesOrientation ? height : width))
    }

    @Test(arguments: [PixelFormat.bgra, .rgb, .i420, .nv12, .gray])
    func `a cut without scaling is exact`(_ format: PixelFormat) throws {
        var random = SplitMix(seed: 9)
        var image = try PixelBuffer(width: 24, height: 10, format: format)
        for plane in 0..<image.planeCount {
            try image.withMutablePlane(plane) { for i in $0.indices { $0[i] = .random(in: 0...255, using: &random) } }
        }
        let plan = SampleUploader.OutputScale.fill(width: 10, height: 10, rotation: .never).plan(
            forWidth: 24,
            height: 10
        )
        #expect(plan.part == PixelBuffer.Rectangle(x: 6, y: 0, width: 10, height: 10))
        let result = try image.applying(plan)
        for plane in 0..<image.planeCount {
            let shape = result.plane(plane)
            let left = (plane == 0 ? 6 : 3) * shape.bytesPerSample
            for row in 0..<shape.height {
                let expected = image.withRow(row, ofPlane: plane) { row in
                    (0..<shape.visibleBytesPerRow).map { row[left + $0] }
                }
                let found = result.withRow(row, ofPlane: plane) { row in row.indices.map { row[$0] } }
                #expect(found == expected)
            }
        }
    }

    @Test func `a plan for another size is refused`() throws {
        let image = try PixelBuffer(width: 10, height: 10, format: .bgra)
        let plan = SampleUploader.OutputScale.half.plan(forWidth: 10, height: 11)
        #expect(throws: TurboJPEGError.self) { try image.applying(plan) }
        #expect(throws: TurboJPEGError.self) { try image.planes(by: plan, pool: PixelBuffer.Pool()) }
    }
}
