import Foundation
import FrameSocket
import TestSupport
import Testing

@testable import FrameSocketTool

/// Recordings that are damaged in the middle: they are read up to there, and nothing is lost without a word.
@Suite struct MatroskaDamageTests {
    private let place = Workplace.new

    /// A recording, and where its clusters begin; the last place is the end of the last one.
    private struct Recording {
        let bytes: [UInt8]
        let jpegs: [[UInt8]]
        let clusters: [Int]
    }

    /// Records frames of different lengths, of bytes that look like anything.
    private func record(_ count: Int, finishes: Bool = true) throws -> Recording {
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
        let bytes = try Data.bytes(at: file)
        var clusters = bytes.indices.filter { bytes[$0...].starts(with: EBML.cluster.id) }
        // Of the index, an entry points to one.
        clusters = clusters.filter { bytes[($0 + 12)...].starts(with: EBML.timestamp.id) }
        try #require(clusters.count == count)
        let last = try #require(jpegs.last)
        let end = try #require((0...bytes.count - last.count).last { bytes[$0...].starts(with: last) }) + last.count
        return Recording(bytes: bytes, jpegs: jpegs, clusters: clusters + [end])
    }

    // MARK: Kinds of damage

    /// A byte of frame 12 of 25, by its offset within its cluster, and what becomes of it.
    ///
    /// A cluster has its ID (0), its size (4), a timestamp (12) with its size (13) and its number (21), a block (29) with its
    /// size (30), its track (38), its time and flags, and the JPEG (42).
    static let changes: [(Int, UInt8)] = [
        // The ID of the cluster, with one bit more and with one less, and its size.
        (0, 0x1D), (0, 0x9F), (2, 0xB7), (1, 0x42), (4, 0), (4, 0x81), (10, 0),
        // The timestamp's size, the block's ID, and its size.
        (20, 9), (20, 0xFF), (29, 0xA2), (29, 0xEC), (29, 0xA7), (36, 0), (36, 0xFF), (33, 1), (30, 0),
        // The track, a time before the beginning, and several frames in the block.
        (38, 0x82), (38, 0), (38, 0x42), (39, 0xFF), (41, 0x82),
    ]

    @Test(arguments: changes, [false, true])
    func `a recording is read up to its damage, whose place is named with what recovers the rest`(
        change: (offset: Int, byte: UInt8),
        finishes: Bool
    ) throws {
        let recording = try record(25, finishes: finishes)
        var bytes = recording.bytes
        bytes[recording.clusters[12] + change.offset] = change.byte
        // A frame of the beginning has no time before it.
        if change.offset == 39 {
            bytes[(recording.clusters[12] + 21)..<(recording.clusters[12] + 29)] = [0, 0, 0, 0, 0, 0, 0, 0]
        }
        let contents = MatroskaContents(of: bytes)
        // Of a block that is too short, a part is read.
        #expect(contents.entries.map(\.jpeg).prefix(12) == recording.jpegs[..<12] && contents.entries.count <= 13)
        let message = try #require(contents.failure?.message)
        #expect(message.hasSuffix("rewrite it: ffmpeg -i FILE -c copy OUT.mkv"), "\(message)")
        #expect(message.contains("several of its frames") == (change.offset == 41), "\(message)")
    }

    @Test(arguments: [12, 29], [1, 2])
    func `a cluster that has lost its frame is damage`(offset: Int, cluster: Int) throws {
        let recording = try record(3)
        var bytes = recording.bytes
        bytes.removeSubrange((recording.clusters[cluster] + offset)..<recording.clusters[cluster + 1])
        let contents = MatroskaContents(of: bytes)
        #expect(contents.entries.map(\.jpeg) == Array(recording.jpegs[..<cluster]))
        #expect(contents.failure?.message.contains("damaged at byte") == true)
    }

    @Test func `what follows a complete recording costs no frame`() throws {
        let recording = try record(3)
        let appendices: [[UInt8]] = [
            [UInt8](repeating: 0, count: 4_096), Array("hello, this is a text, and no element".utf8), [0],
            [0x61, 0x62],
        ]
        for appendix in appendices {
            let contents = MatroskaContents(of: recording.bytes + appendix)
            #expect(contents.entries.map(\.jpeg) == recording.jpegs && !contents.isWhole)
        }
        #expect(MatroskaContents(of: recording.bytes + recording.bytes).entries.count == 6)
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
    func `random damage loses no frame before it, and none without a word but by chance`(finishes: Bool) throws {
        let recording = try record(25, finishes: finishes)
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(seed: seed)
        var unseen: [Comment] = []
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
            let contents = MatroskaContents(of: bytes)
            let first = recording.clusters.lastIndex { $0 <= index } ?? 0
            let found = contents.entries.map(\.jpeg)
            let what: Comment = "SEED=\(seed): kind \(kind) at \(index - recording.clusters[first]) of cluster \(first)"
            #expect(found.prefix(first) == recording.jpegs[..<first], what)
            // Nobody can see that something is missing if the rest fits.
            let fits = kind == 3 && recording.clusters.contains(recording.clusters[first + 1] + length)
            // Clusters begin alike, so that a part of one and the rest of a later one may be whole.
            let start = recording.clusters[first]
            let isWhole =
                recording.clusters.contains(start + length)
                && bytes == Array(recording.bytes[..<start]) + recording.bytes[(start + length)...]
            if found.count < 25, contents.isWhole, !fits, !isWhole { unseen.append(what) }
        }
        // Of 100,000 pieces cut out, what remains of one reads like elements.
        #expect(unseen.count <= 1, "\(unseen)")
    }
}
