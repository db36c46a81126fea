import FrameSocketTesting
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// Images in memory that their source uses again, copied when they are offered.
@Suite struct CopiedFrameTests {
    /// The recipe for copying an image under a configuration.
    private func recipe(
        _ image: PixelBuffer,
        _ orientation: FrameOrientation = .up,
        _ configuration: SampleUploader.Configuration = .init()
    ) -> EncodingRecipe {
        EncodingRecipe(
            copying: image,
            orientation,
            EncodingRecipe.Settings(configuration)
        )
    }

    private func bytes(_ jpeg: FrameBytes) -> [UInt8] {
        jpeg.array()
    }

    /// An image of 256 by 2 with every value of luma in each row and every value of chroma in its one row.
    private func ramp() throws -> PixelBuffer {
        try PixelBuffer(width: 256, height: 2, format: .nv12) { _, x, _ in UInt8(x) }
    }

    @Test func `every value of limited range becomes the nearest of the full range`() throws {
        let image = try ramp()
        let color = PixelBuffer.Color(range: .limited, matrix: .bt601)
        let result = try recipe(image).copy(image, of: color, pool: PixelBuffer.Pool())
        #expect(result.format == .nv12 && result.width == 256 && result.height == 2)
        for value in 0...255 {
            let luma = min(max((Double(value) - 16) * 255 / 219, 0), 255).rounded()
            #expect(result.row(0)[value] == UInt8(luma) && result.row(1)[value] == UInt8(luma), "luma \(value)")
            let chroma = min(max((Double(value) - 128) * 255 / 224 + 128, 0), 255).rounded()
            #expect(result.row(0, ofPlane: 1)[value] == UInt8(chroma), "chroma \(value)")
        }
    }

    @Test func `the image stays unchanged, and memory is reused`() throws {
        let image = try ramp()
        let pool = PixelBuffer.Pool()
        for color in [PixelBuffer.Color.jpeg, PixelBuffer.Color(range: .limited, matrix: .bt709)] {
            let address = try recipe(image).copy(image, of: color, pool: pool).address
            #expect(image.hasSamePixels(as: try ramp()) && address != image.address)
            #expect(try recipe(image).copy(image, of: color, pool: pool).address == address)
        }
    }

    @Test(arguments: UInt64(2_100)..<2_160)
    func `a copied frame is encoded to the same JPEG as one that was not copied`(seed: UInt64) throws {
        var example = try PixelPropertyTests.Case(seed)
        var configuration = SampleUploader.Configuration(scale: PixelPropertyTests.scale(&example))
        configuration.subsampling = try #require(ChromaSubsampling.allCases.randomElement(using: &example.random))
        configuration.appliesOrientation = Bool.random(using: &example.random)
        let orientation = try #require(FrameOrientation.allCases.randomElement(using: &example.random))
        let name = "\(example.name), \(configuration.scale), \(orientation)"

        let recipe = recipe(example.image, orientation, configuration)
        let copy = try recipe.copy(example.image, of: .jpeg, pool: PixelBuffer.Pool())
        #expect(!copy.sharesMemory(with: example.image), "\(name)")
        let content = FrameContent.scaled(copy, by: recipe.output)
        let encoder = FrameEncoder()
        let found = try encoder.encode(content, orientation, configuration)
        let expected = try FrameEncoder().encode(.pixels(example.image), orientation, configuration)
        #expect(found.bufferSize == expected.bufferSize && found.orientation == expected.orientation, "\(name)")
        #expect(bytes(found.jpeg) == bytes(expected.jpeg), "\(name)")
    }

    @Test(arguments: [SampleUploader.OutputScale.full, .half, .letterbox(width: 40, height: 40)])
    func `what the source draws after the call is not sent`(scale: SampleUploader.OutputScale) async throws {
        let receiver = try RawReceiver(.init(quality: 100, scale: scale, subsampling: .yuv444))
        let visit = try await receiver.accept()
        var image = try PixelBuffer(width: 64, height: 48, format: .bgra, zeroFilled: true)
        for gray in [UInt8(200), 90] {
            let address = image.address
            try image.fill(gray)
            receiver.uploader.send(copying: image)
            try image.fill(7)
            #expect(image.address == address, "the image was changed in other memory")
            let frame = try #require(try await visit.frame())
            let decoded = try JPEGDecoder().decode(frame.body.span, as: .gray)
            let furthest = decoded.row(decoded.height / 2).map { abs(Int($0) - Int(gray)) }.max()
            #expect(furthest ?? 255 <= 2, "\(gray) is off by \(furthest ?? 255)")
        }
    }

    @Test func `nothing is copied after the end`() throws {
        let image = try testImage(64, 48, as: .bgra)
        var rig = UploaderRig()
        rig.run(.close)
        guard case .decided(let outcome) = rig.machine.offerCopy(of: image, orientation: .up, at: rig.now) else {
            Issue.record("the image is copied")
            return
        }
        #expect(outcome == .dropped(.notConnected) && rig.machine.statistics.offered == 1)
    }

    @Test func `an image that was scaled when submitted is not scaled again`() throws {
        let image = try testImage(64, 48, as: .bgra)
        var rig = UploaderRig(.init(scale: .half))
        rig.run([.connect, .encoding(false)])
        guard case .copy(let recipe, let entry) = rig.machine.offerCopy(of: image, orientation: .up, at: rig.now) else {
            Issue.record("the image is not copied")
            return
        }
        let copy = FrameContent.scaled(
            try recipe.copy(image, of: .jpeg, pool: PixelBuffer.Pool()),
            by: recipe.output
        )
        for (content, entry) in [(copy, entry), (.pixels(image), nil), (copy, entry)] {
            _ = rig.machine.offer(content, entry: entry, at: rig.now)
            let recipe = rig.machine.newest.recipe
            #expect(recipe?.output.canvas == BufferSize(width: 32, height: 24))
            #expect(recipe?.output.isIdentity == content.isScaled)
        }
    }
}
