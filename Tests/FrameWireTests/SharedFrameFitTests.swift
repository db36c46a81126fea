import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// Whether a frame is within its buffer, and what is written of one.
@Suite(.tags(.computes)) struct SharedFrameFitTests {
    private static func frame(
        _ format: PixelFormat,
        _ width: Int,
        _ height: Int,
        _ planes: (offset: Int, bytesPerRow: Int)...
    ) -> SharedFrameHeader {
        SharedFrameHeader(
            buffer: 0,
            format: format,
            info: FrameInfo(bufferSize: BufferSize(width: width, height: height)),
            planes: planes.map { .init(offset: $0.offset, bytesPerRow: $0.bytesPerRow) }
        )
    }

    @Test(
        arguments: [
            (frame(.bgra, 3, 2, (0, 16)), 28), (frame(.i420, 5, 3, (0, 5), (15, 3), (21, 3)), 27),
            (frame(.gray, 1, 1, (1 << 30, 1)), (1 << 30) + 1),
            // The only row may have any stride.
            (frame(.gray, 7, 1, (0, .max)), 7), (frame(.gray, .max, 1, (0, .max)), .max),
            (frame(.gray, 1, 2, (0, .max - 1)), .max),
        ] as [(SharedFrameHeader, Int)]
    )
    func `a frame fits into the bytes up to its last sample, and not into one byte less`(
        header: SharedFrameHeader,
        byteCount: Int
    ) {
        #expect(header.fits(inBufferOf: byteCount))
        #expect(!header.fits(inBufferOf: byteCount - 1))
        #expect(byteCount == .max || header.fits(inBufferOf: byteCount + 1))
        #expect(!header.fits(inBufferOf: 0) && !header.fits(inBufferOf: -1) && !header.fits(inBufferOf: .min))
    }

    @Test(
        arguments: [
            // One position for each plane, and no more.
            frame(.bgra, 1, 1, (0, 4), (0, 4)), frame(.i420, 2, 2, (0, 2), (4, 1), (5, 1), (6, 1)),
            // An empty image, a row longer than the distance to the next, and a plane before the buffer.
            frame(.gray, -1, 1, (0, 1)), frame(.gray, 1, .min, (0, 1)),
            frame(.i420, .min, .min, (0, 1), (0, 1), (0, 1)),
            frame(.gray, 1, 1, (0, .min)), frame(.gray, 1, 1, (.min, 1)), frame(.nv12, 1, 1, (0, 1), (.min, 2)),
            // Products and sums that an integer cannot state.
            frame(.bgra, .max, 1, (0, .max)), frame(.bgra, .max / 4 + 1, 1, (0, .max)),
            frame(.rgb, .max / 3 + 1, 1, (0, .max)), frame(.gray, 1, 3, (0, .max)), frame(.gray, 2, 2, (0, .max)),
            frame(.gray, 1, .max, (0, .max)), frame(.gray, 1, 1, (.max, 1)), frame(.gray, 1, 2, (1, .max - 1)),
            frame(.nv12, .max, 1, (0, .max), (0, .max)), frame(.i420, .max, .max, (0, .max), (0, .max), (0, .max)),
        ] as [SharedFrameHeader]
    )
    func `a frame that no buffer can hold is refused, whatever its numbers`(header: SharedFrameHeader) {
        for byteCount in [Int.max, 1 << 30, 1, 0, -1, .min] { #expect(!header.fits(inBufferOf: byteCount)) }
    }

    /// Shows P261.
    @Test(arguments: UInt64(60)...63) func `every sample of a frame that fits is within the buffer`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var fitting = 0
        for round in 0..<5_000 {
            let format = PixelFormat.allCases.randomElement(using: &random) ?? .bgra
            let (width, height) = (Int.random(in: 0...5, using: &random), Int.random(in: 0...5, using: &random))
            var header = Self.frame(format, width, height)
            header.planes = (0..<format.planeCount).map { _ in
                .init(offset: .random(in: -1...30, using: &random), bytesPerRow: .random(in: -1...22, using: &random))
            }
            if Int.random(in: 0..<20, using: &random) == 0 { _ = header.planes.popLast() }
            let byteCount = Int.random(in: -1...110, using: &random)
            let expected = Reference.touchesOnly(byteCount, header)
            #expect(
                header.fits(inBufferOf: byteCount) == expected,
                "seed \(seed), round \(round): \(header), \(byteCount)"
            )
            if expected { fitting += 1 }
        }
        #expect(fitting > 500 && fitting < 4_500, "\(fitting) of 5,000 fit")
    }

    // MARK: What is written

    @Test(arguments: [0..<Int.max, (Int.max / 2)..<Int.max, Int.min..<Int.max])
    func `an announcement and the longest frame header together never exceed 1,024 bytes`(rows: Range<Int>) {
        let announcement = SharedFrameHeader.Buffer(index: .max, byteCount: .max)
        for format in PixelFormat.allCases {
            let header = SharedFrameHeader(
                buffer: .max,
                format: format,
                info: FrameInfo(
                    bufferSize: BufferSize(width: .max, height: .max),
                    orientation: .left,
                    timestamp: .max,
                    sequence: .max
                ),
                // A fourth plane, which no format has, is not written.
                planes: Array(repeating: .init(offset: .max, bytesPerRow: .max), count: 4),
                changedRows: rows
            )
            // A field contributes its name once and the digits of the largest number: no other values are longer.
            #expect(announcement.encoded().count + header.encoded().count <= 1_024)
        }
    }

    @Test(arguments: [
        (Int.min..<Int.max, 0, Int.max), (-5..<3, 0, 3), (-5 ..< -2, 0, 0), (7..<7, 7, 0), (2..<9, 2, 7),
    ])
    func `of a range of rows, those from 0 are written`(rows: Range<Int>, first: Int, count: Int) {
        let sample = Sample.fullSharedFrame
        guard case .message(.sharedFrame(var header)) = sample.item else { return }
        header.changedRows = rows
        let lines = sample.lines.replacing("Changed-Row", with: "Changed-Row: \(first)")
        let expected = lines.replacing("Changed-Rows", with: "Changed-Rows: \(count)")
        #expect(header.encoded() == Streams.header(expected).bytes)
    }
}

