import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

/// Images at half their size and smaller: every sample is the rounded mean of what it covers.
@Suite(.tags(.computes)) struct MeanScalingTests {
    typealias Sizes = (from: (Int, Int), to: (Int, Int))

    /// Sums of doubles differ from halves by a little.
    static let halfStep = 0.500_001

    /// Those of a third, a quarter and less, of odd sides, and of a single row or column.
    static let sizes: [Sizes] = [
        ((400, 300), (40, 30)), ((200, 150), (40, 30)), ((160, 90), (80, 45)), ((192, 108), (64, 36)),
        ((160, 96), (40, 24)), ((192, 108), (85, 48)), ((137, 77), (64, 36)), ((68, 69), (29, 31)), ((99, 97), (7, 48)),
        ((300, 263), (12, 11)), ((33, 15), (1, 1)), ((1, 90), (1, 30)), ((90, 1), (40, 1)), ((1, 263), (1, 100)),
        ((2, 300), (1, 7)), ((5, 3), (2, 1)), ((68, 68), (29, 29)), ((69, 40), (31, 17)), ((11, 50), (5, 24)),
        ((80, 100), (34, 33)), ((75, 9), (24, 2)), ((281, 10), (128, 3)), ((10, 256), (3, 114)),
        ((300, 170), (128, 72)),
    ]

    @Test(arguments: PixelFormat.allCases)
    func `an image of one value keeps it exactly`(format: PixelFormat) throws {
        for (from, to) in Self.sizes {
            var image = try PixelBuffer(width: from.0, height: from.1, format: format)
            for value: UInt8 in [0, 1, 59, 127, 128, 254, 255] {
                for plane in 0..<image.planeCount {
                    try image.withMutablePlane(plane) { for index in $0.indices { $0[index] = value } }
                }
                let scaled = try image.scaled(toWidth: to.0, height: to.1)
                for plane in 0..<scaled.planeCount {
                    for y in 0..<scaled.plane(plane).height {
                        let isKept = scaled.row(y, ofPlane: plane).allSatisfy { $0 == value }
                        #expect(isKept, "\(value), \(from) to \(to), row \(y) of plane \(plane)")
                    }
                }
            }
        }
    }

    /// One side at half or less, the other above, where libyuv interpolates.
    @Test(
        arguments: [PixelFormat.gray, .rgb, .bgra],
        [((90, 60), (30, 45)), ((60, 90), (45, 31)), ((61, 40), (30, 40))] as [Sizes]
    )
    func `one value is kept by one step if only one side shrinks to half`(format: PixelFormat, sizes: Sizes) throws {
        let (from, to) = sizes
        for value: UInt8 in [0, 1, 59, 127, 128, 254, 255] {
            let image = try PixelBuffer(width: from.0, height: from.1, format: format) { _, _, _ in value }
            let scaled = try image.scaled(toWidth: to.0, height: to.1)
            #expect(scaled.worstError(ofMeansOf: image) <= 1, "\(value)")
        }
    }

    @Test(arguments: PixelFormat.allCases)
    func `noise becomes its exact mean, rounded`(format: PixelFormat) throws {
        for (from, to) in Self.sizes {
            let image = try Self.noise(format, width: from.0, height: from.1)
            let scaled = try image.scaled(toWidth: to.0, height: to.1)
            let isPacked = image.plane(0).bytesPerSample > 2
            // libyuv rounds half of packed pixels twice.
            let isTwice = isPacked && from.0 == 2 * to.0 && from.1 == 2 * to.1
            let planes = zip(ReferenceImage(scaled).planes, ReferenceImage(image).planes)
            // Chroma of odd sides may stay above half.
            let worst = planes.filter { 2 * $0.width <= $1.width && 2 * $0.height <= $1.height }
                .map { $0.worstError(ofMeansOf: $1) }
            #expect((worst.max() ?? 0) <= (isTwice ? 1 : Self.halfStep), "\(from) to \(to)")
        }
    }

    /// Every row on its own, and parts of rows, as bands and tiles have them.
    @Test(arguments: 1...4, Self.sizes) func `a part of the means is the same as in the whole`(
        channels: Int,
        sizes: Sizes
    ) throws {
        let (from, to) = sizes
        let format: PixelFormat = [.gray, .nv12, .rgb, .bgra][channels - 1]
        let plane = channels == 2 ? 1 : 0
        let image = try Self.noise(format, width: from.0, height: from.1)
        // Padding is compared as well.
        var whole = try PixelBuffer(width: to.0, height: to.1, format: format, zeroFilled: true)
        var parts = try PixelBuffer(width: to.0, height: to.1, format: format, zeroFilled: true)
        func write(_ target: inout PixelBuffer, inParts: Bool) throws {
            try unsafe target.withUnsafeMutablePlanes { targets throws(TurboJPEGError) in
                unsafe image.withUnsafePlanes { sources in
                    let (source, area) = unsafe (UnsafeArea(sources[plane]), UnsafeArea(targets[plane]))
                    let (width, height) = unsafe (Int(area.width), Int(area.height))
                    let mean = unsafe AreaMean(
                        width: width,
                        height: height,
                        of: (Int(source.width), Int(source.height))
                    )
                    guard inParts else { return unsafe mean.write(0..<width, 0..<height, of: source, into: area) }
                    for y in 0..<height {
                        let rows = mean.source(of: y..<y + 1)
                        let part = unsafe source.rows(rows)
                        for columns in [0..<width / 3, width / 3..<width] where !columns.isEmpty {
                            unsafe mean.write(
                                columns,
                                y..<y + 1,
                                of: part,
                                from: rows.lowerBound,
                                into: area.part(columns, y..<y + 1)
                            )
                        }
                    }
                }
            }
        }
        try write(&whole, inParts: false)
        try write(&parts, inParts: true)
        #expect(parts.bytes(ofPlane: plane) == whole.bytes(ofPlane: plane))
    }

    /// As many bands as there are: planes made while scaling are the means of the planes of the whole image.
    @Test(arguments: [(403, 302), (404, 304), (257, 541), (300, 451)], [2, 3, 4, 7, 40])
    func `planes made in bands are means of the whole`(size: (Int, Int), divisor: Int) throws {
        for format in [PixelFormat.bgra, .rgba] { try checkBands(format, size, divisor) }
    }

    private func checkBands(_ format: PixelFormat, _ size: (Int, Int), _ divisor: Int) throws {
        let (width, height) = (size.0 / divisor, size.1 / divisor)
        let image = try Self.noise(format, width: size.0, height: size.1)
        let plan = SampleUploader.OutputScale.fit(width: width, height: height).plan(forWidth: size.0, height: size.1)
        try #require(format.canBecomePlanes(by: plan))
        let pool = PixelBuffer.Pool()
        let part = try image.cropped(toWidth: plan.part.width, height: plan.part.height)
        let found = try image.planes(by: plan, pool: pool)
        #expect(try found.worstError(ofMeansOf: part.converted(to: .i420, pool: pool)) <= Self.halfStep)
    }

    @Test(
        arguments: [
            ((640, 360), (213, 120)), ((640, 360), (160, 90)), ((455, 256), (200, 112)), ((301, 171), (150, 85)),
        ] as [Sizes],
        [40, 62, 80]
    )
    func `a flat screen arrives neutral, as at full size`(sizes: Sizes, quality: Int) throws {
        let (from, to) = sizes
        for value: UInt8 in [0, 1, 16, 59, 62, 127, 128, 200, 254, 255] {
            let image = try PixelBuffer(width: from.0, height: from.1, format: .bgra) { _, _, _ in value }
            func arrived(_ scale: SampleUploader.OutputScale) throws -> [UInt8] {
                let configuration = SampleUploader.Configuration(quality: quality, scale: scale, usesStrips: false)
                let sent = try FrameEncoder().encode(.pixels(image), .up, configuration)
                return try ReferenceImage(JPEGDecoder().decode(bytes: sent.jpeg.array(), as: .rgb)).planes[0].bytes
            }
            let full = try arrived(.full)[0]
            #expect(abs(Int(full) - Int(value)) <= 4)
            #expect(try arrived(.fit(width: to.0, height: to.1)).allSatisfy { $0 == full }, "\(value)")
        }
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

    static func noise(_ format: PixelFormat, width: Int, height: Int) throws -> PixelBuffer {
        var random = SplitMix(seed: 42)
        var image = try PixelBuffer(width: width, height: height, format: format)
        for plane in 0..<image.planeCount {
            try image.withMutablePlane(plane) { for i in $0.indices { $0[i] = .random(in: 0...255, using: &random) } }
        }
        return image
    }
}
