import FrameSocket
import FrameSocketAudio
import TestDescriptions
import Testing

/// Formats and blocks: what they refuse, how long they are, what they are as bytes.
@Suite(.tags(.computes)) struct AudioBlockTests {
    @Test func `a received block of more than two channels is not converted`() throws {
        let bytes = FrameBytes(copying: [1, 0, 2, 0, 3, 0].span)
        let block = AudioBlock(kind: .microphone, sampleRate: 48_000, channels: 3, samples: bytes)
        #expect(block.frameCount == 1 && block.samples == [1, 2, 3])
        let buffer = AudioRingBuffer()
        #expect(audioErrorCode { () throws(AudioError) in try buffer.push(block) } == .unsupportedFormat)
        #expect(buffer.bufferedFrames == 0)
    }

    @Test(arguments: [
        (8_000, 1, true), (44_100, 1, true), (48_000, 2, true), (192_000, 2, true),
        (7_999, 1, false), (192_001, 1, false), (0, 1, false), (-44_100, 1, false), (.max, 1, false), (.min, 2, false),
        (44_100, 0, false), (44_100, 3, false), (44_100, -1, false), (44_100, .max, false),
    ])
    func `formats out of range are rejected`(sampleRate: Int, channels: Int, isSupported: Bool) {
        let code = audioErrorCode { () throws(AudioError) in
            _ = try AudioBlock.Format(sampleRate: sampleRate, channels: channels)
        }
        #expect(code == (isSupported ? nil : .unsupportedFormat))
    }

    @Test(
        arguments: [
            (44_100, 1_024, 23_219_954), (44_100, 44_100, 1_000_000_000), (48_000, 480, 10_000_000),
            (44_100, 1, 22_675), (48_000, 0, 0), (48_000, -1, 0), (48_000, .min, 0),
            (192_000, .max, .max), (8_000, .max, .max),
        ] as [(Int, Int, UInt64)]
    )
    func `frames are converted to nanoseconds`(rate: Int, frames: Int, nanoseconds: UInt64) throws {
        let format = try AudioBlock.Format.of(rate, 2)
        #expect(format.nanoseconds(inFrames: frames) == nanoseconds)
    }

    @Test(
        arguments: [
            (44_100, 500_000_000, 22_050), (48_000, 999_999_999, 47_999), (8_000, 0, 0), (44_100, 22_675, 0),
            (44_100, 22_676, 1), (192_000, .max, 3_541_774_862_152_233),
        ] as [(Int, UInt64, Int)]
    )
    func `nanoseconds are converted to frames`(rate: Int, nanoseconds: UInt64, frames: Int) throws {
        #expect(try AudioBlock.Format.of(rate, 1).frames(inNanoseconds: nanoseconds) == frames)
    }

    @Test(arguments: 1...2, 0..<7)
    func `samples must be whole frames`(channels: Int, count: Int) throws {
        let format = try AudioBlock.Format.of(48_000, channels)
        let code = audioErrorCode { () throws(AudioError) in
            let block = try AudioBlock(format: format, samples: [Int16](repeating: 7, count: count))
            #expect(block.frameCount == count / channels)
        }
        #expect(code == (count.isMultiple(of: channels) ? nil : .incompleteFrame))
    }

    @Test func `the low byte of a sample is first`() throws {
        let samples: [Int16] = [1, -1, .min, .max, 0x1234, 0]
        let bytes: [UInt8] = [0x01, 0x00, 0xFF, 0xFF, 0x00, 0x80, 0xFF, 0x7F, 0x34, 0x12, 0x00, 0x00]
        let block = try AudioBlock(format: .of(44_100, 2), samples: samples)
        #expect(block.bytes.withSpan { span in span.indices.map { span[$0] } } == bytes)
        #expect(block.samples == samples)
    }
}