/// What ``SharedFrameHeader/fits(inBufferOf:)`` must answer, computed the slow way.
private enum Reference {
    /// The bytes of a column and the columns and rows of one sample, for each plane; from the definition of each format.
    private static func planes(_ format: PixelFormat) -> [(bytes: Int128, subsampling: Int128)] {
        switch format {
        case .bgra, .rgba, .argb, .abgr, .bgrx: [(4, 1)]
        case .rgb, .bgr: [(3, 1)]
        case .gray: [(1, 1)]
        case .i420: [(1, 1), (1, 2), (1, 2)]
        case .nv12: [(1, 1), (2, 2)]
        }
    }

    /// The number of samples in each direction, and the bytes of each.
    private static func shape(_ plane: Int, _ header: SharedFrameHeader) -> (
        bytes: Int128, columns: Int128, rows: Int128
    ) {
        let (bytes, subsampling) = planes(header.format)[plane]
        let size = header.info.bufferSize
        return (
            bytes, (Int128(size.width) + subsampling - 1) / subsampling,
            (Int128(size.height) + subsampling - 1) / subsampling
        )
    }

    private static func isWellFormed(_ header: SharedFrameHeader) -> Bool {
        header.planes.count == planes(header.format).count && header.info.bufferSize.width > 0
            && header.info.bufferSize.height > 0
    }

    /// Looks at every byte of every sample.
    static func touchesOnly(_ byteCount: Int, _ header: SharedFrameHeader) -> Bool {
        guard isWellFormed(header) else { return false }
        for (index, plane) in header.planes.enumerated() {
            let (bytes, columns, rows) = shape(index, header)
            for row in 0..<rows {
                for byte in 0..<(columns * bytes) {
                    // A row must not reach into the next one.
                    guard byte < Int128(plane.bytesPerRow) else { return false }
                    let position = Int128(plane.offset) + row * Int128(plane.bytesPerRow) + byte
                    guard position >= 0, position < Int128(byteCount) else { return false }
                }
            }
        }
        return true
    }
}
