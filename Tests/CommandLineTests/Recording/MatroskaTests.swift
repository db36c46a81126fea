import Foundation
import FrameSocket
import TestSupport
import Testing

@testable import FrameSocketTool

/// Matroska as it is written and read here, without any socket, whole, cut off or damaged: nothing is lost without a word.
@Suite struct MatroskaTests {
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
        let bytes = try write(jpegs, finishes: finishes)
        var clusters = bytes.indices.filter { bytes[$0...].starts(with: EBML.cluster.id) }
        // Of the index, an entry points to one.
        clusters = clusters.filter { bytes[($0 + 12)...].starts(with: EBML.timestamp.id) }
        try #require(clusters.count == count)
        let last = try #require(jpegs.last)
        let end = try #require((0...bytes.count - last.count).last { bytes[$0...].starts(with: last) }) + last.count
        return Recording(bytes: bytes, jpegs: jpegs, clusters: clusters + [end])
    }

    /// What is written of frames with their times, or 40 ms after each other.
    private func write(
        _ jpegs: [[UInt8]],
        at times: [UInt64]? = nil,
        _ orientation: FrameOrientation = .up,
        finishes: Bool = true
    ) throws -> [UInt8] {
        let file = place.path("w.mkv")
        var writer = try MatroskaWriter(OutputFile(file, overwrites: true), size: BufferSize(width: 16, height: 16))
        for (index, jpeg) in jpegs.enumerated() {
            try writer.append(jpeg.span, orientation, at: times?[index] ?? UInt64(index) * 40_000_000)
        }
        if finishes { try writer.finish() }
        return try Data.bytes(at: file)
    }

    private func read(_ bytes: [UInt8]) -> MatroskaContents { MatroskaContents(of: bytes) }

    @Test(arguments: [true, false])
    func `whatever is written can be read`(finishes: Bool) throws {
        let times: [UInt64] = [0, 1, 33_333_333, 1_000_000_000, 1_000_000_001, 3_600_000_000_000, 1 << 60]
        let jpegs = try record(times.count).jpegs
        let contents = try read(write(jpegs, at: times, finishes: finishes))
        #expect(contents.entries.map(\.time) == times && contents.entries.map(\.jpeg) == jpegs && contents.isWhole)
    }

    @Test func `the largest frame that a server accepts is read, with its orientation`() throws {
        let largest =
            [0xFF, 0xD8] + [UInt8](repeating: 0, count: FrameMessageDecoder.Limits().maximumContentLength - 2)
        let entries = try read(write([largest], .left)).entries
        #expect(entries.map { OrientationSegment.removed(from: $0.jpeg).jpeg == largest } == [true])
    }

    @Test func `a file cut off at any byte contains every frame that was complete by then`() throws {
        let recording = try record(2)
        for length in recording.bytes.indices {
            let count = recording.clusters.dropFirst().count { $0 <= length }
            let contents = read(Array(recording.bytes[..<length]))
            #expect(contents.entries.map(\.jpeg) == Array(recording.jpegs[..<count]), "\(length) bytes")
            // Where the description ends early, there is no track.
            #expect(contents.failure == nil || count == 0, "\(length) bytes")
        }
    }

    @Test(arguments: [
        // A segment with an element that claims all there can be.
        "18538067 01FFFFFFFFFFFFFF EC 01FFFFFFFFFFFFFE",
        // A block of 16 TB in a track.
        "18538067 01FFFFFFFFFFFFFF 1654AE6B 8A AE 88 D7 81 01 86 87 565F4D4A504547 A3 01000FFFFFFFFFFF",
        "1A45DFA3 80 18538067 FF 2AD7B1 89 000000000000000000",
        "A0 FF FF FF FF FF FF FF FF", "00", "FF", "1A45DFA3 01", "86 FE",
    ])
    func `a file that is not Matroska is rejected at no cost`(hex: String) throws {
        let bytes = hex.filter { $0 != " " }.utf8.map { UInt8($0) }
        let data = stride(from: 0, to: bytes.count - 1, by: 2).compactMap {
            UInt8(String(decoding: bytes[$0...($0 + 1)], as: UTF8.self), radix: 16)
        }
        let contents = read(data)
        #expect(contents.entries.isEmpty && !contents.isWhole)
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
        let contents = read(bytes)
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
        let contents = read(bytes)
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
            let contents = read(recording.bytes + appendix)
            #expect(contents.entries.map(\.jpeg) == recording.jpegs && !contents.isWhole)
        }
        #expect(read(recording.bytes + recording.bytes).entries.count == 6)
    }

    @Test func `a JPEG that contains a cluster is one frame`() throws {
        let recording = try record(2)
        let cluster = recording.bytes[recording.clusters[0]..<recording.clusters[1]]
        let jpeg = HandmadeJPEG.header(width: 8, height: 8) + cluster + [0xFF, 0xD9]
        let contents = try read(write([jpeg, jpeg, jpeg]))
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
            let contents = read(bytes)
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

    // MARK: Orientations

    /// A JPEG as a recording of it has it.
    private func marked(_ jpeg: [UInt8], _ orientation: FrameOrientation) -> [UInt8] {
        let bytes = jpeg[...]
        let (start, replaced) = OrientationSegment.beginning(for: orientation, of: bytes.span)
        return start + jpeg[replaced...]
    }

    @Test(arguments: FrameOrientation.allCases)
    func `an orientation is written into a JPEG and read back`(orientation: FrameOrientation) throws {
        let image = try testImage(16, 16, as: .rgb)
        let plain: [UInt8] = try JPEGEncoder(quality: 50).encode(image)
        // What recordings begin JPEGs with, some of them with numbers that are no orientations.
        let marks = (0...9).flatMap { number in
            [false, true].map { hasChangedNames in
                var mark = Array(marked(plain, .down)[2..<(2 + OrientationSegment.count)])
                mark[mark.count - 7] = UInt8(number)
                mark[mark.count - 5] = hasChangedNames ? 1 : 0
                return mark
            }
        }
        // Names that are Exif's, that become it, and that it becomes; a byte that is left over is none.
        let names = ["Exif\0\0", "Dxif\0\0", "Fxif\0\0", "\0xif\0\0", "Exif\0", "http"].map {
            HandmadeJPEG.segment(0xE1, Array($0.utf8))
        }
        let beginnings = [[]] + marks + names + names.map { $0 + names[0] + names[2] + $0 }
        for jpeg in beginnings.map({ [0xFF, 0xD8] + $0 + plain[2...] }) {
            let marked = marked(jpeg, orientation)
            let (found, rest) = OrientationSegment.removed(from: marked)
            #expect(found == (orientation == .unknown ? .up : orientation) && rest == jpeg)
            let size = try JPEGHeader(inspecting: marked.span).width
            #expect(size == 16)
            // A recording of a recorded JPEG, and of that.
            let again = self.marked(self.marked(marked, .left), .down)
            #expect(OrientationSegment.removed(from: OrientationSegment.removed(from: again).jpeg).jpeg == marked)
        }
    }

    @Test func `a recording of an earlier version is read as it was written`() throws {
        // It inserted the segment, and left the JPEG's own as they were.
        let photo = try Data.bytes(at: Places.fixture("jpeg/chelsea-exif-6.jpg"))
        let old = photo[..<2] + photo[20..<56] + photo[2...]
        let (orientation, rest) = OrientationSegment.removed(from: Array(old))
        #expect(orientation == .left && rest == photo)
    }

    @Test func `a foreign Exif segment is left alone`() throws {
        let jpeg = try Data.bytes(at: Places.fixture("jpeg/chelsea-exif-6.jpg"))
        let (orientation, rest) = OrientationSegment.removed(from: jpeg)
        #expect(orientation == .up && rest == jpeg)
    }
}
