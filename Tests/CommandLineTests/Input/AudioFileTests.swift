import Foundation
import FrameSocket
import TestSupport
import Testing

@testable import FrameSocketTool

/// Audio files, put together byte by byte or written by other programs, many of them wrong.
@Suite struct AudioFileTests {
    /// What is read of a file: its format and blocks, and why the reading ended.
    private struct Reading {
        var format: AudioBlock.Format?
        var blocks: [AudioBlock] = []
        var failure: CommandFailure?

        var samples: [Int16] { blocks.flatMap(\.samples) }
    }

    private let place = Workplace.new

    private func read(_ bytes: [UInt8]) throws -> Reading { read(try place.file("audio", bytes)) }

    private func read(_ path: String) -> Reading {
        var reading = Reading()
        do throws(CommandFailure) {
            var file = try AudioFile(path)
            reading.format = file.format
            while let block = try file.next() { reading.blocks.append(block) }
        } catch {
            reading.failure = error
        }
        return reading
    }

    /// Reads what a command of the shell writes to a pipe.
    private func readPipe(_ command: String) async throws -> Reading {
        let pipe = place.path("pipe")
        let writer = try place.shell("mkfifo '\(pipe)' && { \(command); } >'\(pipe)'")
        while !FileManager.default.fileExists(atPath: pipe) { await Task.yield() }
        let reading = await Task(executorPreference: IOThread()) { [self] in read(pipe) }.value
        writer.kill()
        try FileManager.default.removeItem(atPath: pipe)
        return reading
    }

    private func readPipe(_ bytes: [UInt8]) async throws -> Reading {
        let pipe = try InputPipe()
        defer { close(pipe.readEnd) }
        pipe.write(bytes)
        pipe.end()
        return await Task(executorPreference: IOThread()) { [self] in read("/dev/fd/\(pipe.readEnd)") }.value
    }

