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
        let isUpright = Bool.random(using: &example.random)
        let decoder = FrameDecoder(isUpright: isUpright, jpeg: Self.decoder())
        let found = try ReferenceImage(decoder.decode(Frame(FrameBytes(jpeg), size, orientation), as: format).image)

        var expected = try ReferenceImage(Self.decoder().decode(jpeg.span, as: format))
        expected = expected.resized(width: size.width, height: size.height)
        if isUpright { expected = expected.upright(from: orientation) }
        #expect(found.planes == expected.planes, "\(example.name), \(size), \(orientation)")
    }
}
