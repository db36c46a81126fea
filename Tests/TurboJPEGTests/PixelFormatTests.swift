import TestDescriptions
import Testing
import TurboJPEG

@Suite(.tags(.computes)) struct PixelFormatTests {
    @Test(arguments: [
        (ChromaSubsampling.yuv444, "4:4:4", 8, 8), (.yuv422, "4:2:2", 16, 8), (.yuv420, "4:2:0", 16, 16),
        (.yuv440, "4:4:0", 8, 16), (.yuv411, "4:1:1", 32, 8), (.gray, "gray", 8, 8),
    ])
    func `a subsampling has the blocks of its name`(
        subsampling: ChromaSubsampling,
        name: String,
        width: Int,
        height: Int
    ) {
        #expect(subsampling.name == name && ChromaSubsampling(name: name) == subsampling)
        #expect(subsampling.mcuWidth == width && subsampling.mcuHeight == height)
    }
}
