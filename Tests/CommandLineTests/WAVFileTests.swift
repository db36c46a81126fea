import Foundation
import FrameSocket
import Testing

@testable import FrameSocketTool

/// WAVE files put together byte by byte, most of them wrong.
@Suite struct WAVFileTests {
    /// What is read of a file: its format and blocks, and why the reading ended.
    private struct Reading {
        var format: AudioFormat?
        var blocks: [AudioBlock] = []
        var failure: CommandFailure?

        var samples: [Int16] { blocks.flatMap(\.samples) }
    }

    private func read(_ bytes: [UInt8], startTime: UInt64 = 0) throws -> Reading {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("audio-\(UUID().uuidString).wav")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return read(file.path, startTime: startTime)
    }

    private func read(_ path: String, startTime: UInt64 = 0) -> Reading {
        var reading = Reading()
        do throws(CommandFailure) {
            var file = try WAVFile(path, startTime: startTime)
            reading.format = file.format
            while let block = try file.next() { reading.blocks.append(block) }
        } catch {
            reading.failure = error
        }
        return reading
    }

    @Test(arguments: [0, 1, 1_023, 1_024, 1_025, 5_000], 1...2)
    func `samples are read in blocks of 1024 frames with their times`(frames: Int, channels: Int) throws {
        let samples = (0..<frames * channels).map { Int16(truncatingIfNeeded: $0 &* 7_919) }
        let reading = try read(wave([format(channels: channels), data(samples)]), startTime: 1_000)
        #expect(reading.failure == nil)
        #expect(try reading.format == AudioFormat(sampleRate: 44_100, channels: channels))
        #expect(reading.samples == samples)
        #expect(reading.blocks.dropLast().allSatisfy { $0.frameCount == 1_024 })
        for (index, block) in reading.blocks.enumerated() {
            #expect(block.timestamp == 1_000 + UInt64(index) * 1_024 * 1_000_000_000 / 44_100)
        }
    }

    @Test func `a time beyond 64 bits is omitted`() throws {
        let bytes = wave([format(), data([Int16](repeating: 1, count: 2_000))])
        let reading = try read(bytes, startTime: .max)
        #expect(reading.failure == nil)
        #expect(reading.blocks.map(\.timestamp) == [.max, nil])
    }

    /// Files that are right, though not in the plainest shape.
    @Test(arguments: [
        wave([chunk("LIST", [1, 2, 3, 4]), format(), chunk("fact", [0, 0, 0, 0]), data([5, -6])]),
        wave([chunk("odd ", [1, 2, 3]), format(), chunk("odd ", [1]), data([5, -6])]),
        wave([chunk("JUNK", [UInt8](repeating: 0x41, count: 200_001)), format(), data([5, -6])]),
        wave([format(), data([5, -6]), chunk("LIST", [1, 2, 3, 4])]),
        wave([format(), data([5, -6])]) + [1, 2, 3],
        wave([format(extra: [0, 0]), data([5, -6])]),
        wave([format(extra: [1, 0, 9]), data([5, -6])]),
        wave([extensible(), data([5, -6])]),
        // Sizes as programs write them that cannot go back: the RIFF chunk's is never asked for.
        wave([format(), data([5, -6], size: .max)]),
        wave([format(), data([5, -6], size: .max)], size: .max),
        wave([format(), data([5, -6])], size: 0),
        wave(Array(repeating: chunk("none", []), count: 254) + [format(), data([5, -6])]),
    ])
    func `chunks that are not needed are skipped`(bytes: [UInt8]) throws {
        let reading = try read(bytes)
        #expect(reading.failure == nil)
        #expect(reading.samples == [5, -6])
    }

