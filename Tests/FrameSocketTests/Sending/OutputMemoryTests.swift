import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

@Suite(.tags(.computes)) struct OutputMemoryTests {
    static let subsamplings = ChromaSubsampling.allCases

    /// Black and white at random, larger than photographs and drawings.
    @Test(arguments: subsamplings, [1, 2, 5, 10, 15, 25, 45, 60, 72, 80, 85, 88, 90, 93, 95, 96, 97, 98, 99, 100])
    func `no JPEG is larger than its bound`(_ subsampling: ChromaSubsampling, quality: Int) throws {
        var random = SplitMix(seed: UInt64(quality))
        let format: PixelFormat = subsampling == .gray ? .gray : subsampling == .yuv420 ? .i420 : .bgra
        for (width, height) in [(200, 120), (161, 97), (9, 7)] {
            var image = try PixelBuffer(width: width, height: height, format: format)
            for plane in 0..<image.planeCount {
                try image.withMutablePlane(plane) {
                    for i in $0.indices { $0[i] = Bool.random(using: &random) ? 255 : 0 }
                }
            }
            let jpeg: [UInt8] = try JPEGEncoder(quality: quality, subsampling: subsampling).encode(image)
            let bound = EncodingMemory.bytes(
                ofJPEG: BufferSize(width: width, height: height),
                quality: quality,
                subsampling: subsampling
            )
            #expect(jpeg.count <= bound, "\(width)x\(height)")
        }
    }

    /// Tiles of black and white pixels that a search found for these qualities: their JPEGs are larger than random ones.
    @Test(
        arguments: [
            (1, 0x370e_34ed_1ed4_dd67), (25, 0x003c_ba8e_07ad_869d), (50, 0x2617_24c3_ff9c_4c5c),
            (80, 0xa80e_6e7e_4c2d_8337), (90, 0x1e18_d630_0ec6_673d), (95, 0x6cfe_5fef_6f1c_8415),
            (100, 0x48a4_31df_e243_96e4),
        ] as [(Int, UInt64)]
    )
    func `no JPEG of a pattern is larger than its bound`(quality: Int, tile: UInt64) throws {
        let size = BufferSize(width: 512, height: 512)
        let image = try PixelBuffer(width: size.width, height: size.height, format: .gray) { _, x, y in
            tile >> UInt64(63 - y % 8 * 8 - x % 8) & 1 == 1 ? 255 : 0
        }
        let jpeg: [UInt8] = try JPEGEncoder(quality: quality, subsampling: .gray).encode(image)
        let bound = EncodingMemory.bytes(ofJPEG: size, quality: quality, subsampling: .gray)
        #expect(jpeg.count <= bound && 10 * jpeg.count > 9 * bound)
    }

    @Test(arguments: PixelFormat.allCases, [(1, 1), (31, 17), (64, 64), (1125, 3)])
    func `images take the memory that is foreseen`(_ format: PixelFormat, size: (Int, Int)) throws {
        let image = try PixelBuffer(width: size.0, height: size.1, format: format)
        let foreseen = EncodingMemory.bytes(of: BufferSize(width: size.0, height: size.1), format)
        #expect(EncodingMemory.bytes(of: image) <= foreseen)
        #expect(foreseen <= EncodingMemory.bytes(of: image) + 64 * (size.1 + 1))
    }

    @Test(arguments: [
        (SampleUploader.OutputScale.full, JPEGDecoder.ScalingFactor.full), (.half, .half),
        (.fraction(numerator: 1, denominator: 3), .half),
        (.fraction(numerator: 1, denominator: 4), .quarter), (.fraction(numerator: 3, denominator: 4), .full),
        (.width(720), .half), (.width(200), .eighth), (.fit(width: 1920, height: 1080), .full),
        (.letterbox(width: 480, height: 480), .quarter), (.fill(width: 480, height: 480), .half),
        (.fill(width: 270, height: 270), .quarter), (.fill(width: 600, height: 600), .full),
    ])
    func `a JPEG is decoded at the smallest size that will do`(
        scale: SampleUploader.OutputScale,
        factor: JPEGDecoder.ScalingFactor
    ) {
        let plan = scale.plan(forWidth: 1920, height: 1080)
        let decoding = plan.scaledDecoding()
        #expect(decoding.factor == (plan.isIdentity ? .full : factor), "\(plan)")
        #expect(decoding.plan.canvas == plan.canvas)
        #expect(decoding.plan.scaled == plan.scaled)
        let (part, image) = (decoding.plan.part, decoding.plan.image)
        #expect(part.x + part.width <= image.width && part.y + part.height <= image.height)
        #expect(part.width >= plan.scaled.width && part.height >= plan.scaled.height)
    }

    @Test func `a new shape gives up the memory of the old one`() throws {
        var workspace = EncodingWorkspace()
        let settings = EncodingRecipe.Settings(.init())
        let (wide, high) = (BufferSize(width: 64, height: 32), BufferSize(width: 32, height: 64))
        func recipe(_ size: BufferSize) -> ImageRecipe { .init(OutputPlan(size), .bgra, .up, settings) }
        let first = workspace.prepared(for: recipe(wide))
        _ = try first.scaled.buffer(width: 64, height: 32, format: .bgra)
        #expect(first.scaled.idleCount == 1)
        #expect(workspace.prepared(for: recipe(wide)).scaled === first.scaled)
        let second = workspace.prepared(for: recipe(high))
        #expect(second.scaled !== first.scaled)
        #expect(second.scaled.idleCount == 0)
    }
}
