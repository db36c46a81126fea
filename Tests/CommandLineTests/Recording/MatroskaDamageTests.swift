import Foundation
import FrameSocket
import TestSupport
import Testing

@testable import FrameSocketTool

/// Recordings that are damaged in the middle: what lies outside the damage is read, and what is lost is reported.
@Suite struct MatroskaDamageTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    /// A recording, and where its clusters begin; the last place is the end of the last one.
    private struct Recording {
        let bytes: [UInt8]
        let jpegs: [[UInt8]]
        let clusters: [Int]
    }

    /// Records frames of different lengths, of bytes that look like anything.
    private func record(_ count: Int, finishes: Bool = true, isUnknown: Bool = false) throws -> Recording {
        var random = SplitMix(seed: UInt64(count))
        let jpegs = (0..<count).map { number in
            HandmadeJPEG.header(width: 8 + number, height: 8)
                + (0..<Int.random(in: 300...900, using: &random)).map { _ in UInt8.random(in: 0...254, using: &random) }
                + [0xFF, 0xD9]
        }
        let file = place.path("w.mkv")
        var writer = try MatroskaWriter(OutputFile(file, overwrites: true), size: BufferSize(width: 16, height: 16))
        for (index, jpeg) in jpegs.enumerated() { try writer.append(jpeg.span, .up, at: UInt64(index) * 40_000_000) }
        if finishes { try writer.finish() }
        var bytes = try Data.bytes(at: file)
        var clusters = bytes.indices.filter { bytes[$0...].starts(with: EBML.cluster.id) }
        // Of the index, an entry points to one.
        clusters = clusters.filter { bytes[($0 + 12)...].starts(with: EBML.timestamp.id) }
        if isUnknown {
            for start in clusters { bytes.replaceSubrange((start + 4)..<(start + 12), with: EBML.unknownSize) }
        }
        try #require(clusters.count == count)
        let last = try #require(jpegs.last)
        let end = try #require((0...bytes.count - last.count).last { bytes[$0...].starts(with: last) }) + last.count
        return Recording(bytes: bytes, jpegs: jpegs, clusters: clusters + [end])
    }

    // MARK: Kinds of damage

    /// What is done to frame 12 of 25, at an offset within its cluster.
    ///
    /// A cluster has its ID (0), its size (4), a timestamp (12) with its size (13) and its number (21), a block (29) with its
    /// size (30), its track (38), its time and flags, and the JPEG (42).
    enum Change: CustomTestStringConvertible {
        case remove(Int, count: Int)
        case insert(Int)
        case set(Int, UInt8)

        var testDescription: String { "\(self)" }

        func apply(to bytes: inout [UInt8], at start: Int) {
            switch self {
            case .remove(let offset, let count): bytes.removeSubrange((start + offset)..<(start + offset + count))
            case .insert(let offset): bytes.insert(0x5A, at: start + offset)
            case .set(let offset, let byte): bytes[start + offset] = byte
            }
        }
    }

    static let changes: [(Change, kept: Int)] = [
        (.remove(100, count: 1), 25), (.remove(100, count: 50), 24), (.remove(100, count: 20), 25), (.insert(100), 25),
        // The ID of the cluster, with one bit more and with one less.
        (.set(0, 0x1D), 24), (.set(0, 0x9F), 24), (.set(2, 0xB7), 24), (.set(1, 0x42), 24),
        // Its size.
        (.set(4, 0), 24), (.set(4, 0x81), 24), (.set(10, 0xFF), 25), (.set(10, 0), 24), (.set(6, 1), 25),
        // The timestamp's size, the block's ID, and its size.
        (.set(20, 9), 24), (.set(20, 0xFF), 24), (.set(29, 0xA2), 24), (.set(29, 0xEC), 24), (.set(29, 0x63), 24),
        (.set(36, 0), 25), (.set(36, 0xFF), 24), (.set(33, 1), 24), (.set(30, 0), 24),
        // The track.
        (.set(38, 0x82), 24), (.set(38, 0), 24), (.set(38, 0x42), 24),
    ]

    @Test(arguments: changes, [false, true])
    func `damage costs no more than its own frame, and is reported with its place`(
        change: (Change, kept: Int),
        finishes: Bool
    ) throws {
        let recording = try record(25, finishes: finishes)
        var bytes = recording.bytes
        change.0.apply(to: &bytes, at: recording.clusters[12])
        let contents = try MatroskaContents(of: bytes)
        var kept = recording.jpegs
        kept.remove(at: 12)
        #expect(contents.entries.map(\.jpeg).filter { kept.contains($0) } == kept)
        #expect(contents.entries.count == change.kept && !contents.isCut, "\(contents.damages)")
        try #require(contents.damages.count == 1, "\(contents.damages)")
        guard case .to(let end) = contents.damages[0].extent else {
            Issue.record("\(contents.damages)")
            return
        }
        #expect(contents.damages[0].start < end && contents.damages[0].start >= recording.clusters[12])
        #expect(abs(Int(end) - recording.clusters[13]) <= 50, "\(contents.damages)")
    }

    @Test(arguments: [
        (Change.remove(100, count: 1), 25), (.remove(100, count: 50), 24), (.insert(100), 25), (.set(1, 0x42), 24),
        (.set(29, 0xA2), 24), (.set(34, 2), 24), (.set(33, 1), 24), (.set(32, 3), 24), (.set(36, 0), 25),
    ])
    func `clusters of unknown size are found again`(change: Change, count: Int) throws {
        let recording = try record(25, finishes: false, isUnknown: true)
        var bytes = recording.bytes
        change.apply(to: &bytes, at: recording.clusters[12])
        let contents = try MatroskaContents(of: bytes)
        var kept = recording.jpegs
        kept.remove(at: 12)
        #expect(contents.entries.map(\.jpeg).filter { kept.contains($0) } == kept)
        #expect(contents.entries.count == count && !contents.damages.isEmpty && !contents.isCut, "\(contents.damages)")
    }

    @Test func `what follows a complete recording is named with its place and length`() throws {
        let recording = try record(3)
        var random = SplitMix(seed: 7)
        let appendices: [[UInt8]] = [
            [UInt8](repeating: 0, count: 4_096), Array("hello, this is a text, and no element".utf8), [0],
            [0x61, 0x62],
            [0xFF], (0..<10_000).map { _ in UInt8.random(in: 0...255, using: &random) },
        ]
        for appendix in appendices {
            let contents = try MatroskaContents(of: recording.bytes + appendix)
            #expect(contents.entries.map(\.jpeg) == recording.jpegs && !contents.isCut)
            let start = "\(appendix.count) bytes from byte \(recording.bytes.count) on are no part of the recording"
            #expect(contents.damages.map { $0.description.hasPrefix(start) } == [true], "\(contents.damages)")
        }
    }

    @Test func `a recording that is written over another is read from where its clusters go on`() throws {
        let (long, short) = (try record(80), try record(10, finishes: false))
        let contents = try MatroskaContents(of: short.bytes + long.bytes.dropFirst(short.bytes.count))
        #expect(contents.entries.map(\.jpeg).starts(with: short.jpegs) && contents.damages.count == 1)
        let rest = long.clusters.firstIndex { $0 >= short.bytes.count } ?? 0
        #expect(contents.entries.map(\.jpeg).suffix(80 - rest) == long.jpegs[rest...])
    }

    @Test func `unknown elements are no damage`() throws {
        let recording = try record(3)
        let unknown: [UInt8] = [0x1A, 0xBC, 0xDE, 0xF0] + EBML.size(40) + [UInt8](repeating: 0x1F, count: 40)
        for index in recording.clusters.indices {
            for copies in 1...3 {
                var bytes = recording.bytes
                bytes.insert(contentsOf: (0..<copies).flatMap { _ in unknown }, at: recording.clusters[index])
                let contents = try MatroskaContents(of: bytes)
                #expect(contents.entries.map(\.jpeg) == recording.jpegs && contents.isWhole, "\(contents.damages)")
            }
        }
    }

    @Test func `a JPEG that contains a cluster is one frame`() throws {
        let recording = try record(2)
        let cluster = recording.bytes[recording.clusters[0]..<recording.clusters[1]]
        let jpeg = HandmadeJPEG.header(width: 8, height: 8) + cluster + [0xFF, 0xD9]
        let file = place.path("n.mkv")
        var writer = try MatroskaWriter(OutputFile(file, overwrites: true), size: BufferSize(width: 16, height: 16))
        for time in 0..<3 { try writer.append(jpeg.span, .up, at: UInt64(time)) }
        let contents = try MatroskaContents(of: Data.bytes(at: file))
        #expect(contents.entries.map(\.jpeg) == [jpeg, jpeg, jpeg] && contents.isWhole)
    }

    // MARK: Any damage

    @Test(arguments: [true, false])
    func `random damage loses no frame outside its cluster and the next, and none without a word`(finishes: Bool) throws
    {
        let recording = try record(25, finishes: finishes)
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(seed: seed)
        for _ in 0..<600 {
            var bytes = recording.bytes
            let index = Int.random(in: recording.clusters[0]..<recording.clusters[25], using: &random)
            var length = 1
            let kind = Int.random(in: 0..<4, using: &random)
            switch kind {
            case 0: bytes[index] ^= UInt8.random(in: 1...255, using: &random)
            case 1: bytes.remove(at: index)
            case 2: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
            default:
                length = min(Int.random(in: 2...3_000, using: &random), recording.clusters[25] - index)
                bytes.removeSubrange(index..<(index + length))
            }
            let contents = try MatroskaContents(of: bytes)
            let first = recording.clusters.lastIndex { $0 <= index } ?? 0
            let last = recording.clusters.lastIndex { $0 < index + length } ?? 0
            let outside = recording.jpegs[..<first] + recording.jpegs.dropFirst(last + 2)
            let found = contents.entries.map(\.jpeg)
            #expect(
                found.filter { outside.contains($0) } == Array(outside),
                "SEED=\(seed): kind \(kind) at \(index - recording.clusters[first]) of cluster \(first): \(contents.damages)"
            )
            // That a byte is missing from the last frame is no different from a file that was cut off, and nobody can see that
            // something is missing if the rest fits.
            let isEnd = last == 24 && !finishes
            let fits = kind == 3 && recording.clusters.contains(recording.clusters[first + 1] + length)
            // Clusters begin alike, so that a part of one and the rest of a later one may be whole.
            let start = recording.clusters[first]
            let isWhole =
                recording.clusters.contains(start + length)
                && bytes == Array(recording.bytes[..<start]) + recording.bytes[(start + length)...]
            #expect(
                found.count >= 25 || !contents.damages.isEmpty || isEnd || fits || isWhole,
                "SEED=\(seed): kind \(kind) at \(index - recording.clusters[first]) of cluster \(first)"
            )
        }
    }

    @Test(arguments: ["size", "gap", "unknown"])
    func `a file that is nothing but damage takes no longer than its length`(kind: String) throws {
        let head = try record(1, finishes: false)
        let prefix = Array(head.bytes[..<head.clusters[0]])
        let timestamp = EBML.timestamp.element(0 as UInt64)
        let huge = EBML.size(MatroskaReader.maximumFrameLength - 100)
        let piece: [UInt8] =
            switch kind {
            // Blocks that all claim what follows.
            case "size":
                EBML.cluster.id + EBML.size(MatroskaReader.maximumFrameLength) + timestamp + EBML.simpleBlock.id + huge
                    + [0x81, 0, 0, 0x80]
            case "gap": EBML.cluster.id + EBML.unknownSize + timestamp + [0]
            default:
                EBML.cluster.id + EBML.unknownSize + timestamp + EBML.simpleBlock.id + huge + [0x81, 0, 0, 0x80]
            }
        /// The time of the processor for a file of that length.
        func work(_ byteCount: Int) throws -> Double {
            let count = byteCount / piece.count
            let bytes = prefix + (0..<count).flatMap { _ in piece }
            let start = clock(CLOCK_THREAD_CPUTIME_ID)
            let contents = try MatroskaContents(of: bytes)
            #expect(contents.damages.count >= count - 1)
            return clock(CLOCK_THREAD_CPUTIME_ID) - start
        }
        let (short, long) = (try work(100_000), try work(1_600_000))
        // Sixteen times the work, and not its square.
        #expect(long < 48 * short, "\(short) s, and \(long) s")
    }

    private func clock(_ id: clockid_t) -> Double {
        var time = timespec()
        unsafe clock_gettime(id, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
