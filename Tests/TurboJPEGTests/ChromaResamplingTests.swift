import TestDescriptions
import TestSupport
import Testing

@testable import TurboJPEG

/// The chroma of planar images from JPEGs with another subsampling, sample by sample.
@Suite(.tags(.computes)) struct ChromaResamplingTests {
    /// The samples of 4:2:0 are decoded to their places in I420.
    private static let pairs = ChromaSubsampling.allCases.filter { $0 != .gray }.flatMap { subsampling in
        planarFormats.filter { subsampling != .yuv420 || $0 != .i420 }.map { (subsampling, $0) }
    }

    @Test(arguments: pairs)
    func `a sample is the mean of those that it covers, half values rounded up`(
        subsampling: ChromaSubsampling,
        format: PixelFormat
    ) throws {
        var random = SplitMix(seed: 5)
        let pixels = subsampling.pixelsPerChromaSample
        for (width, height) in [(1, 1), (2, 2), (3, 3), (5, 2), (2, 7), (16, 16), (33, 19), (64, 9), (131, 5)] {
            let columns = (width + pixels.width - 1) / pixels.width
            let rows = (height + pixels.height - 1) / pixels.height
            // Values so near to each other that the rounding shows, and any.
            for range in [0...3, 252...255, 0...255] as [ClosedRange<UInt8>] {
                let sources = try (0..<2).map { _ in
                    try PixelBuffer(width: columns, height: rows, format: .gray) { _, _, _ in
                        UInt8.random(in: range, using: &random)
                    }
                }
                var target = try PixelBuffer(width: width, height: height, format: format, zeroFilled: true)
                try unsafe target.withUnsafeMutablePlanes(preservingContents: true) { planes in
                    unsafe planes.resampleChroma(
                        blue: UnsafePlanes(sources[0])[0],
                        red: UnsafePlanes(sources[1])[0],
                        from: subsampling
                    )
                }
                for (number, source) in sources.enumerated() {
                    for y in 0..<(height + 1) / 2 {
                        let row = target.row(y, ofPlane: format == .nv12 ? 1 : 1 + number)
                        let found = format == .nv12 ? row.indices.filter { $0 % 2 == number }.map { row[$0] } : row
                        let expected = Self.mean(of: source, subsampling, row: y, count: (width + 1) / 2)
                        #expect(found == expected, "\(width)x\(height): row \(y)")
                    }
                }
            }
        }
    }

    /// A row of chroma with one sample for four pixels, from a plane with others.
    private static func mean(
        of source: PixelBuffer,
        _ subsampling: ChromaSubsampling,
        row: Int,
        count: Int
    ) -> [UInt8] {
        let pixels = subsampling.pixelsPerChromaSample
        let lines = pixels.height == 1 ? [2 * row, min(2 * row + 1, source.height - 1)] : [row]
        return (0..<count).map { x in
            let columns =
                switch pixels.width {
                case 1: [2 * x, min(2 * x + 1, source.width - 1)]
                case 2: [x]
                default: [x / 2]
                }
            let samples = lines.flatMap { line in columns.map { Int(source.row(line)[$0]) } }
            return UInt8((2 * samples.reduce(0, +) + samples.count) / (2 * samples.count))
        }
    }
}
