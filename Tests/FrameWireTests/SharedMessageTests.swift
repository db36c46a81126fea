import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// Messages about shared memory: what is written, and what comes back.
@Suite(.tags(.computes)) struct SharedMessageTests {
    @Test func `an announcement is written byte for byte and read back`() {
        let bytes = SharedStreams.buffer.encoded()
        #expect(String(decoding: bytes, as: UTF8.self) == Streams.header(SharedStreams.bufferLines))
        #expect(bytes.count == SharedStreams.buffer.encodedByteCount)
        let result = transcript(ofEverySplitOf: bytes + Streams.good + bytes)
        #expect(result.error == nil && result.areAllComplete)
        let good = Transcript(of: Streams.good).messages[0].kind
        let announcement = FrameMessageDecoder.Message.sharedBuffer(SharedStreams.buffer)
        #expect(result.messages.map(\.kind) == [announcement, good, announcement])
    }

    @Test func `a frame with every field is written byte for byte and read back`() {
        let bytes = SharedStreams.frame.encoded()
        #expect(String(decoding: bytes, as: UTF8.self) == Streams.header(SharedStreams.frameLines))
        #expect(bytes.count == SharedStreams.frame.encodedByteCount)
        let result = transcript(ofEverySplitOf: Streams.good + bytes + bytes)
        #expect(result.error == nil && result.areAllComplete)
        let frame = FrameMessageDecoder.Message.sharedFrame(SharedStreams.frame)
        #expect(result.messages.map(\.kind) == [Transcript(of: Streams.good).messages[0].kind, frame, frame])
    }

    @Test(arguments: PixelFormat.allCases)
    func `every pixel format has a word, and is read back with its planes alone`(format: PixelFormat) {
        let planes = (1...format.planeCount).map { SharedFrameHeader.Plane(offset: 100 * $0, bytesPerRow: 20 + $0) }
        let header = SharedFrameHeader(
            buffer: 0,
            format: format,
            info: FrameInfo(bufferSize: BufferSize(width: 4, height: 2)),
            planes: planes
        )
        let lines =
            [
                "Content-Length: 0", "Message-Type: shared-frame", "Shared-Buffer: 0", "Buffer-Width: 4",
                "Buffer-Height: 2", "Buffer-Orientation: 1", "Shared-Format: \(format.rawValue)",
            ]
            + [
                "Shared-Offset: 100", "Shared-Stride: 21", "Shared-Offset-2: 200", "Shared-Stride-2: 22",
                "Shared-Offset-3: 300", "Shared-Stride-3: 23",
            ].prefix(2 * format.planeCount)
        #expect(String(decoding: header.encoded(), as: UTF8.self) == Streams.header(lines))
        let result = transcript(ofEverySplitOf: header.encoded())
        #expect(result.messages.map(\.kind) == [.sharedFrame(header)] && result.error == nil)
        #expect(header.header == FrameHeader(contentLength: 0, info: FrameInfo(bufferSize: header.info.bufferSize)))
    }

    @Test(arguments: [UInt64(50), 51]) func `random announcements and frames are written and read back`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var stream: [UInt8] = []
        var expected: [FrameMessageDecoder.Message] = []
        for _ in 0..<400 {
            let (buffer, frame) = (SharedStreams.buffer(&random), SharedStreams.frame(&random))
            expected += [.sharedBuffer(buffer), .sharedFrame(frame)]
            #expect(buffer.encoded().count == buffer.encodedByteCount)
            #expect(frame.encoded().count == frame.encodedByteCount)
            stream += buffer.encoded() + frame.encoded()
        }
        let whole = Transcript(of: stream)
        #expect(whole.messages.map(\.kind) == expected, "seed \(seed)")
        #expect(whole.error == nil && whole.areAllComplete)
        #expect(Transcript(of: stream, cutBefore: Array(stream.indices)) == whole, "seed \(seed)")
    }

    @Test func `the ends of every range of shared memory's fields are accepted`() {
        var low = SharedStreams.frame
        (low.buffer, low.info.bufferSize, low.info.orientation) = (0, BufferSize(width: 1, height: 1), .unknown)
        low.planes = Array(repeating: .init(offset: 0, bytesPerRow: 1), count: 3)
        (low.changedRows, low.info.timestamp, low.info.sequence) = (0..<0, 0, 0)
        var high = low
        (high.buffer, high.info.bufferSize, high.info.orientation) = (
            7, BufferSize(width: 16_384, height: 2_048), .left
        )
        high.planes = Array(repeating: .init(offset: 1 << 30, bytesPerRow: 1 << 30), count: 3)
        (high.changedRows, high.info.timestamp, high.info.sequence) = (65_535..<131_070, .max, .max)
        let buffers = [(0, 1), (7, 1 << 30)].map { SharedFrameHeader.Buffer(index: $0.0, byteCount: $0.1) }
        let stream = low.encoded() + buffers[0].encoded() + high.encoded() + buffers[1].encoded()
        let events = transcript(ofEverySplitOf: stream).messages.map(\.kind)
        #expect(
            events == [.sharedFrame(low), .sharedBuffer(buffers[0]), .sharedFrame(high), .sharedBuffer(buffers[1])]
        )
    }

    @Test(arguments: [0..<Int.max, (Int.max / 2)..<Int.max, (Int.max - 1)..<Int.max, Int.min..<Int.max])
    func `an announcement and a frame header together never exceed 1,024 bytes`(rows: Range<Int>) {
        let announcement = SharedFrameHeader.Buffer(index: .max, byteCount: .max)
        #expect(announcement.encoded().count == SharedFrameHeader.Buffer.maximumEncodedByteCount)
        for format in PixelFormat.allCases {
            // A fourth plane, which no format has, is not written.
            let header = SharedFrameHeader(
                buffer: .max,
                format: format,
                info: FrameInfo(
                    bufferSize: BufferSize(width: .max, height: .max),
                    orientation: .left,
                    timestamp: .max,
                    sequence: .max
                ),
                planes: Array(repeating: .init(offset: .max, bytesPerRow: .max), count: 4),
                changedRows: rows
            )
            let count = header.encoded().count
            #expect(count <= SharedFrameHeader.maximumEncodedByteCount)
            // The longest header has the longest word and two numbers of 19 digits for its rows.
            let isLongest = rows.lowerBound == .max / 2 && format.rawValue.utf8.count == 4
            #expect((count == SharedFrameHeader.maximumEncodedByteCount) == isLongest)
        }
        // A field contributes its name once and at most the digits of the largest number: no other values are longer.
        #expect(SharedFrameHeader.Buffer.maximumEncodedByteCount + SharedFrameHeader.maximumEncodedByteCount <= 1_024)
    }

    @Test(arguments: UInt64(52)...55) func `no header is longer than its type says`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let numbers = [Int.min, -1, 0, 9, 10, 99_999, 1 << 30, .max / 2, .max - 1, .max]
        func number() -> Int { numbers.randomElement(using: &random) ?? 0 }
        for _ in 0..<2_000 {
            let buffer = SharedFrameHeader.Buffer(index: number(), byteCount: number())
            var frame = SharedStreams.frame
            frame.format = PixelFormat.allCases.randomElement(using: &random) ?? .bgra
            (frame.buffer, frame.info.bufferSize) = (number(), BufferSize(width: number(), height: number()))
            frame.planes = (0..<Int.random(in: 0...5, using: &random)).map { _ in
                .init(offset: number(), bytesPerRow: number())
            }
            let ends = [number(), number()].sorted()
            frame.changedRows = ends[0]..<ends[1]
            (frame.info.timestamp, frame.info.sequence) = (random.next(), random.next())
            let (bufferCount, frameCount) = (buffer.encoded().count, frame.encoded().count)
            #expect(
                bufferCount <= SharedFrameHeader.Buffer.maximumEncodedByteCount
                    && bufferCount == buffer.encodedByteCount
            )
            #expect(frameCount <= SharedFrameHeader.maximumEncodedByteCount && frameCount == frame.encodedByteCount)
        }
    }

    @Test(arguments: [
        (Int.min..<Int.max, 0, Int.max), (-5..<3, 0, 3), (-5 ..< -2, 0, 0), (7..<7, 7, 0), (2..<9, 2, 7),
    ])
    func `of a range of rows, those from 0 are written`(rows: Range<Int>, first: Int, count: Int) {
        var header = SharedStreams.frame
        header.changedRows = rows
        let all = SharedStreams.frameLines
        let lines = SharedStreams.lines(all, replacing: "Changed-Row", with: "Changed-Row: \(first)")
        let expected = SharedStreams.lines(lines, replacing: "Changed-Rows", with: "Changed-Rows: \(count)")
        #expect(String(decoding: header.encoded(), as: UTF8.self) == Streams.header(expected))
    }

    @Test(arguments: [-1, 0, 1]) func `a message is appended only if there is room for all of it`(beyond: Int) {
        let (buffer, frame) = (SharedStreams.buffer, SharedStreams.frame)
        for (count, isFrame) in [(buffer.encodedByteCount, false), (frame.encodedByteCount, true)] {
            var isWritten = false
            let bytes = [UInt8](capacity: count + beyond) { output in
                // A capacity is a lower bound.
                while output.freeCapacity > count + beyond { output.append(0) }
                isWritten = isFrame ? frame.encode(into: &output) : buffer.encode(into: &output)
            }
            #expect(isWritten == (beyond >= 0))
            #expect(bytes.contains(UInt8(ascii: "H")) == (beyond >= 0))
        }
    }
}
