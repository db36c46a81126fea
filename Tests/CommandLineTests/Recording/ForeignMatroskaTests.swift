import Foundation
import FrameSocket
import TestSupport
import Testing

@testable import FrameSocketTool

/// Matroska as other programs write it, element by element.
@Suite struct ForeignMatroskaTests {
    private static let jpegs = (1...4).map { number in
        HandmadeJPEG.header(width: 8 * number, height: 8) + [UInt8](repeating: UInt8(number), count: 300 * number) + [
            0xFF, 0xD9,
        ]
    }

    private func read(_ bytes: [UInt8]) throws -> MatroskaContents {
        try MatroskaContents(of: bytes)
    }

    // MARK: Elements

    /// An element by its ID.
    private static func element(_ id: UInt32, _ content: [UInt8], isUnknown: Bool = false) -> [UInt8] {
        let bytes = EBML.bytes(UInt64(id)).drop { $0 == 0 }
        return bytes + (isUnknown ? EBML.unknownSize : EBML.size(content.count)) + content
    }

    private static func number(_ id: UInt32, _ value: UInt64) -> [UInt8] { element(id, EBML.bytes(value)) }

    /// A track, with what else its entry contains.
    private static func track(_ number: UInt64, _ codec: String, _ more: [UInt8]...) -> [UInt8] {
        EBML.trackEntry.element(
            EBML.trackNumber.element(number) + EBML.codecID.element(codec) + more.joined()
        )
    }

    /// A BITMAPINFOHEADER with the code of a codec.
    private static func bitmapHeader(_ code: String) -> [UInt8] {
        [40] + [UInt8](repeating: 0, count: 15) + Array(code.utf8) + [UInt8](repeating: 0, count: 20)
    }

    /// Encodings of a track: order, scope, type, algorithm, settings.
    private static func encodings(_ list: [(UInt64, UInt64, UInt64, UInt64, [UInt8])]) -> [UInt8] {
        element(
            0x6D80,
            list.flatMap { order, scope, type, algorithm, settings in
                let detail =
                    type == 1
                    ? element(0x5035, number(0x47E1, 5))
                    : element(0x5034, number(0x4254, algorithm) + (settings.isEmpty ? [] : element(0x4255, settings)))
                return element(0x6240, number(0x5031, order) + number(0x5032, scope) + number(0x5033, type) + detail)
            }
        )
    }

    /// A block's content: the track, a time, flags, and frames.
    private static func block(_ track: UInt8, _ time: Int16, _ flags: UInt8, _ content: [UInt8]) -> [UInt8] {
        let time = UInt16(bitPattern: time)
        return [0x80 | track, UInt8(time >> 8), UInt8(time & 0xFF), flags] + content
    }

    private static func simple(_ track: UInt8, _ time: Int16, _ content: [UInt8], flags: UInt8 = 0x80) -> [UInt8] {
        element(0xA3, block(track, time, flags, content))
    }

    private static func file(_ tracks: [[UInt8]], _ clusters: [[UInt8]], isUnknown: Bool = false) -> [UInt8] {
        let all = clusters.enumerated().flatMap { index, content in
            element(0x1F43_B675, EBML.timestamp.element(UInt64(100 * index)) + content, isUnknown: isUnknown)
        }
        let content = EBML.info.element(EBML.timestampScale.element(1_000_000)) + EBML.tracks.element(tracks) + all
        return EBML.header.element(EBML.documentType.element("matroska"))
            + element(0x1853_8067, content, isUnknown: isUnknown)
    }

    /// A file with the four frames, each in a block of its own, after some change of each.
    private static func file(_ track: [UInt8], frames: [[UInt8]] = jpegs) -> [UInt8] {
        file([track], frames.map { simple(1, 0, $0) })
    }

    // MARK: Codecs

