import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

@Suite(.tags(.computes)) struct OutputDecodingTests {
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
        let encoder = FrameEncoder()
        let settings = EncodingRecipe.Settings(.init())
        let (wide, high) = (BufferSize(width: 64, height: 32), BufferSize(width: 32, height: 64))
        func recipe(_ size: BufferSize) throws -> EncodingRecipe {
            let image = try PixelBuffer(width: size.width, height: size.height, format: .bgra)
            return EncodingRecipe(copying: image, .up, settings)
        }
        let first = encoder.workspace(for: try recipe(wide), .bgra)
        _ = try first.scaled.buffer(width: 64, height: 32, format: .bgra)
        #expect(first.scaled.idleCount == 1)
        let same = encoder.workspace(for: try recipe(wide), .bgra)
        #expect(same.scaled === first.scaled)
        let second = encoder.workspace(for: try recipe(high), .bgra)
        #expect(second.scaled !== first.scaled)
        #expect(second.scaled.idleCount == 0)
    }
}