    /// Sees what is read of these bytes, from a file and from a pipe: all samples, or the first ones and an error for a reason.
    private func check(_ bytes: [UInt8], _ samples: [Int16], _ reason: String? = nil, _ name: String = "") async throws
    {
        for reading in [try read(bytes), try await readPipe(bytes)] {
            let message = reading.failure.map { $0.code == .badData ? $0.message : "code \($0.code)" }
            let isExpected = reason.map { message?.contains($0) == true } ?? (message == nil)
            #expect(
                isExpected && reading.samples == samples,
                "\(name) \(reason ?? ""): \(message ?? ""), \(reading.samples)"
            )
        }
    }

    // MARK: WAVE

    @Test(arguments: [1, 1_023, 1_024, 1_025, 5_000], 1...2)
    func `samples are read in blocks of 1024 frames with their times`(frames: Int, channels: Int) throws {
        let samples = (0..<frames * channels).map { Int16(truncatingIfNeeded: $0 &* 7_919) }
        let reading = try read(wave([format(channels: channels), data(samples)]))
        #expect(reading.failure == nil)
        #expect(try reading.format == AudioBlock.Format(sampleRate: 44_100, channels: channels))
        #expect(reading.samples == samples)
        #expect(reading.blocks.dropLast().allSatisfy { $0.frameCount == 1_024 })
        for (index, block) in reading.blocks.enumerated() {
            #expect(block.timestamp == UInt64(index) * 1_024 * 1_000_000_000 / 44_100)
        }
    }

    @Test func `every sample of 16 bits is read as itself`() throws {
        let samples = (Int(Int16.min)...Int(Int16.max)).map { Int16($0) }
        #expect(try read(wave([format(), data(samples)])).samples == samples)
    }

    /// Files that are right, though not in the plainest shape.
    private static let unusual: [[UInt8]] = [
        wave([chunk("odd ", [1, 2, 3]), format(), chunk("odd ", [1]), data([5, -6])]),
        wave([chunk("JUNK", [UInt8](repeating: 0x41, count: 200_001)), format(), data([5, -6])]),
        wave([format(), data([5, -6]), chunk("LIST", [1, 2, 3, 4])]),
        wave([format(), data([5, -6])]) + [1, 2, 3],
        wave([extensible(), data([5, -6])]),
        // The RIFF chunk's size is asked for only if there are no samples.
        wave([format(), data([5, -6])], size: 0),
        wave([format(), data([5, -6])], size: 7),
        wave([format(), data([5, -6])], size: .max),
        // An odd number of bytes: what is no whole frame is no sample.
        wave([format(), chunk("data", [5, 0, 0xFA, 0xFF, 9])]),
        wave([chunk("ds64", long(60) + long(4) + long(2) + number(0)), format(), data([5, -6], size: .max)], "RF64"),
    ]

    @Test func `chunks that are not needed are skipped`() async throws {
        for (number, bytes) in Self.unusual.enumerated() { try await check(bytes, [5, -6], nil, "file \(number)") }
    }

    /// Sizes that programs state while they do not know the real one.
    private static let placeholders: [UInt32] = [
        0, 0x7FFF_F000, 0x7FFF_FFFF, 0x7FFF_FFDB, 0x7FFF_FFFE, 0x8000_0000, 0x8000_0024, 0x7FFF_0000, 0xFFFF_FFFF,
        0xFFFF_FFFE, 0xFFFF_FFDB, 0xFFFF_F000, 0x7F00_0000,
    ]

    @Test func `a size that is unknown means all samples up to the end`() async throws {
        let samples = (0..<3_000).map { Int16($0) }
        for size in Self.placeholders {
            for riff in [size, 0, 36, .max, 6_036] as [UInt32] {
                let bytes = wave([format(), data(samples, size: size)], size: riff)
                try await check(bytes, samples, nil, "\(size) in RIFF \(riff)")
            }
        }
        for size in [0, .max, 1 << 62] as [Int] {
            let sizes = chunk("ds64", long(size) + long(size) + long(0) + number(0))
            try await check(
                wave([sizes, format(), data([5, -6], size: .max)], "RF64"),
                [5, -6],
                nil,
                "64 bits: \(size)"
            )
        }
    }

    /// Samples of each kind, and what is nearest to them in 16 bits.
    private static let kinds: [(name: String, format: [UInt8], bytes: [UInt8], samples: [Int16])] = [
        ("8 bits", format(align: 1, bits: 8), [0, 0x80, 0xFF, 0x81], [-32_768, 0, 32_512, 256]),
        (
            "24 bits", format(align: 3, bits: 24), [0, 0, 0x80, 0xFF, 0xFF, 0x7F, 0x80, 1, 0, 0x7F, 1, 0],
            [-32_768, 32_767, 2, 1]
        ),
        (
            "32 bits", format(align: 4, bits: 32), number(0x8000_0000) + number(0x7FFF_FFFF) + number(0x0001_8000),
            [-32_768, 32_767, 2]
        ),
        (
            "float", format(tag: 3, align: 4, bits: 32),
            [-1, 0.5, 1, 2, -2, .nan, .infinity].flatMap { number(($0 as Float).bitPattern) },
            [-32_768, 16_384, 32_767, 32_767, -32_768, 0, 32_767]
        ),
        (
            "double", format(tag: 3, align: 8, bits: 64),
            [-1, 0.5, 1].flatMap { long(Int(bitPattern: UInt(($0 as Double).bitPattern))) }, [-32_768, 16_384, 32_767]
        ),
        // ITU-T G.711: the least and the greatest value of each law.
        ("A-law", format(tag: 6, align: 1, bits: 8), [0xD5, 0x55, 0xAA, 0x2A], [8, -8, 32_256, -32_256]),
        ("µ-law", format(tag: 7, align: 1, bits: 8), [0xFF, 0x80, 0x00, 0x7F], [0, 32_124, -32_124, 0]),
        ("extensible float", extensible(tag: 3, align: 4, bits: 32), number((0.5 as Float).bitPattern), [16_384]),
    ]

    @Test func `samples of every kind become the nearest of 16 bits`() async throws {
        for kind in Self.kinds {
            for size in [UInt32(kind.bytes.count), .max] {
                let bytes = wave([kind.format, chunk("data", kind.bytes, size: size)])
                try await check(bytes, kind.samples, nil, kind.name)
            }
        }
    }

    /// Files that are wrong: the samples that come out first, and a word of the reason.
    private static let wrong: [([UInt8], [Int16], String)] = [
        ([], [], "empty"),
        (Array("RIFF".utf8), [], "not audio"),
        ([UInt8](repeating: 0, count: 100), [], "not audio"),
        (wave([format()]), [], "not audio"),
        // Sizes that lie.
        (wave([chunk("LIST", [1, 2], size: .max), format(), data([1])]), [], "not audio"),
        (wave([chunk("LIST", [], size: 0xFFFF)]), [], "not audio"),
        // Files that are cut off: their size is no placeholder.
        (wave([format(), data([1, 2, 3], size: 8)]), [1, 2, 3], "after 3 frames"),
        (wave([format(), data([1, 2, 3], size: 0x7000_0000)]), [1, 2, 3], "after 3 frames"),
        (wave([format(), data([1, 2, 3], size: 0xF000_0000)]), [1, 2, 3], "after 3 frames"),
        (wave([format(), data([], size: 2)]), [], "after 0 frames"),
        (wave([format(), data([1, 2, 3], size: 6)]).dropLast(), [1, 2], "after 2 frames"),
        (
            wave(
                [chunk("ds64", long(1 << 34) + long(1 << 33) + long(0) + number(0)), format(), data([1], size: .max)],
                "RF64"
            ),
            [1], "after 1 frames"
        ),
        // Nothing that could be heard.
        (wave([format(), data([])]), [], "no samples"),
        (wave([format(), data([], size: .max)]), [], "no samples"),
        // Formats that are invalid or not supported.
        (wave([format(tag: 0), data([1])]), [], "not audio"),
        (wave([format(channels: 0), data([1])]), [], "not audio"),
        (wave([format(channels: 6), data([1, 2, 3, 4, 5, 6])]), [], "channel count 6"),
        (wave([format(rate: 0), data([1])]), [], "not audio"),
        (wave([format(rate: 4_000), data([1])]), [], "-ar 48000"),
    ]

    @Test func `an invalid file is rejected with the reason`() async throws {
        for (number, (bytes, samples, reason)) in Self.wrong.enumerated() {
            try await check(bytes, samples, reason, "file \(number)")
        }
    }

    @Test func `of a pipe, at most 16 MiB are kept for what may precede its samples`() async throws {
        for (count, isRead) in [(15 << 20, true), (16 << 20, false)] {
            let junk = chunk("JUNK", [UInt8](repeating: 0, count: count))
            let reading = try await readPipe(wave([junk, format(), data([5])]))
            #expect(reading.samples == (isRead ? [5] : []) && (reading.failure == nil) == isRead)
        }
    }

    @Test func `a file cut off at any byte is too short, or is read completely`() throws {
        let bytes = wave([chunk("LIST", [1, 2, 3]), extensible(), data([1, 2, 3, 4])])
        for count in bytes.indices {
            let reading = try read(Array(bytes[..<count]))
            #expect(reading.failure?.code == .badData, "\(count) bytes")
            #expect([1, 2, 3, 4].starts(with: reading.samples))
        }
    }

    @Test func `bytes changed at random never trap`() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(seed: seed)
        let bytes = wave([chunk("LIST", [1, 2, 3]), extensible(), data([1, 2, 3, 4])])
        for _ in 0..<500 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                changed[Int.random(in: changed.indices, using: &random)] =
                    [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
            }
            let reading = try read(changed)
            #expect(reading.samples.count <= 4 * bytes.count, "SEED=\(seed): \(changed)")
            #expect(reading.failure.map { $0.code == .badData } ?? (reading.format != nil), "SEED=\(seed): \(changed)")
        }
    }

    @Test(arguments: ["/nonexistent/audio.wav", "/tmp"])
    func `a file that cannot be read is missing input`(path: String) {
        #expect(read(path).failure?.code == .noInput)
    }

    // MARK: Other programs

    /// Half a second of a tone, as 48 kHz stereo.
    private static let tone = "ffmpeg -nostdin -v error -f lavfi -i sine=440:duration=0.5:sample_rate=48000 -ac 2"

    /// What writes to a pipe, whether the samples are exact, and whether their count is.
    private static let pipes: [(command: String, isExact: Bool, isWhole: Bool)] = [
        ("\(tone) -f wav - | cat", true, true),
        ("\(tone) -rf64 always -f wav - | cat", true, true),
        ("\(tone) -f au - | cat", true, true),
        ("\(tone) -f flac - | cat", true, true),
        ("\(tone) -c:a pcm_s24le -f wav - | cat", false, true),
        ("\(tone) -c:a pcm_f32le -f wav - | cat", false, true),
        ("\(tone) -c:a pcm_alaw -f wav - | cat", false, true),
        ("\(tone) -c:a pcm_mulaw -f wav - | cat", false, true),
        ("\(tone) -c:a adpcm_ima_wav -f wav - | cat", false, false),
        ("sox $D/tone.wav -t wav - | cat", true, true),
        ("cat $D/tone.wav | sox -t wav - -t wav - | cat", true, true),
        ("cat $D/tone.wav | sox -t wav - -t au - | cat", true, true),
        ("cat $D/tone.wav | sox -t wav - -t aiff - | cat", true, true),
        ("cat $D/tone.wav | sox -t wav - -b 24 -t wav - | cat", true, true),
        // It adds a chunk of text to the samples.
        ("gst-launch-1.0 -q filesrc location=$D/tone.wav ! wavparse ! wavenc ! fdsink 2>&- | cat", true, false),
    ]

    @Test(.needs("ffmpeg", "sox", "gst-launch-1.0"), arguments: pipes.indices)
    func `what other programs write to a pipe is read to its end`(index: Int) async throws {
        let pipe = Self.pipes[index]
        try await place.shell("\(Self.tone) -y $D/tone.wav").ended(0)
        let expected = read(place.path("tone.wav")).samples
        try #require(expected.count == 48_000)
        let reading = try await readPipe(pipe.command)
        #expect(reading.failure == nil, "\(pipe.command): \(String(describing: reading.failure))")
        let count = reading.samples.count
        #expect(pipe.isWhole ? count == 48_000 : (48_000..<56_000).contains(count), "\(pipe.command): \(count)")
        // The tone itself is computed with more than 16 bits; both laws keep 5 of them.
        let distances = zip(reading.samples, expected).map { abs(Int($0) - Int($1)) }
        if pipe.isWhole || pipe.isExact { #expect(distances.max() ?? 0 <= (pipe.isExact ? 0 : 128), "\(pipe.command)") }
    }

    @Test(.needs("ffmpeg"), arguments: ["flac", "ogg", "aiff", "au", "w64", "caf", "mp3"])
    func `a file in another format is read, and one that is cut off is an error`(kind: String) async throws {
        try await place.shell("\(Self.tone) -y $D/tone.wav && \(Self.tone) -y $D/tone.\(kind)").ended(0)
        let reading = read(place.path("tone.\(kind)"))
        #expect(reading.failure == nil, "\(String(describing: reading.failure))")
        let isLossy = ["ogg", "mp3"].contains(kind)
        // libsndfile reads W64 to the end of the file, whatever its header states.
        let statesLength = !isLossy && kind != "w64"
        let isEqual = reading.samples == read(place.path("tone.wav")).samples
        #expect(isLossy ? reading.samples.count >= 48_000 : isEqual)
        guard statesLength else { return }
        let bytes = try Data.bytes(at: place.path("tone.\(kind)"))
        let cut = try read(Array(bytes[..<(bytes.count * 2 / 3)]))
        #expect(cut.failure?.code == .badData, "\(kind): \(cut.samples.count)")
        #expect(!cut.samples.isEmpty)
    }
}

