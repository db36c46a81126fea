import FrameSocket
import FrameSocketAudio
import TestDescriptions
import Testing

/// Under- and overrun, formats, times: step by step.
@Suite(.tags(.computes)) struct AudioRingBufferTests {
    /// One thing done to a buffer of 10 frames, and what must come of it.
    ///
    /// Frames are numbered as they are pushed.
    enum Step: Sendable {
        case push(Int)
        case pull(Int, ClosedRange<Int16>?, silent: Int)
    }

    /// Shows P112.
    @Test(
        arguments: [
            // Before anything came.
            [.pull(4, nil, silent: 4), .pull(0, nil, silent: 0)],
            // In step, and the ring's end in the middle of a pull.
            [
                .push(6), .pull(6, 1...6, silent: 0), .push(6), .pull(6, 7...12, silent: 0),
                .push(10), .pull(10, 13...22, silent: 0),
            ],
            // A pull of some, then one of none, then audio again.
            [
                .push(3), .pull(4, 1...3, silent: 1), .pull(4, nil, silent: 4), .push(4),
                .pull(2, 4...5, silent: 0), .pull(2, 6...7, silent: 0), .pull(1, nil, silent: 1),
            ],
            [.push(2), .pull(0, nil, silent: 0), .pull(2, 1...2, silent: 0)],
            // The oldest give way.
            [.push(10), .pull(10, 1...10, silent: 0)],
            [.push(8), .push(5), .pull(10, 4...13, silent: 0)],
            [.push(8), .pull(3, 1...3, silent: 0), .push(9), .pull(10, 8...17, silent: 0)],
            // A block larger than the buffer, into an empty one and into a filled one.
            [.push(25), .pull(10, 16...25, silent: 0)],
            [.push(4), .push(25), .pull(9, 20...28, silent: 0), .pull(2, 29...29, silent: 1)],
            [.push(0), .pull(1, nil, silent: 1)],
        ] as [[Step]]
    )
    func `missing audio is silent, and the oldest gives way`(steps: [Step]) throws {
        let format = try AudioBlock.Format.of(8_000, 1)
        var configuration = AudioRingBuffer.Configuration()
        configuration.capacity = .microseconds(1_250)
        let buffer = AudioRingBuffer(configuration: configuration)
        var pushed: Int16 = 0
        for step in steps {
            switch step {
            case .push(let count):
                try buffer.push(AudioBlock(format: format, samples: (0..<count).map { pushed + 1 + Int16($0) }))
                pushed += Int16(count)
            case .pull(let count, let frames, let silent):
                let pull = try buffer.pull(frames: count, as: format)
                #expect(
                    pull.samples == Array(frames ?? 1...1).prefix(count - silent) + Array(repeating: 0, count: silent)
                )
                #expect(pull.silentFrames == silent)
            }
        }
    }

    @Test func `a start level above the capacity is limited to the capacity`() throws {
        var configuration = AudioRingBuffer.Configuration()
        configuration.capacity = .milliseconds(1)
        configuration.startLevel = .seconds(Int64.max)
        let buffer = AudioRingBuffer(configuration: configuration)
        try buffer.push(AudioBlock(format: .of(8_000, 1), samples: [1, 2, 3, 4, 5, 6, 7, 8]))
        #expect(try buffer.pull(frames: 2, as: .of(8_000, 1)).samples == [1, 2])
    }

    @Test func `a pull in another format starts another conversion`() throws {
        let buffer = AudioRingBuffer()
        let own = try AudioBlock.Format.of(44_100, 1)
        try buffer.push(AudioBlock(format: own, samples: sine(441, rate: 44_100, frames: 20_000)))
        for (rate, channels) in [(48_000, 2), (16_000, 1), (44_100, 1), (44_100, 2), (48_000, 2)] {
            let pull = try buffer.pull(frames: 480, as: .of(rate, channels))
            #expect(pull.samples.count == 480 * channels && pull.silentFrames == 0)
        }
        // So does a block in another format.
        let other = try AudioBlock.Format.of(48_000, 2)
        for _ in 0..<2 { try buffer.push(AudioBlock(format: other, samples: [1, 2, 3, 4])) }
        #expect(try buffer.pull(frames: 2, as: other).samples == [1, 2, 3, 4])
    }

    @Test func `blocks in step with pulls run dry once, because of what the resampler retains`() throws {
        let buffer = AudioRingBuffer()
        let own = try AudioBlock.Format.of(44_100, 1)
        let signal = sine(441, rate: 44_100, frames: 44_100)
        for start in stride(from: 0, to: 44_100, by: 441) {
            try buffer.push(AudioBlock(format: own, samples: Array(signal[start..<start + 441])))
            let pull = try buffer.pull(frames: 480, as: .of(48_000, 1))
            #expect(pull.silentFrames == 0 || (start == 0 && 40...50 ~= pull.silentFrames))
        }
    }

    @Test(arguments: [(-1, false), (.min, false), (0, true), (24_000, true), (24_001, false), (.max, false)])
    func `pulls are bounded by the capacity`(frames: Int, isAllowed: Bool) throws {
        let buffer = AudioRingBuffer()
        let format = try AudioBlock.Format.of(48_000, 2)
        let code = audioErrorCode { () throws(AudioError) in _ = try buffer.pull(frames: frames, as: format) }
        #expect(code == (isAllowed ? nil : .invalidFrameCount))
    }

    @Test(arguments: [0, 1, 10_000_000_000, .max] as [UInt64])
    func `capacities are clamped to their range`(capacity: UInt64) throws {
        var configuration = AudioRingBuffer.Configuration()
        configuration.capacity = Duration(nanoseconds: capacity)
        let buffer = AudioRingBuffer(configuration: configuration)
        try buffer.push(AudioBlock(format: .of(8_000, 1), samples: [Int16](repeating: 1, count: 90_000)))
        let kept = capacity < 2 ? 1 : 80_000
        #expect(buffer.bufferedFrames == kept)
    }

    @Test func `beyond the largest time there is none`() throws {
        let buffer = AudioRingBuffer()
        let format = try AudioBlock.Format.of(8_000, 1)
        try buffer.push(AudioBlock(format: format, timestamp: .max, samples: [1, 1]))
        #expect(try buffer.pull(frames: 1, as: format).timestamp == .max)
        #expect(try buffer.pull(frames: 1, as: format).timestamp == nil)
    }

    @Test func `the time of a converted pull is that of its first frame, and never before 0`() throws {
        let (own, wanted) = try (AudioBlock.Format.of(44_100, 1), AudioBlock.Format.of(48_000, 1))
        for start in [0, 1_000_000] as [UInt64] {
            let buffer = AudioRingBuffer()
            for block in 0..<10 {
                let time = start + own.nanoseconds(inFrames: block * 1_024)
                let samples = [Int16](repeating: 0, count: 1_024)
                try buffer.push(AudioBlock(format: own, timestamp: time, samples: samples))
            }
            for pull in 0..<20 {
                let time = try #require(try buffer.pull(frames: 480, as: wanted).timestamp)
                #expect(abs(Int(time) - Int(start) - pull * 10_000_000) < 3)
            }
        }
        let buffer = AudioRingBuffer()
        for _ in 0..<3 {
            try buffer.push(AudioBlock(format: own, timestamp: 0, samples: [Int16](repeating: 0, count: 64)))
            #expect(try buffer.pull(frames: 480, as: wanted).timestamp == 0)
        }
    }

    @Test func `times continue if more blocks wait than are remembered`() throws {
        let buffer = AudioRingBuffer()
        let format = try AudioBlock.Format.of(8_000, 1)
        for index in 0..<1_000 {
            try buffer.push(AudioBlock(format: format, timestamp: UInt64(index) * 125_000, samples: [1]))
        }
        for index in 0..<1_000 {
            #expect(try buffer.pull(frames: 1, as: format).timestamp == UInt64(index) * 125_000)
        }
    }
}
