import FrameWire
import TestSupport

/// Messages about shared memory, as a sender writes them.
enum SharedStreams {
    static let bufferLines = [
        "Content-Length: 0", "Message-Type: shared-buffer", "Shared-Buffer: 2", "Shared-Bytes: 4096",
    ]

    static let buffer = SharedFrameHeader.Buffer(index: 2, byteCount: 4_096)

    /// A frame with every field that a message can have.
    static let frameLines = [
        "Content-Length: 0", "Message-Type: shared-frame", "Shared-Buffer: 2", "Buffer-Width: 5", "Buffer-Height: 3",
        "Buffer-Orientation: 6", "Shared-Format: i420", "Shared-Offset: 64", "Shared-Stride: 8",
        "Shared-Offset-2: 128", "Shared-Stride-2: 4", "Shared-Offset-3: 192", "Shared-Stride-3: 3", "Changed-Row: 1",
        "Changed-Rows: 2", "Buffer-Presentation-Time: 1700000000", "Buffer-Sequence: 7",
    ]

    static let frame = SharedFrameHeader(
        buffer: 2,
        format: .i420,
        info: FrameInfo(
            bufferSize: BufferSize(width: 5, height: 3),
            orientation: .right,
            timestamp: 1_700_000_000,
            sequence: 7
        ),
        planes: [
            .init(offset: 64, bytesPerRow: 8), .init(offset: 128, bytesPerRow: 4), .init(offset: 192, bytesPerRow: 3),
        ],
        changedRows: 1..<3
    )

    /// The lines with that of the field `name` replaced, or left out if there is no other.
    static func lines(_ lines: [String], replacing name: String, with line: String? = nil) -> [String] {
        lines.flatMap { $0.hasPrefix(name + ":") ? line.map { [$0] } ?? [] : [$0] }
    }

    /// An announcement that a decoder accepts.
    static func buffer(_ random: inout SplitMix) -> SharedFrameHeader.Buffer {
        SharedFrameHeader.Buffer(
            index: .random(in: SharedFrameHeader.Buffer.indices, using: &random),
            byteCount: .random(in: 1...(1 << Int.random(in: 0...30, using: &random)), using: &random)
        )
    }

    /// A frame that a decoder accepts; its planes need not fit into any buffer.
    static func frame(_ random: inout SplitMix) -> SharedFrameHeader {
        let format = PixelFormat.allCases.randomElement(using: &random) ?? .bgra
        let width = Int.random(in: 1...16_384, using: &random)
        let row = Int.random(in: 0...65_535, using: &random)
        let planes = (0..<format.planeCount).map { _ in
            SharedFrameHeader.Plane(
                offset: .random(in: 0...(1 << Int.random(in: 0...30, using: &random)), using: &random),
                bytesPerRow: .random(in: 1...(1 << Int.random(in: 0...30, using: &random)), using: &random)
            )
        }
        return SharedFrameHeader(
            buffer: .random(in: SharedFrameHeader.Buffer.indices, using: &random),
            format: format,
            info: FrameInfo(
                bufferSize: BufferSize(
                    width: width,
                    height: .random(in: 1...min(16_384, (1 << 25) / width), using: &random)
                ),
                orientation: FrameOrientation.allCases.randomElement(using: &random) ?? .up,
                timestamp: Bool.random(using: &random)
                    ? random.next() >> UInt64.random(in: 0..<64, using: &random) : nil,
                sequence: Bool.random(using: &random) ? random.next() >> UInt64.random(in: 0..<64, using: &random) : nil
            ),
            planes: planes,
            changedRows: Bool.random(using: &random) ? row..<(row + .random(in: 0...65_535, using: &random)) : nil
        )
    }
}
