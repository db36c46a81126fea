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

    private func read(_ bytes: [UInt8]) -> MatroskaContents { MatroskaContents(of: bytes) }

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

    /// What was done to the frames of a track: compression by an algorithm, or encryption.
    private static func encoding(_ type: UInt64, _ detail: [UInt8]) -> [UInt8] {
        element(0x6D80, element(0x6240, number(0x5033, type) + detail))
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

    private static let codecs: [[UInt8]] =
        [track(1, "V_MJPEG")]
        + ["MJPG", "mjpg"].map { track(1, "V_MS/VFW/FOURCC", EBML.codecPrivate.element(bitmapHeader($0))) }
        + [
            track(
                1,
                "V_QUICKTIME",
                EBML.codecPrivate.element([0, 0, 0, 86] + Array("jpeg".utf8) + [UInt8](repeating: 0, count: 78))
            )
        ]

    @Test(arguments: codecs) func `Motion JPEG is read under the names that programs give it`(track: [UInt8]) {
        let contents = read(Self.file(track))
        #expect(contents.entries.map(\.jpeg) == Self.jpegs && contents.isWhole)
        #expect(contents.entries.map(\.time) == [0, 100, 200, 300].map { $0 * 1_000_000 })
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
        ([track(1, "V_MS/VFW/FOURCC", EBML.codecPrivate.element(bitmapHeader("CJPG")))], ["with CJPG", "-c:v mjpeg"]),
        // By zlib, by bzlib, and encryption.
        ([track(3, "V_MJPEG", encoding(0, element(0x5034, [])))], ["track 3 is compressed or encrypted", "-c copy"]),
        ([track(1, "V_MJPEG", encoding(0, element(0x5034, number(0x4254, 1))))], ["compressed or encrypted"]),
        ([track(1, "V_MJPEG", encoding(1, element(0x5035, number(0x47E1, 5))))], ["compressed or encrypted"]),
        ([], ["no Motion JPEG track is described before its frames", "-c copy"]),
    ]

    @Test(arguments: foreign.indices) func `what cannot be read is named`(index: Int) {
        let (tracks, words) = Self.foreign[index]
        let failure = read(Self.file(tracks, [Self.simple(1, 0, [1, 2, 3])])).failure
        for word in words { #expect(failure?.message.contains(word) == true, "\(failure?.message ?? "")") }
        #expect(failure?.code == .badData)
    }

    @Test(arguments: [0x02, 0x04, 0x06] as [UInt8])
    func `several frames in one block are named, and the frames before are read`(flags: UInt8) {
        let laced = Self.simple(1, 0, [1, 4, 1, 2, 3, 4, 5, 6, 7, 8], flags: flags)
        let contents = read(Self.file([Self.track(1, "V_MJPEG")], [Self.simple(1, 0, Self.jpegs[0]), laced]))
        #expect(contents.entries.map(\.jpeg) == [Self.jpegs[0]])
        #expect(
            contents.failure?.message.contains("several of its frames are in one block; rewrite it: ffmpeg") == true
        )
    }

    @Test func `the first track of Motion JPEG that can be read is chosen among others`() {
        let tracks = [
            Self.track(1, "A_PCM/INT/LIT"), Self.track(2, "V_MJPEG", Self.encoding(1, [])),
            Self.track(200, "V_MJPEG"), Self.track(4, "V_MJPEG"),
        ]
        // A track's number of two bytes.
        let ours = Self.element(0xA3, [0x40, 200, 0, 5, 0x80] + Self.jpegs[0])
        let bytes = Self.file(tracks, [Self.simple(1, 0, [9]) + Self.simple(4, 1, [8]) + ours + Self.simple(2, 0, [])])
        let entries = read(bytes).entries
        #expect(entries.map(\.jpeg) == [Self.jpegs[0]] && entries.map(\.time) == [5_000_000])
    }

    @Test func `a block of another track may be of any size`() {
        let large = [UInt8](repeating: 0, count: MatroskaReader.maximumFrameLength + 1)
        let tracks = [Self.track(1, "V_MJPEG"), Self.track(2, "V_UNCOMPRESSED")]
        let bytes = Self.file(tracks, [Self.simple(2, 0, large) + Self.simple(1, 0, Self.jpegs[0])])
        #expect(read(bytes).entries.map(\.jpeg) == [Self.jpegs[0]])
    }

    @Test func `a second segment is read with tracks of its own`() {
        let first = Self.file(Self.track(1, "V_MJPEG"))
        let second = Self.file(
            [Self.track(1, "A_OPUS"), Self.track(2, "V_MJPEG")],
            [Self.simple(1, 0, [5]) + Self.simple(2, 0, Self.jpegs[3])]
        )
        #expect(read(first + second).entries.map(\.jpeg) == Self.jpegs + [Self.jpegs[3]])
    }

    // MARK: Structure

    @Test func `unknown sizes, block groups, checksums and voids are read or skipped`() {
        let void = Self.element(0xEC, [UInt8](repeating: 0xA3, count: 40))
        let checksum = Self.element(0xBF, [1, 2, 3, 4])
        func group(_ jpeg: [UInt8]) -> [UInt8] {
            Self.element(0xA0, void + Self.element(0xA1, Self.block(1, 3, 0, jpeg)) + Self.number(0x9B, 40))
        }
        let clusters = [
            void + Self.simple(1, 0, Self.jpegs[0]) + group(Self.jpegs[1]), checksum + group(Self.jpegs[2]) + void,
        ]
        for isUnknown in [false, true] {
            let contents = read(
                Self.file([checksum + void + Self.track(1, "V_MJPEG", void)], clusters, isUnknown: isUnknown)
            )
            #expect(contents.entries.map(\.jpeg) == Array(Self.jpegs[..<3]) && contents.isWhole)
            #expect(contents.entries.map(\.time) == [0, 3_000_000, 103_000_000])
        }
    }

    @Test func `a file cut off at any byte contains every frame that was complete by then`() {
        let whole = Self.file(Self.track(1, "V_MJPEG"))
        for count in whole.indices.dropFirst() {
            let contents = read(Array(whole[..<count]))
            #expect(
                Self.jpegs.starts(with: contents.entries.map(\.jpeg)) && contents.entries.count < 4,
                "\(count) bytes"
            )
            #expect(contents.failure == nil || contents.entries.isEmpty, "\(count) bytes")
        }
    }

    @Test func `random changes cause nothing worse than an error`() {
        let codec = EBML.codecPrivate.element(Self.bitmapHeader("MJPG"))
        let whole = Self.file(Self.track(1, "V_MS/VFW/FOURCC", codec), frames: [[1, 2, 3], [4, 5], [6]])
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(seed: seed)
        for _ in 0..<2_000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            #expect(read(bytes).entries.count <= 64, "SEED=\(seed)")
        }
    }

    // MARK: Other programs

    /// What makes `$D/a.mkv` of so many frames, 25 a second.
    private static let writers: [(command: String, count: Int)] =
        ["", "streamable=true", "version=1", "min-index-interval=0"].map { option in
            (
                """
                gst-launch-1.0 -q videotestsrc num-buffers=10 ! video/x-raw,width=64,height=48,framerate=25/1 ! jpegenc ! \
                matroskamux \(option) ! filesink location=$D/a.mkv
                """, 10
            )
        }
        + ["", "-live 1", "-cluster_time_limit 100 -reserve_index_space 1000"].map { option in
            (
                """
                ffmpeg -nostdin -v error -f lavfi -i testsrc=size=64x48:rate=25 -f lavfi -i sine -t 2 -c:v mjpeg \
                -c:a pcm_s16le \(option) $D/a.mkv
                """, 50
            )
        }

    @Test(.needs("gst-launch-1.0", "ffmpeg"), arguments: writers.indices)
    func `what other programs write is read`(index: Int) async throws {
        let (place, (command, count)) = (try Workplace(), Self.writers[index])
        try await place.shell(command).ended(0)
        let contents = try read(Data.bytes(at: place.path("a.mkv")))
        #expect(contents.entries.map(\.time) == (0..<UInt64(count)).map { $0 * 40_000_000 } && contents.isWhole)
        for entry in contents.entries { #expect(try JPEGHeader(inspecting: entry.jpeg.span).width == 64) }
    }

    @Test(
        .needs("ffmpeg"),
        arguments: [
            ("libvpx", "V_VP8"), ("ffv1", "V_MS/VFW/FOURCC with FFV1"), ("mpeg4", "V_MPEG4/ISO/ASP"),
            ("huffyuv", "FOURCC with HFYU"),
        ]
    )
    func `the codec that ffmpeg has written is named`(codec: String, name: String) async throws {
        let place = try Workplace()
        try await place.shell(
            "ffmpeg -nostdin -v error -f lavfi -i testsrc=size=64x48:rate=25 -t 0.2 -c:v \(codec) -y $D/a.mkv"
        ).ended(0)
        let failure = try read(Data.bytes(at: place.path("a.mkv"))).failure
        #expect(failure?.code == .badData && failure?.message.contains(name) == true, "\(String(describing: failure))")
    }
}