private func number(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }

private func long(_ value: Int) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }

private func short(_ value: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)] }

func chunk(_ name: String, _ content: [UInt8], size: UInt32? = nil) -> [UInt8] {
    let padding: [UInt8] = content.count.isMultiple(of: 2) ? [] : [0]
    return Array(name.utf8) + number(size ?? UInt32(content.count)) + content + padding
}

func wave(_ chunks: [[UInt8]], _ kind: String = "RIFF", size: UInt32? = nil) -> [UInt8] {
    let content = Array("WAVE".utf8) + chunks.flatMap { $0 }
    return Array(kind.utf8) + number(size ?? (kind == "RIFF" ? UInt32(content.count) : .max)) + content
}

func data(_ samples: [Int16], size: UInt32? = nil) -> [UInt8] {
    chunk("data", samples.flatMap { short(UInt16(bitPattern: $0)) }, size: size)
}

func format(
    tag: UInt16 = 1,
    channels: Int = 1,
    rate: UInt32 = 44_100,
    align: UInt16? = nil,
    bits: UInt16 = 16,
    extra: [UInt8] = []
) -> [UInt8] {
    let align = align ?? UInt16(truncatingIfNeeded: channels * 2)
    let first = short(tag) + short(UInt16(truncatingIfNeeded: channels)) + number(rate)
    return chunk("fmt ", first + number(rate &* UInt32(align)) + short(align) + short(bits) + extra)
}

private func extensible(tag: UInt16 = 1, align: UInt16? = nil, bits: UInt16 = 16) -> [UInt8] {
    let end: [UInt8] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]
    return format(tag: 0xFFFE, align: align, bits: bits, extra: short(22) + short(bits) + number(4) + short(tag) + end)
}
