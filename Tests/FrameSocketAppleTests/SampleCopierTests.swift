import FrameSocket
import Testing

@testable import FrameSocketApple

/// What a source lends, copied with the samples that a JPEG holds.
@Suite struct SampleCopierTests {
    /// A picture of 256 by 2 with every value of luma in each row and every value of chroma in its one row.
    private func ramp() throws -> PixelBuffer {
        var picture = try PixelBuffer(width: 256, height: 2, format: .nv12)
        for (plane, row) in [(0, 0), (0, 1), (1, 0)] {
            try picture.withMutableRow(row, ofPlane: plane) { span in
                for index in span.indices { span[index] = UInt8(index) }
            }
        }
        return picture
    }

    @Test func `every value of limited range becomes the nearest of the full range`() throws {
        let picture = try ramp()
        let result = try SampleCopier().copy(picture, of: VideoColor(range: .limited, matrix: .bt601))
        #expect(result.format == .nv12 && result.width == 256 && result.height == 2)
        for value in 0...255 {
            let luma = min(max((Double(value) - 16) * 255 / 219, 0), 255).rounded()
            #expect(result.row(0)[value] == UInt8(luma) && result.row(1)[value] == UInt8(luma), "luma \(value)")
            let chroma = min(max((Double(value) - 128) * 255 / 224 + 128, 0), 255).rounded()
            #expect(result.row(0, ofPlane: 1)[value] == UInt8(chroma), "chroma \(value)")
        }
    }

    @Test func `the picture that is given stays as it is, and memory is used again`() throws {
        let picture = try ramp()
        let copier = SampleCopier()
        for color in [VideoColor.jpeg, VideoColor(range: .limited, matrix: .bt709)] {
            let address = try copier.copy(picture, of: color).address
            #expect(picture.hasSamePixels(as: try ramp()) && address != picture.address)
            #expect(try copier.copy(picture, of: color).address == address)
        }
    }

    @Test func `what is drawn over a lent picture does not show in its copy`() throws {
        var picture = try ramp()
        let copy = try SampleCopier().copy(picture, of: .jpeg)
        let expected = try ramp()
        try picture.withMutableRow(0) { $0[7] = 99 }
        #expect(copy.hasSamePixels(as: expected))
    }
}