    @Test(arguments: ["MJPG", "mjpg", "jpeg", "dmb1", "AVI1", "CJPG"])
    func `Motion JPEG of Video for Windows is read, whatever the case of its code`(code: String) throws {
        let track = Self.track(1, "V_MS/VFW/FOURCC", EBML.codecPrivate.element(Self.bitmapHeader(code)))
        let contents = try read(Self.file(track))
        #expect(
            contents.entries.map(\.jpeg) == Self.jpegs
                && contents.entries.map(\.time) == [0, 100, 200, 300].map { $0 * 1_000_000 }
                && contents.isWhole
        )
    }

    @Test func `Motion JPEG of QuickTime is read`() throws {
        let description: [UInt8] = [0, 0, 0, 86] + Array("jpeg".utf8) + [UInt8](repeating: 0, count: 78)
        let track = Self.track(1, "V_QUICKTIME", EBML.codecPrivate.element(description))
        #expect(try read(Self.file(track)).entries.map(\.jpeg) == Self.jpegs)
    }

    private static let foreign: [([[UInt8]], [String])] = [
        ([track(1, "V_VP8")], ["track 1 is V_VP8;", "ffmpeg -i FILE -c:v mjpeg"]),
        (
            [track(1, "V_MPEG4/ISO/AVC", EBML.codecPrivate.element([1, 2, 3])), track(7, "A_OPUS")],
            ["track 1 is V_MPEG4/ISO/AVC, track 7 is A_OPUS;"]
        ),
        (
            [track(1, "V_MS/VFW/FOURCC", EBML.codecPrivate.element(bitmapHeader("XVID")))],
            ["track 1 is V_MS/VFW/FOURCC with XVID"]
        ),
        ([track(1, "V_MS/VFW/FOURCC", EBML.codecPrivate.element(bitmapHeader("LJPG")))], ["with LJPG"]),
        ([track(1, "V_MS/VFW/FOURCC", EBML.codecPrivate.element([40, 0]))], ["track 1 is V_MS/VFW/FOURCC;"]),
        ([track(1, "V_MS/VFW/FOURCC", EBML.codecPrivate.element(bitmapHeader("\u{1}\u{2}\u{3}\u{4}")))], ["FOURCC;"]),
        ([track(1, "V_MS/VFW/FOURCC")], ["track 1 is V_MS/VFW/FOURCC;"]),
        (
            [track(1, "V_UNCOMPRESSED", EBML.codecPrivate.element([UInt8](repeating: 0, count: 70_000)))],
            ["V_UNCOMPRESSED"]
        ),
        ([track(3, "V_MJPEG", encodings([(0, 1, 0, 1, [])]))], ["track 3 is compressed with bzlib", "-c copy"]),
        ([track(1, "V_MJPEG", encodings([(0, 1, 0, 2, [])]))], ["compressed with lzo1x"]),
        ([track(1, "V_MJPEG", encodings([(0, 1, 0, 9, [])]))], ["compressed with algorithm 9"]),
        ([track(1, "V_MJPEG", encodings([(0, 1, 0, 3, [1]), (1, 1, 1, 0, [])]))], ["track 1 is encrypted"]),
    ]

    @Test(arguments: foreign.indices) func `what cannot be read is named`(index: Int) throws {
        let (tracks, words) = Self.foreign[index]
        let error = #expect(throws: CommandFailure.self) {
            try read(Self.file(tracks, [Self.simple(1, 0, [1, 2, 3])]))
        }
        for word in words { #expect(error?.message.contains(word) == true, "\(error?.message ?? "")") }
        #expect(error?.code == .badData)
    }

    @Test func `the first track of Motion JPEG that can be read is chosen among others`() throws {
        let tracks = [
            Self.track(1, "A_PCM/INT/LIT"), Self.track(2, "V_MJPEG", Self.encodings([(0, 1, 1, 0, [])])),
            Self.track(200, "V_MJPEG"), Self.track(4, "V_MJPEG"),
        ]
        // A track's number of two bytes.
        let ours = Self.element(0xA3, [0x40, 200, 0, 5, 0x80] + Self.jpegs[0])
        let bytes = Self.file(tracks, [Self.simple(1, 0, [9]) + Self.simple(4, 1, [8]) + ours + Self.simple(2, 0, [])])
        let entries = try read(bytes).entries
        #expect(entries.map(\.jpeg) == [Self.jpegs[0]] && entries.map(\.time) == [5_000_000])
    }

    @Test func `a block of another track may be of any size`() throws {
        let large = [UInt8](repeating: 0, count: MatroskaReader.maximumFrameLength + 1)
        let tracks = [Self.track(1, "V_MJPEG"), Self.track(2, "V_UNCOMPRESSED")]
        let bytes = Self.file(tracks, [Self.simple(2, 0, large) + Self.simple(1, 0, Self.jpegs[0])])
        #expect(try read(bytes).entries.map(\.jpeg) == [Self.jpegs[0]])
    }

    @Test func `frames before their tracks are an error`() throws {
        let cluster = Self.element(0x1F43_B675, EBML.timestamp.element(0 as UInt64) + Self.simple(1, 0, Self.jpegs[0]))
        let content = cluster + EBML.tracks.element([Self.track(1, "V_MJPEG")])
        let error = #expect(throws: CommandFailure.self) {
            try read(EBML.header.element([UInt8]()) + Self.element(0x1853_8067, content))
        }
        #expect(error?.message.contains("its tracks follow its frames") == true)
    }

    @Test func `a second segment is read with tracks of its own`() throws {
        let first = Self.file(Self.track(1, "V_MJPEG"))
        let second = Self.file(
            [Self.track(1, "A_OPUS"), Self.track(2, "V_MJPEG")],
            [Self.simple(1, 0, [5]) + Self.simple(2, 0, Self.jpegs[3])]
        )
        #expect(try read(first + second).entries.map(\.jpeg) == Self.jpegs + [Self.jpegs[3]])
    }

    // MARK: Structure

    @Test func `unknown sizes, block groups, checksums and voids are read or skipped`() throws {
        let void = Self.element(0xEC, [UInt8](repeating: 0xA3, count: 40))
        let checksum = Self.element(0xBF, [1, 2, 3, 4])
        func group(_ jpeg: [UInt8]) -> [UInt8] {
            Self.element(0xA0, void + Self.element(0xA1, Self.block(1, 3, 0, jpeg)) + Self.number(0x9B, 40))
        }
        let clusters = [
            void + Self.simple(1, 0, Self.jpegs[0]) + group(Self.jpegs[1]), checksum + group(Self.jpegs[2]) + void,
        ]
        for isUnknown in [false, true] {
            let contents = try read(
                Self.file([checksum + void + Self.track(1, "V_MJPEG", void)], clusters, isUnknown: isUnknown)
            )
            #expect(contents.entries.map(\.jpeg) == Array(Self.jpegs[..<3]) && contents.isWhole)
            #expect(contents.entries.map(\.time) == [0, 3_000_000, 103_000_000])
        }
    }

    // MARK: Lacing

    /// Frames in one block, by the flags of its kind.
    private static func laced(_ frames: [[UInt8]], _ flags: UInt8) -> [UInt8] {
        var sizes: [UInt8] = []
        switch flags {
        case 0x02:
            for frame in frames.dropLast() {
                sizes += [UInt8](repeating: 255, count: frame.count / 255) + [UInt8(frame.count % 255)]
            }
        case 0x06:
            for (index, frame) in frames.dropLast().enumerated() {
                // Three bytes: the length itself, or the difference with half of what they hold.
                let value = index == 0 ? frame.count : frame.count - frames[index - 1].count + 1 << 20 - 1
                sizes += [0x20 | UInt8(value >> 16), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
            }
        default: break
        }
        return simple(1, 0, [UInt8(frames.count - 1)] + sizes + frames.joined(), flags: flags)
    }

    @Test(arguments: [0x02, 0x04, 0x06] as [UInt8], [0, 40_000_000] as [UInt64])
    func `several frames in one block are read, each at its time`(flags: UInt8, interval: UInt64) throws {
        let frames = flags == 0x04 ? Array(repeating: Self.jpegs[1], count: 3) : [3, 0, 2].map { Self.jpegs[$0] }
        let track = Self.track(1, "V_MJPEG", EBML.frameDuration.element(interval))
        let entries = try read(Self.file([track], [Self.laced(frames, flags), Self.laced([Self.jpegs[0]], flags)]))
            .entries
        #expect(entries.map(\.jpeg) == frames + [Self.jpegs[0]])
        #expect(entries.map(\.time) == [0, interval, 2 * interval, 100_000_000])
    }

    @Test(arguments: [0x02, 0x04, 0x06] as [UInt8])
    func `lengths that contradict each other cost their block alone`(flags: UInt8) throws {
        let bad = Self.simple(1, 0, [9, 255, 255, 255, 1, 2, 3], flags: flags)
        let entries = try read(Self.file([Self.track(1, "V_MJPEG")], [bad, Self.simple(1, 0, Self.jpegs[2])])).entries
        #expect(entries.map(\.jpeg) == [[], Self.jpegs[2]])
    }

    // MARK: Compression

    @Test func `bytes that were removed from the beginning of every frame are put back`() throws {
        let common: [UInt8] = [0xFF, 0xD8, 0xFF]
        let track = Self.track(1, "V_MJPEG", Self.encodings([(0, 1, 0, 3, common)]))
        let frames = Self.jpegs.map { Array($0.dropFirst(common.count)) }
        #expect(try read(Self.file(track, frames: frames)).entries.map(\.jpeg) == Self.jpegs)
    }

    @Test func `frames that are compressed with zlib are read, and a damaged one has no bytes`() throws {
        let track = Self.track(1, "V_MJPEG", Self.encodings([(0, 1, 0, 0, [])]))
        var frames = Self.jpegs.map(HandmadePNG.deflated)
        #expect(try read(Self.file(track, frames: frames)).entries.map(\.jpeg) == Self.jpegs)
        frames[1][frames[1].count - 1] ^= 1
        frames[2].removeLast(100)
        frames[3] = []
        #expect(try read(Self.file(track, frames: frames)).entries.map(\.jpeg) == [Self.jpegs[0], [], [], []])
    }

    @Test(arguments: [element(0x6240, []), element(0x6240, number(0x5031, 0))])
    func `an encoding that describes nothing changes nothing`(encoding: [UInt8]) throws {
        let track = Self.track(1, "V_MJPEG", Self.element(0x6D80, encoding))
        #expect(try read(Self.file(track)).entries.map(\.jpeg) == Self.jpegs)
    }

    @Test func `compression is by zlib unless an algorithm is named`() throws {
        let track = Self.track(1, "V_MJPEG", Self.element(0x6D80, Self.element(0x6240, Self.element(0x5034, []))))
        let frames = Self.jpegs.map(HandmadePNG.deflated)
        #expect(try read(Self.file(track, frames: frames)).entries.map(\.jpeg) == Self.jpegs)
    }

    @Test func `a frame that inflates to more than a frame can be has no bytes`() throws {
        let track = Self.track(1, "V_MJPEG", Self.encodings([(0, 1, 0, 0, [])]))
        let bomb = HandmadePNG.deflatedZeros(MatroskaReader.maximumFrameLength / 258 + 1000)
        let frames = [bomb, HandmadePNG.deflated(Self.jpegs[0])]
        #expect(try read(Self.file(track, frames: frames)).entries.map(\.jpeg) == [[], Self.jpegs[0]])
    }

    @Test func `several encodings are undone in their order, and only those of frames`() throws {
        // What belongs to the codec is compressed as well, by the second one.
        let list: [(UInt64, UInt64, UInt64, UInt64, [UInt8])] = [
            (0, 1, 0, 3, [0xFF, 0xD8]), (1, 3, 0, 0, []), (2, 2, 0, 3, [0x78]),
        ]
        let codec = EBML.codecPrivate.element(Array(HandmadePNG.deflated(Self.bitmapHeader("MJPG")).dropFirst()))
        let track = Self.track(1, "V_MS/VFW/FOURCC", codec, Self.encodings(list))
        let frames = Self.jpegs.map { HandmadePNG.deflated(Array($0.dropFirst(2))) }
        #expect(try read(Self.file(track, frames: frames)).entries.map(\.jpeg) == Self.jpegs)
    }

    // MARK: Damage

    // MARK: Other programs

    @Test(.needs("gst-launch-1.0"), arguments: ["", "streamable=true", "version=1", "min-index-interval=0"])
    func `what GStreamer writes is read`(option: String) async throws {
        let place = try Workplace()
        let written = try await place.shell(
            """
            gst-launch-1.0 -q videotestsrc num-buffers=10 ! video/x-raw,width=64,height=48,framerate=25/1 ! jpegenc ! \
            matroskamux \(option) ! filesink location=$D/a.mkv
            """
        ).ended()
        try #require(written.status == 0, "\(written)")
        let contents = try read(Data.bytes(at: place.path("a.mkv")))
        #expect(contents.entries.map(\.time) == (0..<10).map { $0 * 40_000_000 } && contents.isWhole)
        for entry in contents.entries { #expect(try JPEGHeader(inspecting: entry.jpeg.span).width == 64) }
    }
}
