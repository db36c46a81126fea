import FrameSocket
import FrameSocketAudio
import TestDescriptions
import TestSupport
import Testing

/// Sums at the rails, gains, lengths.
@Suite(.tags(.computes)) struct AudioMixerTests {
    @Test(
        arguments: [
            ([], 0), ([.max], .max), ([.min], .min), ([.max, .max], .max), ([.min, .min], .min), ([.max, 1], .max),
            ([.max, 0], .max), ([.max, -1], .max - 1), ([.min, -1], .min), ([.min, 1], .min + 1), ([.max, .min], -1),
            ([.max, .max, .min, .min], -2), ([.max, .max, .max, .min, .min], 32_765),
            ([20_000, 20_000, -20_000], 20_000),
            ([-1, 1], 0), ([1, 2, 3, 4, 5], 15),
        ] as [([Int16], Int16)]
    )
    func `sums are exact and saturated once`(sources: [Int16], sum: Int16) {
        // 37 samples are whole vectors and a rest.
        for order in [sources, sources.reversed()] {
            var mixer = AudioMixer()
            for source in order { mixer.add([Int16](repeating: source, count: 37).span) }
            #expect(mixer.finish() == [Int16](repeating: sum, count: order.isEmpty ? 0 : 37))
        }
    }

    @Test(arguments: [0, 0.1, 0.25, 0.5, 1 / 3, 0.999, 1, 1.5, 2, 7.7, 16, 1e-10, .leastNonzeroMagnitude] as [Float])
    func `every product of a sample and a gain is rounded to the nearest value`(gain: Float) {
        let samples = (Int16.min ... .max).map { $0 }
        let expected = samples.map { Int16(clamping: Int((Float($0) * gain).rounded(.toNearestOrEven))) }
        var mixer = AudioMixer()
        mixer.add(samples.span, gain: gain)
        #expect(mixer.finish() == expected)
    }

    @Test(
        arguments: [
            (.nan, 0), (.signalingNaN, 0), (-.infinity, 0), (-1, 0), (-0.0, 0), (.infinity, 16), (17, 16),
            (.greatestFiniteMagnitude, 16),
        ] as [(Float, Float)]
    )
    func `gains are clamped to their range`(gain: Float, counted: Float) {
        let samples: [Int16] = [.min, -3_000, -1, 0, 1, 100, 2_047, 2_048, .max]
        var mixer = AudioMixer()
        mixer.add(samples.span, gain: gain)
        let mixed = mixer.finish()
        mixer.add(samples.span, gain: counted)
        #expect(mixed == mixer.finish())
    }

    @Test func `amplified sources cancel out before saturation`() {
        var mixer = AudioMixer()
        let (up, down): ([Int16], [Int16]) = ([32_000, .max], [-32_000, -.max])
        mixer.add(up.span, gain: 16)
        mixer.add(down.span, gain: 15.5)
        #expect(mixer.finish() == [16_000, 16_384])
    }

    @Test func `sources of different lengths are mixed over several rounds`() {
        var mixer = AudioMixer()
        let (short, long): ([Int16], [Int16]) = ([1, 2], [10, 20, 30])
        for _ in 0..<2 {
            mixer.add(short.span)
            mixer.add(long.span)
            mixer.add(Span())
            #expect(mixer.finish() == [11, 22, 30])
            #expect(mixer.finish().isEmpty)
        }
    }

    @Test(arguments: [(Int16.max, Float(1), 70_000), (.min, 1, 70_000), (.min, 16, 5_000)])
    func `any number of sources does not wrap around`(sample: Int16, gain: Float, count: Int) {
        var mixer = AudioMixer()
        let source = [Int16](repeating: sample, count: 4)
        for _ in 0..<count { mixer.add(source.span, gain: gain) }
        #expect(mixer.finish() == source)
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `the sum of random sources equals plain arithmetic`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var mixer = AudioMixer()
        for _ in 0..<50 {
            var sums = [Int](repeating: 0, count: 300)
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let samples = random.samples(Int.random(in: 0...300, using: &random))
                mixer.add(samples.span)
                for index in samples.indices { sums[index] += Int(samples[index]) }
            }
            let mixed = mixer.finish()
            #expect(mixed == sums.prefix(mixed.count).map { Int16(clamping: $0) }, "seed \(seed)")
            #expect(sums.dropFirst(mixed.count).allSatisfy { $0 == 0 })
        }
    }
}
