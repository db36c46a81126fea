import Foundation
import FrameSocket
import TestSupport
import Testing

@testable import FrameSocketTool

/// Matroska as it is written and read here, without any socket.
@Suite struct MatroskaTests {
    private let place = Workplace.new

    /// A JPEG of a few hundred bytes, whose gray is the number.
    private func jpeg(_ number: Int) throws -> [UInt8] {
        let pixels = (0..<16 * 16 * 3).map { UInt8(truncatingIfNeeded: $0 * number) }
        let image = try PixelBuffer(copying: pixels.span, width: 16, height: 16, format: .rgb)
        return try JPEGEncoder(quality: 50, subsampling: .yuv420).encode(image)
    }

    private func write(_ jpegs: [[UInt8]], at times: [UInt64], finishes: Bool) throws -> [UInt8] {
        let file = place.path("w.mkv")
        var writer = try MatroskaWriter(
            OutputFile(file, overwrites: true),
            size: BufferSize(width: 16, height: 16)
        )
        for (jpeg, time) in zip(jpegs, times) { try writer.append(jpeg.span, .up, at: time) }
        if finishes { try writer.finish() }
        return try Data.bytes(at: file)
    }

    private func read(_ bytes: [UInt8]) -> MatroskaContents { MatroskaContents(of: bytes) }

    @Test(arguments: [true, false])
    func `whatever is written can be read`(finishes: Bool) throws {
        let times: [UInt64] = [0, 1, 33_333_333, 1_000_000_000, 1_000_000_001, 3_600_000_000_000, 1 << 60]
        let jpegs = try times.indices.map { try jpeg($0 + 1) }
        let contents = try read(write(jpegs, at: times, finishes: finishes))
        #expect(contents.entries.map(\.time) == times && contents.entries.map(\.jpeg) == jpegs && contents.isWhole)
    }

    @Test func `the largest frame that a server accepts is read, with its orientation`() throws {
        let largest =
            [0xFF, 0xD8] + [UInt8](repeating: 0, count: FrameMessageDecoder.Limits().maximumContentLength - 2)
        let file = place.path("w.mkv")
        var writer = try MatroskaWriter(OutputFile(file, overwrites: true), size: BufferSize(width: 16, height: 16))
        try writer.append(largest.span, .left, at: 0)
        try writer.finish()
        let entries = try read(Data.bytes(at: file)).entries
        #expect(entries.map { OrientationSegment.removed(from: $0.jpeg).jpeg == largest } == [true])
    }

    @Test func `a file cut off at any byte contains every frame that was complete by then`() throws {
        let jpegs = try (1...2).map { try jpeg($0) }
        let whole = try write(jpegs, at: [0, 10], finishes: true)
        // Where each frame ends.
        let ends = jpegs.map { jpeg in
            (0...whole.count - jpeg.count).first { whole[$0...].starts(with: jpeg) }.map { $0 + jpeg.count }
        }
        try #require(ends.allSatisfy { $0 != nil })
        for length in 0..<whole.count {
            let count = ends.count { $0.map { $0 <= length } ?? false }
            let contents = read(Array(whole[..<length]))
            #expect(contents.entries.map(\.jpeg) == Array(jpegs[..<count]), "\(length) bytes")
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

    /// A JPEG as a recording of it has it.
    private func marked(_ jpeg: [UInt8], _ orientation: FrameOrientation) -> [UInt8] {
        let bytes = jpeg[...]
        let (start, replaced) = OrientationSegment.beginning(for: orientation, of: bytes.span)
        return start + jpeg[replaced...]
    }

    /// An empty segment of the kind of Exif's, with that name.
    private func segment(_ name: String) -> [UInt8] { [0xFF, 0xE1, 0, UInt8(2 + name.utf8.count)] + name.utf8 }

    @Test(arguments: FrameOrientation.allCases)
    func `an orientation is written into a JPEG and read back`(orientation: FrameOrientation) throws {
        let plain = try jpeg(7)
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
        let names = ["Exif\0\0", "Dxif\0\0", "Fxif\0\0", "\0xif\0\0", "Exif\0", "http"].map(segment)
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
