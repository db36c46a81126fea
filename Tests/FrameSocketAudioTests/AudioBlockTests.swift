import FrameSocket
import TestDescriptions
import Testing

/// Formats and blocks: what they refuse, how long they are, what they are as bytes.
@Suite(.tags(.computes)) struct AudioBlockTests {
    @Test func `a message with more than two channels has no block`() throws {
        let message = AudioMessage(
            kind: .app,
            sampleRate: 48_000,
            channels: 3,
            timestamp: nil,
            sequence: nil,
            samples: FrameBytes(copying: [UInt8](repeating: 0, count: 6).span)
        )
        #expect {
            try AudioBlock(message)
        } throws: { error in
            (error as? AudioError)?.code == .unsupportedFormat
        }
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

    @Test func `a block reports its frame count and duration`() throws {
        let block = try AudioBlock(format: .of(44_100, 2), samples: [Int16](repeating: 1, count: 2_048))
        #expect(block.frameCount == 1_024)
        #expect(block.duration == .nanoseconds(23_219_954))
        #expect(block.byteCount == 4_096)
        #expect(block.timestamp == nil)
    }

    @Test(arguments: 1...2, 0..<13)
    func `samples and bytes must be whole frames`(channels: Int, count: Int) throws {
        let format = try AudioBlock.Format.of(48_000, channels)
        let samples = [Int16](repeating: 7, count: count)
        let ofSamples = audioErrorCode { () throws(AudioError) in
            _ = try AudioBlock(format: format, samples: samples)
        }
        #expect(ofSamples == (count.isMultiple(of: channels) ? nil : .incompleteFrame))
        let bytes = [UInt8](repeating: 7, count: count)
        let ofBytes = audioErrorCode { () throws(AudioError) in
            _ = try AudioBlock(format: format, littleEndian: bytes.span)
        }
        #expect(ofBytes == (count.isMultiple(of: 2 * channels) ? nil : .incompleteFrame))
    }

    @Test func `the low byte of a sample is first`() throws {
        let bytes: [UInt8] = [0x01, 0x00, 0xFF, 0xFF, 0x00, 0x80, 0xFF, 0x7F, 0x34, 0x12, 0x00, 0x00]
        let block = try AudioBlock(format: .of(44_100, 2), timestamp: 9, littleEndian: bytes.span)
        #expect(block.samples == [1, -1, .min, .max, 0x1234, 0])
        #expect(block.timestamp == 9)
        #expect(try written(block, behind: []) == bytes)
    }

    @Test func `bytes at an odd address are read too`() throws {
        let bytes: [UInt8] = [0xAA, 0x01, 0x02, 0x03, 0x04]
        let block = try AudioBlock(format: .of(44_100, 1), littleEndian: bytes.span.extracting(1...))
        #expect(block.samples == [0x0201, 0x0403])
    }

    @Test func `bytes are appended completely or not at all`() throws {
        let block = try AudioBlock(format: .of(44_100, 1), samples: [0x0201, 0x0403])
        #expect(try written(block, behind: [9]) == [9, 1, 2, 3, 4])
        #expect(try written(block, behind: [9, 9, 9]) == [9, 9, 9, 1, 2, 3, 4])
        let short = [UInt8](capacity: 4) { output in
            output.append(9)
            let code = audioErrorCode { () throws(AudioError) in try block.write(littleEndianTo: &output) }
            #expect(code == .outputTooSmall)
        }
        #expect(short == [9])
    }

    private func written(_ block: AudioBlock, behind prefix: [UInt8]) throws -> [UInt8] {
        try [UInt8](capacity: prefix.count + block.byteCount) { output in
            for byte in prefix { output.append(byte) }
            try block.write(littleEndianTo: &output)
        }
    }
}
