import FrameWire
import TestDescriptions
import Testing

@Suite("Padding", .tags(.computes))
struct FramePaddingTests {
    @Test(
        arguments: [
            (-1, 10_240), (Int.min, 10_240), (0, 10_240), (1, 10_239), (10_239, 1), (10_240, 0), (10_241, 0),
            (Int.max, 0),
        ]
    )
    func `padding fills a body up to 10,240 bytes and no longer one`(body: Int, padding: Int) {
        #expect(FramePadding.byteCount(forBodyOf: body) == padding)
    }
}
