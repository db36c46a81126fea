import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket
@testable import FrameTransport

/// Images made from seeds through the codec and what surrounds it: whatever the format, the rows' distance or the
/// way, the pixels are those of the plainest way.
@Suite(.tags(.computes)) struct JPEGPropertyTests {
    private static func decoder() -> JPEGDecoder {
        var decoder = JPEGDecoder()
        decoder.limits.maximumDimension = 65_535
        decoder.limits.maximumPixels = .max
        return decoder
    }

    private func encoder(_ image: inout PixelPropertyTests.Case) throws -> JPEGEncoder {
        JPEGEncoder(
            quality: Int.random(in: 1...100, using: &image.random),
            subsampling: try #require(ChromaSubsampling.allCases.randomElement(using: &image.random))
        )
    }

    /// The same samples in rows without padding, in memory of its own.
    private func copy(_ image: PixelBuffer) throws -> PixelBuffer {
        let packed = try [UInt8](capacity: image.packedByteCount) { try image.copyPacked(into: &$0) }
        return try PixelBuffer(
            copying: packed.span,
            width: image.width,
            height: image.height,
            format: image.format
        )
    }

    @Test(arguments: UInt64(1_000)..<1_060)
    func `the same colors are encoded to the same JPEG in every format`(seed: UInt64) throws {
        var example = try PixelPropertyTests.Case(seed, pixels: 40_000)
        let encoder = try encoder(&example)
        let image = example.image
        let jpeg: [UInt8] = try encoder.encode(image)
        #expect(try encoder.encode(copy(image)) == jpeg, "\(example.name)")
        switch image.format {
        case .gray: break
        case .i420: break
        case .nv12:
            let chroma = example.reference.planes[1].bytes
            let samples =
                example.reference.planes[0].bytes
                + stride(from: 0, to: chroma.count, by: 2).map { chroma[$0] }
                + stride(from: 1, to: chroma.count, by: 2).map { chroma[$0] }
            let planes = try PixelBuffer(
                copying: samples.span,
                width: image.width,
                height: image.height,
                format: .i420
            )
            #expect(try encoder.encode(planes) == jpeg, "\(example.name)")
        default:
            let colors = Array(example.reference.colors.joined())
            let plain = try PixelBuffer(
                copying: colors.span,
                width: image.width,
                height: image.height,
                format: .rgb
            )
            #expect(try encoder.encode(plain) == jpeg, "\(example.name)")
        }
        let output = try [UInt8](capacity: encoder.maximumByteCount(width: image.width, height: image.height)) {
            try encoder.encode(image, into: &$0)
        }
        #expect(output == jpeg)
    }

    @Test(arguments: UInt64(1_100)..<1_130)
    func `a JPEG has the same colors in every format and scale`(seed: UInt64) throws {
        var example = try PixelPropertyTests.Case(seed, pixels: 20_000)
        let jpeg: [UInt8] = try encoder(&example).encode(example.image)
        let decoder = Self.decoder()
        let scale = try #require(
            JPEGDecoder.ScalingFactor.allSupported.filter { $0.numerator <= $0.denominator }.randomElement(
                using: &example.random
            )
        )
        let colors = try ReferenceImage(decoder.decode(jpeg.span, as: .rgb, scale: scale))
        let size = scale.scaled(width: example.image.width, height: example.image.height)
        for format in PixelFormat.allCases {
            let name = "\(example.name) at \(scale) as \(format.rawValue)"
            let found = try decoder.decode(jpeg.span, as: format, scale: scale)
            #expect((found.width, found.height) == size, "\(name)")
            let reference = ReferenceImage(found)
            switch format {
            case .gray, .i420: break
            case .nv12:
                let planes = try ReferenceImage(decoder.decode(jpeg.span, as: .i420, scale: scale)).planes
                let pairs = zip(planes[1].bytes, planes[2].bytes).flatMap { [$0, $1] }
                #expect(reference.planes.map(\.bytes) == [planes[0].bytes, pairs], "\(name)")
            default: #expect(reference.colors == colors.colors, "\(name)")
            }
        }
    }

    @Test(arguments: UInt64(1_300)..<1_380)
    func `the sent pixels are those of the plan, rotated and compressed`(seed: UInt64) throws {
        var example = try PixelPropertyTests.Case(seed)
        var configuration = SampleUploader.Configuration(scale: PixelPropertyTests.scale(&example))
        configuration.quality = Int.random(in: 1...100, using: &example.random)
        configuration.subsampling = try #require(ChromaSubsampling.allCases.randomElement(using: &example.random))
        configuration.appliesOrientation = Bool.random(using: &example.random)
        configuration.usesStrips = Bool.random(using: &example.random)
        let orientation = try #require(FrameOrientation.allCases.randomElement(using: &example.random))
        let sent = try FrameEncoder().encode(.pixels(example.image), orientation, configuration)

        let plan = configuration.scale.plan(
            forWidth: example.image.width,
            height: example.image.height,
            orientation: orientation,
            appliesOrientation: configuration.appliesOrientation,
            subsampling: example.image.format.isPlanar ? .yuv420 : configuration.subsampling
        )
        let name = "\(example.name), \(configuration.scale), \(orientation)"
        let becomesPlanes = configuration.subsampling == .yuv420 && example.image.format.canBecomePlanes(by: plan)
        var expected =
            becomesPlanes
            ? try example.image.planes(by: plan, pool: PixelBuffer.Pool()) : try example.image.applying(plan)
        if configuration.appliesOrientation { expected = try expected.upright(from: orientation) }
        let encoder = JPEGEncoder(quality: configuration.quality, subsampling: configuration.subsampling)
        let whole: [UInt8] = try encoder.encode(expected)
        #expect(sent.bufferSize == BufferSize(width: expected.width, height: expected.height), "\(name)")
        let found = try Self.decoder().decode(bytes: sent.jpeg.array(), as: .rgb)
        #expect(try found.hasSamePixels(as: Self.decoder().decode(whole.span, as: .rgb)), "\(name)")
    }

    @Test(arguments: UInt64(1_400)..<1_450)
    func `the received image has the size of its header and the requested orientation`(seed: UInt64) throws {
        var example = try PixelPropertyTests.Case(seed, pixels: 20_000)
        let jpeg: [UInt8] = try encoder(&example).encode(example.image)
        let orientation = try #require(FrameOrientation.allCases.randomElement(using: &example.random))
        let format = try #require(PixelFormat.allCases.randomElement(using: &example.random))
        func near(_ side: Int) -> Int { min(65_500, max(1, side + Int.random(in: -1...1, using: &example.random))) }
        let size = BufferSize(width: near(example.image.width), height: near(example.image.height))
        var configuration = FrameDecoder.Configuration()
        configuration.jpeg = Self.decoder()
        configuration.isUpright = Bool.random(using: &example.random)
        let header = FrameHeader(contentLength: jpeg.count, info: FrameInfo(bufferSize: size, orientation: orientation))
        let frame = Frame(jpeg: FrameBytes(jpeg), header: header, index: 0, receivedAt: 0, transferTime: .zero)
        let found = try ReferenceImage(FrameDecoder(configuration: configuration).decode(frame, as: format).image)

        var expected = try ReferenceImage(Self.decoder().decode(jpeg.span, as: format))
        expected = expected.resized(width: size.width, height: size.height)
        if configuration.isUpright { expected = expected.upright(from: orientation) }
        #expect(found.planes == expected.planes, "\(example.name), \(size), \(orientation)")
    }
}
