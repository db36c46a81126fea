import FrameSocket
import FrameSocketAudio
import TestDescriptions
import TestSupport
import Testing

/// Quality, lengths, times and borders of the conversion of rates and channels.
@Suite(.tags(.computes)) struct AudioResamplerTests {
    /// Every pair of rates that screen shares meet, with sines at the bottom, the middle and the end of the band.
    @Test(
        arguments: [
            (44_100, 48_000, .speech, 997, 92), (44_100, 48_000, .speech, 17_011, 80),
            (44_100, 48_000, .standard, 997, 93), (44_100, 48_000, .standard, 10_007, 93),
            (44_100, 48_000, .standard, 19_001, 92), (48_000, 44_100, .standard, 997, 93),
            (48_000, 44_100, .standard, 19_001, 92), (48_000, 16_000, .standard, 6_007, 93),
            (16_000, 48_000, .standard, 6_007, 92), (8_000, 44_100, .standard, 997, 92),
            (44_100, 48_000, .best, 20_011, 93),
        ] as [(Int, Int, AudioResampler.Quality, Double, Double)]
    )
    func `a sine wave stays a sine wave`(
        from: Int,
        to: Int,
        quality: AudioResampler.Quality,
        frequency: Double,
        floor: Double
    ) throws {
        let source = try AudioBlock(format: .of(from, 1), samples: sine(frequency, rate: from, frames: from))
        let result = try convert(source, to: .of(to, 1), quality: quality)
        // Without its ends, where the sine begins out of nothing.
        let middle = result.samples.dropFirst(1_000).dropLast(1_000)
        let noise = signalToNoise(middle, frequency, rate: to)
        #expect(noise >= floor, "\(noise) dB")
    }

    @Test(arguments: [(48_000, 44_100, 23_500.0), (48_000, 16_000, 10_007.0), (44_100, 8_000, 6_007.0)])
    func `frequencies that the lower rate cannot carry are removed`(from: Int, to: Int, frequency: Double) throws {
        let source = try AudioBlock(format: .of(from, 1), samples: sine(frequency, rate: from, frames: from))
        let result = try convert(source, to: .of(to, 1))
        let rest = level(result.samples.dropFirst(1_000).dropLast(1_000))
        #expect(rest < -85, "\(rest) dB")
    }

    /// Shows P118.
    @Test(arguments: [(44_100, 48_000), (48_000, 44_100), (8_000, 192_000), (192_000, 8_000), (44_100, 44_100)])
    func `the output is as long as the input`(from: Int, to: Int) throws {
        for frames in [0, 1, 2, 3, 10, 441, 1_023, 1_024, 50_000] {
            let source = try AudioBlock(format: .of(from, 2), samples: [Int16](repeating: 99, count: frames * 2))
            let result = try convert(source, to: .of(to, 2))
            #expect(result.frameCount == (frames * to + from - 1) / from, "\(frames) frames")
        }
    }

    @Test(arguments: [(44_100, 48_000), (48_000, 44_100), (16_000, 48_000), (48_000, 16_000)])
    func `a click keeps its time`(from: Int, to: Int) throws {
        var samples = [Int16](repeating: 0, count: from)
        samples[from / 2] = 30_000
        let result = try convert(AudioBlock(format: .of(from, 1), samples: samples), to: .of(to, 1))
        let peak = result.samples.indices.max { result.samples[$0] < result.samples[$1] }
        #expect(peak == to / 2)
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `blocks are converted as if they were contiguous`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let rates = [8_000, 16_000, 44_100, 48_000]
        for _ in 0..<6 {
            let source = try AudioBlock.Format.of(
                #require(rates.randomElement(using: &random)),
                .random(in: 1...2, using: &random)
            )
            let target = try AudioBlock.Format.of(
                #require(rates.randomElement(using: &random)),
                .random(in: 1...2, using: &random)
            )
            let samples = random.samples(20_000 * source.channels)
            let whole = try convert(AudioBlock(format: source, samples: samples), to: target)

            var resampler = try AudioResampler(from: source, to: target)
            var pieces: [Int16] = []
            var start = 0
            while start < samples.count {
                let count = Int.random(in: 0...3_000, using: &random) * source.channels
                let piece = Array(samples[start...].prefix(count))
                pieces += try resampler.convert(AudioBlock(format: source, samples: piece)).samples
                start += piece.count
                let pending = resampler.pendingFrames
                let latency = resampler.latency
                #expect(pending <= latency + 1, "seed \(seed): \(source) to \(target)")
            }
            pieces += resampler.flush().samples
            #expect(pieces == whole.samples, "seed \(seed): \(source) to \(target)")
        }
    }

    @Test(arguments: [1, 2, 3, 7, 64, 1_000])
    func `a small output buffer delays frames and loses none`(room: Int) throws {
        let (source, target) = try (AudioBlock.Format.of(44_100, 2), AudioBlock.Format.of(48_000, 1))
        var random = SplitMix(seed: 5)
        let samples = random.samples(8_000)
        let whole = try convert(AudioBlock(format: source, samples: samples), to: target)

        var resampler = try AudioResampler(from: source, to: target)
        var pieces: [Int16] = []
        var start = 0
        while start < samples.count {
            pieces += [Int16](capacity: room) { output in
                start += resampler.convert(samples.span.extracting(start...), into: &output) * 2
            }
        }
        pieces += resampler.flush().samples
        #expect(pieces == whole.samples)
    }

    @Test func `each block has the time of its first frame`() throws {
        let (source, target) = try (AudioBlock.Format.of(44_100, 1), AudioBlock.Format.of(48_000, 1))
        var resampler = try AudioResampler(from: source, to: target)
        var (framesIn, framesOut) = (0, 0)
        for frames in [1_024, 1_024, 3, 700, 1_024, 5_000] {
            let block = try AudioBlock(
                format: source,
                timestamp: 1_000_000 + source.nanoseconds(inFrames: framesIn),
                samples: [Int16](repeating: 0, count: frames)
            )
            let time = try #require(try resampler.convert(block).timestamp)
            let expected = Double(1_000_000) + Double(framesOut) * 1e9 / 48_000
            #expect(abs(Double(time) - expected) < 2)
            framesIn += frames
            let pending = resampler.pendingFrames
            framesOut = (framesIn * 48_000 + 44_099) / 44_100 - pending
        }
    }

    @Test func `a time that would be before 0 is 0`() throws {
        var resampler = try AudioResampler(from: .of(44_100, 1), to: .of(48_000, 1))
        let block = try AudioBlock(format: .of(44_100, 1), timestamp: 0, samples: [1, 2, 3])
        for _ in 0..<3 { #expect(try resampler.convert(block).timestamp == 0) }
    }

    @Test func `channels alone are mapped exactly`() throws {
        let stereo = try AudioBlock.Format.of(48_000, 2)
        let mono = try AudioBlock.Format.of(48_000, 1)
        let frames: [Int16] = [.max, .max, .min, .min, .max, .min, 1, 2, -1, -2, 0, -1, 4, 6]
        var down = try AudioResampler(from: stereo, to: mono)
        let averaged = try down.convert(AudioBlock(format: stereo, timestamp: 5, samples: frames))
        #expect(averaged.samples == [.max, .min, -1, 1, -2, -1, 5])
        #expect(averaged.timestamp == 5)
        var up = try AudioResampler(from: mono, to: stereo)
        let doubled = try up.convert(AudioBlock(format: mono, samples: [.max, .min, 0, -7]))
        #expect(doubled.samples == [.max, .max, .min, .min, 0, 0, -7, -7])
        let latencies = (down.latency, up.pendingFrames)
        #expect(latencies == (0, 0))
    }

    @Test(arguments: [(44_100, 48_000), (48_000, 44_100), (8_000, 192_000), (192_000, 8_000)])
    func `after a reset nothing of the old stream is left, in any channel`(from: Int, to: Int) throws {
        let (source, target) = (try AudioBlock.Format.of(from, 2), try AudioBlock.Format.of(to, 2))
        for quality in AudioResampler.Quality.allCases {
            var resampler = try AudioResampler(from: source, to: target, quality: quality)
            let loud = (0..<from).map { Int16($0 % 2 == 0 ? 30_000 : -20_000) }
            _ = try resampler.convert(AudioBlock(format: source, samples: loud))
            resampler.reset()
            let silence = try AudioBlock(format: source, samples: [Int16](repeating: 0, count: from))
            var fresh = try AudioResampler(from: source, to: target, quality: quality)
            let (after, new) = (try resampler.convert(silence), try fresh.convert(silence))
            let isSilent = after.samples.allSatisfy { $0 == 0 }
            #expect(isSilent && after.samples.count == new.samples.count)
        }
    }

    @Test func `channels do not leak into each other`() throws {
        let left = sine(997, rate: 44_100, frames: 10_000)
        let samples: [Int16] = left.flatMap { [$0, 0] as [Int16] }
        let result = try convert(AudioBlock(format: .of(44_100, 2), samples: samples), to: .of(48_000, 2))
        let alone = try convert(AudioBlock(format: .of(44_100, 1), samples: left), to: .of(48_000, 1))
        let pairs = stride(from: 0, to: result.samples.count, by: 2)
        #expect(pairs.map { result.samples[$0] } == alone.samples)
        #expect(pairs.allSatisfy { result.samples[$0 + 1] == 0 })
    }

    @Test func `overshoot at full scale saturates and does not wrap around`() throws {
        let square = (0..<20_000).map { ($0 / 50).isMultiple(of: 2) ? Int16.max : Int16.min }
        let half = square.map { $0 / 2 }
        let loud = try convert(AudioBlock(format: .of(44_100, 1), samples: square), to: .of(48_000, 1)).samples
        let quiet = try convert(AudioBlock(format: .of(44_100, 1), samples: half), to: .of(48_000, 1)).samples
        var cut = 0
        for (sample, reference) in zip(loud, quiet) {
            let expected = Int16(clamping: 2 * Int(reference))
            if abs(2 * Int(reference)) > 33_000 { cut += 1 }
            #expect(abs(Int(sample) - Int(expected)) <= 4)
        }
        #expect(cut > 100)
    }

    @Test func `a flush starts a new stream`() throws {
        let source = try AudioBlock(format: .of(44_100, 1), samples: sine(440, rate: 44_100, frames: 3_000))
        var resampler = try AudioResampler(from: source.format, to: .of(48_000, 2))
        var runs: [[Int16]] = []
        for _ in 0..<2 {
            let samples = try resampler.convert(source).samples
            runs.append(samples + resampler.flush().samples)
        }
        #expect(runs[0] == runs[1])
        #expect(resampler.flush().samples.isEmpty)
    }

    @Test func `a block of another format is rejected`() throws {
        var resampler = try AudioResampler(from: .of(44_100, 1), to: .of(48_000, 1))
        let block = try AudioBlock(format: .of(44_100, 2), samples: [1, 2])
        let error = #expect(throws: AudioError.self) { _ = try resampler.convert(block) }
        #expect(error?.code == .formatMismatch)
    }

    private func convert(
        _ block: AudioBlock,
        to target: AudioBlock.Format,
        quality: AudioResampler.Quality = .standard
    ) throws -> AudioBlock {
        var resampler = try AudioResampler(from: block.format, to: target, quality: quality)
        let converted = try resampler.convert(block)
        return try AudioBlock(format: target, samples: converted.samples + resampler.flush().samples)
    }
}
