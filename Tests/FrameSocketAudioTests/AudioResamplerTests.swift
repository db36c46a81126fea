import FrameSocket
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocketAudio

/// Quality, lengths and borders of the conversion of rates and channels.
@Suite(.tags(.computes)) struct AudioResamplerTests {
    /// Every pair of rates that screen shares meet, with sines at the bottom, the middle and the end of the band.
    @Test(
        arguments: [
            (44_100, 48_000, 997, 93), (44_100, 48_000, 10_007, 93), (44_100, 48_000, 19_001, 92),
            (48_000, 44_100, 997, 93), (48_000, 44_100, 19_001, 92), (48_000, 16_000, 6_007, 93),
            (16_000, 48_000, 6_007, 92), (8_000, 44_100, 997, 92),
        ] as [(Int, Int, Double, Double)]
    )
    func `a sine wave stays a sine wave`(from: Int, to: Int, frequency: Double, floor: Double) throws {
        let result = try convert(sine(frequency, rate: from, frames: from), .of(from, 1), to: .of(to, 1))
        // Without its ends, where the sine begins out of nothing.
        let noise = signalToNoise(result.dropFirst(1_000).dropLast(1_000), frequency, rate: to)
        #expect(noise >= floor, "\(noise) dB")
    }

    @Test(arguments: [(48_000, 44_100, 23_500.0), (48_000, 16_000, 10_007.0), (44_100, 8_000, 6_007.0)])
    func `frequencies that the lower rate cannot carry are removed`(from: Int, to: Int, frequency: Double) throws {
        let result = try convert(sine(frequency, rate: from, frames: from), .of(from, 1), to: .of(to, 1))
        let rest = level(result.dropFirst(1_000).dropLast(1_000))
        #expect(rest < -85, "\(rest) dB")
    }

    /// Shows P113.
    @Test(arguments: [(44_100, 48_000), (48_000, 44_100), (8_000, 192_000), (192_000, 8_000), (44_100, 44_100)])
    func `the output and what waits are as long as the input`(from: Int, to: Int) throws {
        for frames in [0, 1, 2, 3, 10, 441, 1_023, 1_024, 50_000] {
            var resampler = try AudioResampler(from: .of(from, 2), to: .of(to, 2))
            let output = resampler.convert([Int16](repeating: 99, count: frames * 2), to / from + 1)
            let total = output.count / 2 + resampler.pendingFrames
            #expect(total == (frames * to + from - 1) / from, "\(frames) frames")
        }
    }

    @Test(arguments: [(44_100, 48_000), (48_000, 44_100), (16_000, 48_000), (48_000, 16_000)])
    func `a click keeps its time`(from: Int, to: Int) throws {
        var samples = [Int16](repeating: 0, count: from)
        samples[from / 2] = 30_000
        let result = try convert(samples, .of(from, 1), to: .of(to, 1))
        #expect(result.indices.max { result[$0] < result[$1] } == to / 2)
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `pieces are converted as if they were contiguous, into whatever room there is`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let rates = [8_000, 16_000, 44_100, 48_000]
        for room in [1, 2, 3, 64, 1_000, 50_000] {
            let (from, to) = try (
                #require(rates.randomElement(using: &random)), #require(rates.randomElement(using: &random))
            )
            let source = try AudioBlock.Format.of(from, .random(in: 1...2, using: &random))
            let target = try AudioBlock.Format.of(to, .random(in: 1...2, using: &random))
            let samples = random.samples(20_000 * source.channels)
            var resampler = try AudioResampler(from: source, to: target)
            var pieces: [Int16] = []
            var start = 0
            while start < samples.count {
                let count = min(Int.random(in: 0...3_000, using: &random) * source.channels, samples.count - start)
                pieces += [Int16](capacity: room * target.channels) { output in
                    let piece = samples.span.extracting(start..<start + count)
                    start += resampler.convert(piece, into: &output) * source.channels
                }
            }
            pieces += resampler.convert([], 60_000)
            let whole = try convert(samples, source, to: target)
            // What a small room has delayed may still be in the filter.
            let missing = whole.count - pieces.count
            #expect(
                missing >= 0 && missing <= 2 * target.channels && whole.starts(with: pieces),
                "seed \(seed): \(source) to \(target)"
            )
        }
    }

    @Test func `channels alone are mapped exactly`() throws {
        let frames: [Int16] = [.max, .max, .min, .min, .max, .min, 1, 2, -1, -2, 0, -1, 4, 6]
        #expect(try convert(frames, .of(48_000, 2), to: .of(48_000, 1)) == [.max, .min, -1, 1, -2, -1, 5])
        let doubled = try convert([.max, .min, 0, -7], .of(48_000, 1), to: .of(48_000, 2))
        #expect(doubled == [.max, .max, .min, .min, 0, 0, -7, -7])
    }

    @Test func `channels do not leak into each other`() throws {
        let left = sine(997, rate: 44_100, frames: 10_000)
        let result = try convert(left.flatMap { [$0, 0] as [Int16] }, .of(44_100, 2), to: .of(48_000, 2))
        let pairs = stride(from: 0, to: result.count, by: 2)
        #expect(try pairs.map { result[$0] } == convert(left, .of(44_100, 1), to: .of(48_000, 1)))
        #expect(pairs.allSatisfy { result[$0 + 1] == 0 })
    }

    @Test func `overshoot at full scale saturates and does not wrap around`() throws {
        let square = (0..<20_000).map { ($0 / 50).isMultiple(of: 2) ? Int16.max : Int16.min }
        let loud = try convert(square, .of(44_100, 1), to: .of(48_000, 1))
        let quiet = try convert(square.map { $0 / 2 }, .of(44_100, 1), to: .of(48_000, 1))
        let distance = zip(loud, quiet).map { abs(Int($0) - Int(Int16(clamping: 2 * Int($1)))) }.max() ?? .max
        #expect(distance <= 4 && quiet.count { abs(2 * Int($0)) > 33_000 } > 100)
    }
}

/// Converts samples as one piece, without what then waits in the filter.
func convert(_ samples: [Int16], _ source: AudioBlock.Format, to target: AudioBlock.Format) throws -> [Int16] {
    var resampler = try AudioResampler(from: source, to: target)
    return resampler.convert(samples, target.sampleRate / source.sampleRate + 1)
}

extension AudioResampler {
    /// Converts samples into room for `factor` times as many frames.
    fileprivate mutating func convert(_ samples: [Int16], _ factor: Int) -> [Int16] {
        [Int16](capacity: (samples.count + 2) * factor * target.channels) { output in
            _ = convert(samples.span, into: &output)
        }
    }
}