    /// Files that are wrong: the samples that come out first, and a word of the reason.
    @Test(
        arguments: [
            ([], [], "RIFF"),
            (Array("RIFF".utf8), [], "RIFF"),
            (Array("RIFX".utf8) + number(36) + Array("WAVE".utf8), [], "RIFF"),
            (Array("RF64".utf8) + number(36) + Array("WAVE".utf8), [], "RIFF"),
            (Array("RIFF".utf8) + number(36) + Array("AVI ".utf8), [], "RIFF"),
            ([UInt8](repeating: 0, count: 100), [], "RIFF"),
            (wave([]), [], "chunk's header"),
            (wave([format()]), [], "chunk's header"),
            (wave([data([1, 2])]), [], "precede their format"),
            (wave([format(), format(), data([1, 2])]), [], "two fmt"),
            (wave(Array(repeating: chunk("none", []), count: 256) + [format(), data([5])]), [], "256 chunks"),
            // Sizes that lie.
            (wave([chunk("LIST", [1, 2], size: .max), format(), data([1])]), [], "within a chunk"),
            (wave([chunk("LIST", [], size: 0x7FFF_FFFF)]), [], "within a chunk"),
            (wave([chunk("fmt ", [1, 0, 1, 0])]), [], "4 bytes"),
            (wave([chunk("fmt ", [], size: .max)]), [], "4294967295 bytes"),
            (wave([chunk("fmt ", [1, 0], size: 16)]), [], "within the fmt chunk"),
            (wave([format(), data([1, 2, 3], size: 8)]), [1, 2, 3], "after 3 frames"),
            (wave([format(), data([1, 2, 3], size: 0xFFFF_FFFE)]), [1, 2, 3], "after 3 frames"),
            (wave([format(), data([], size: 2)]), [], "after 0 frames"),
            (wave([format(), data([1, 2, 3], size: 6)]).dropLast(), [1, 2], "after 2 frames"),
            (wave([format(), data([1, 2, 3], size: .max)]).dropLast(), [1, 2], "after 2 frames"),
            (wave([format(), chunk("data", [1, 2, 3])]), [], "whole number"),
            (wave([format(channels: 2), data([1, 2, 3])]), [], "whole number"),
            // Formats that are invalid or not supported.
            (wave([format(tag: 0), data([1])]), [], "format 0"),
            (wave([format(tag: 3, bits: 32), data([1])]), [], "format 3"),
            (wave([format(tag: 6, bits: 8), data([1])]), [], "format 6"),
            (wave([format(bits: 8), data([1])]), [], "8 bits"),
            (wave([format(bits: 24), data([1])]), [], "24 bits"),
            (wave([format(bits: .max), data([1])]), [], "65535 bits"),
            (wave([format(channels: 0), data([1])]), [], "channel count 0"),
            (wave([format(channels: 6), data([1])]), [], "channel count 6"),
            (wave([format(channels: 65_535, align: 0), data([1])]), [], "65535 channels"),
            (wave([format(align: 0), data([1])]), [], "0 bytes"),
            (wave([format(align: 65_535), data([1])]), [], "65535 bytes"),
            (wave([format(rate: 0), data([1])]), [], "0 Hz"),
            (wave([format(rate: .max), data([1])]), [], "4294967295 Hz"),
            (wave([format(tag: 0xFFFE), data([1])]), [], "only 16 bytes"),
            (wave([extensible(tag: 3), data([1])]), [], "format 3"),
            (wave([extensible(lastByte: 0x72), data([1])]), [], "subformat"),
            (wave([extensible(extraSize: 0), data([1])]), [], "only 40 bytes"),
        ] as [([UInt8], [Int16], String)]
    )
    func `an invalid file is rejected with the reason`(bytes: [UInt8], samples: [Int16], reason: String) throws {
        let reading = try read(bytes)
        #expect(reading.samples == samples)
        let failure = try #require(reading.failure)
        #expect(failure.code == .badData)
        #expect(failure.message.contains(reason), "\(failure.message)")
    }

    @Test func `a file cut off at any byte is too short, or is read completely`() throws {
        let bytes = wave([chunk("LIST", [1, 2, 3]), extensible(), data([1, 2, 3, 4])])
        for count in bytes.indices {
            let reading = try read(Array(bytes[..<count]))
            #expect(reading.failure?.code == .badData, "\(count) bytes")
            #expect([1, 2, 3, 4].starts(with: reading.samples))
        }
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `bytes changed at random never trap`(seed: UInt64) throws {
        var random = SystemSeeded(seed)
        let bytes = wave([chunk("LIST", [1, 2, 3]), extensible(), data([1, 2, 3, 4])])
        for _ in 0..<300 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                changed[Int.random(in: changed.indices, using: &random)] =
                    [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
            }
            let reading = try read(changed)
            #expect(reading.samples.count <= bytes.count / 2, "seed \(seed): \(changed)")
            #expect(reading.failure.map { $0.code == .badData } ?? (reading.format != nil), "seed \(seed): \(changed)")
        }
    }

    @Test(arguments: ["/nonexistent/audio.wav", "/tmp"])
    func `a file that cannot be read is missing input`(path: String) {
        #expect(read(path).failure?.code == .noInput)
    }
}

/// A generator that can be started again from its seed.
private struct SystemSeeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state ^ state >> 29) &* 0xBF58_476D_1CE4_E5B9
    }
}

private func number(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }

private func short(_ value: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)] }

private func chunk(_ name: String, _ content: [UInt8], size: UInt32? = nil) -> [UInt8] {
    let padding: [UInt8] = content.count.isMultiple(of: 2) ? [] : [0]
    return Array(name.utf8) + number(size ?? UInt32(content.count)) + content + padding
}

private func wave(_ chunks: [[UInt8]], size: UInt32? = nil) -> [UInt8] {
    let content = Array("WAVE".utf8) + chunks.flatMap { $0 }
    return Array("RIFF".utf8) + number(size ?? UInt32(content.count)) + content
}

private func data(_ samples: [Int16], size: UInt32? = nil) -> [UInt8] {
    chunk("data", samples.flatMap { short(UInt16(bitPattern: $0)) }, size: size)
}

private func format(
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

private func extensible(tag: UInt16 = 1, lastByte: UInt8 = 0x71, extraSize: UInt16 = 22) -> [UInt8] {
    let end: [UInt8] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, lastByte]
    return format(tag: 0xFFFE, extra: short(extraSize) + short(16) + number(4) + short(tag) + end)
}
