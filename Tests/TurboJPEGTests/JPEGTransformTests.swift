import TestDescriptions
import TestSupport
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct JPEGTransformTests {
    /// Sizes of whole blocks in every subsampling.
    private static let jpegs: [[UInt8]] = ChromaSubsampling.allCases.compactMap { subsampling in
        // Turned on its side, 4:1:1 becomes something that the library cannot name.
        subsampling == .yuv411
            ? nil : try? JPEGEncoder(quality: 90, subsampling: subsampling).encode(testImage(96, 64))
    }

    @Test(
        arguments: jpegs,
        [
            [JPEGTransform.rotate90, .rotate90, .rotate90, .rotate90], [.rotate90, .rotate270],
            [.rotate180, .rotate180],
            [.flipHorizontal, .flipHorizontal], [.flipVertical, .flipVertical], [.transpose, .transpose],
            [.transverse, .transverse], [.flipHorizontal, .flipVertical, .rotate180],
            [.transpose, .flipHorizontal, .rotate270], [.transverse, .flipHorizontal, .rotate90],
        ]
    )
    func `two turns that undo each other change nothing`(jpeg: [UInt8], transforms: [JPEGTransform]) throws {
        var result = jpeg
        for transform in transforms { result = try transform.apply(to: result.span, edges: .keep) }
        #expect(try result == JPEGTransform.none.apply(to: jpeg.span))
        let pixels = try JPEGDecoder().decode(bytes: jpeg, as: .rgb)
        #expect(try JPEGDecoder().decode(bytes: result, as: .rgb).hasSamePixels(as: pixels))
    }

    @Test func `the turns go in the direction of their names`() throws {
        // A bright upper left corner tells where it goes.
        var image = try PixelBuffer(width: 32, height: 32, format: .gray, zeroFilled: true)
        for y in 0..<16 { try image.withMutableRow(y) { row in for x in 0..<16 { row[x] = 255 } } }
        let jpeg = try JPEGEncoder(quality: 100).encode(image)
        let corners: [JPEGTransform: (Int, Int)] = [
            .none: (0, 0), .flipHorizontal: (31, 0), .flipVertical: (0, 31), .transpose: (0, 0), .transverse: (31, 31),
            .rotate90: (31, 0), .rotate180: (31, 31), .rotate270: (0, 31),
        ]
        for transform in JPEGTransform.allCases {
            let turned = try JPEGDecoder().decode(bytes: transform.apply(to: jpeg.span), as: .gray)
            let bright = [(0, 0), (31, 0), (0, 31), (31, 31)].filter { turned.row($0.1)[$0.0] > 128 }
            let corner = try #require(corners[transform])
            #expect(bright.count == 1 && bright.allSatisfy { $0 == corner }, "\(transform)")
        }
    }

    @Test func `partial blocks are cut or refused`() throws {
        let jpeg = try JPEGEncoder(subsampling: .yuv420).encode(testImage(33, 17))
        var thrown: TurboJPEGError?
        do throws(TurboJPEGError) {
            _ = try JPEGTransform.rotate90.apply(to: jpeg.span, edges: .perfect)
        } catch {
            thrown = error
        }
        #expect(thrown?.code == .transformFailed)
        #expect(thrown?.libraryMessage?.isEmpty == false)
        let trimmed = try JPEGTransform.rotate90.apply(to: jpeg.span, edges: .trim)
        let kept = try JPEGTransform.rotate90.apply(to: jpeg.span, edges: .keep)
        #expect(try JPEGHeader(inspecting: trimmed.span).width == 16)
        #expect(try JPEGHeader(inspecting: kept.span).width == 17)
        #expect(try JPEGHeader(inspecting: kept.span).height == 33)
    }

    /// A JPEG without any detail, whose components have these sampling factors.
    private func plain(_ width: Int, _ height: Int, _ sampling: [UInt8]) -> [UInt8] {
        let components = zip(1..., sampling).map { (id: UInt8($0.0), sampling: $0.1) }
        var blocks = 0
        for factors in sampling { blocks += Int(factors >> 4) * Int(factors & 15) }
        let count = (width + 15) / 16 * ((height + 15) / 16) * blocks
        // Two bits a block.
        return HandmadeJPEG.header(width: width, height: height, components: components)
            + [UInt8](repeating: 0, count: (count + 3) / 4) + [0xFF, 0xD9]
    }

    @Test(arguments: [(0x12, JPEGTransform.flipVertical), (0x21, .flipHorizontal)] as [(UInt8, JPEGTransform)])
    func `a block is as large as the sampling factors make it, whatever the subsampling is called`(
        chroma: UInt8,
        transform: JPEGTransform
    ) throws {
        // 4:2:2 and 4:4:0 in MCUs of 16x16 pixels, where encoders write 16x8 and 8x16.
        let sampling = [0x22, chroma, chroma]
        let isVertical = transform == .flipVertical
        let short = isVertical ? plain(64, 12, sampling) : plain(12, 64, sampling)
        let subsampling = try JPEGHeader(inspecting: short.span).subsampling
        #expect(subsampling == (isVertical ? .yuv422 : .yuv440))
        let code = errorCode { () throws(TurboJPEGError) in
            _ = try transform.apply(to: short.span, edges: .trim)
        }
        #expect(code == .transformFailed)
        let long = isVertical ? plain(64, 28, sampling) : plain(28, 64, sampling)
        let upright = try transform.apply(to: long.span, edges: .trim)
        let trimmed = try JPEGHeader(inspecting: upright.span)
        #expect(trimmed.width == (isVertical ? 64 : 16) && trimmed.height == (isVertical ? 16 : 64))
    }

    @Test(arguments: JPEGTransform.allCases)
    func `one chroma sample for four pixels does not swap sides`(transform: JPEGTransform) throws {
        let jpeg = try JPEGEncoder(subsampling: .yuv411).encode(testImage(64, 64))
        let code = errorCode { () throws(TurboJPEGError) in
            let turned = try transform.apply(to: jpeg.span)
            _ = try JPEGHeader(inspecting: turned.span)
        }
        #expect(code == (transform.swapsSides ? .unsupported : nil))
    }
}
