/// Adds up sources of 16-bit samples, and cuts off what does not fit at the end.
///
/// All sources are added before anything is cut off, so their order does not matter, and a loud source that another one
/// cancels does no harm. The sources must have the same format, which ``AudioRingBuffer`` sees to; the mixer does not
/// ask for it.
///
///     mixer.add(app.samples.span, gain: 0.5)
///     mixer.add(microphone.samples.span)
///     let mixed = mixer.finish()
///
/// The memory is that of the longest source, and is kept for the next round.
public struct AudioMixer: Sendable {
    /// The most that a source can be amplified: 16 times, or 24 dB.
    public static let maximumGain: Float = 16

    private var sums: [Int32] = []

    /// How far from 0 a sum can be.
    private var reach: Int64 = 0

    /// A mixer without any source.
    public init() {}

    /// How many samples the longest source so far has.
    public var sampleCount: Int { sums.count }

    /// Adds a source.
    ///
    /// Behind its end a source is silent. Each sample is multiplied by `gain` and rounded to the nearest whole number
    /// (to the even one of two); at 1 it is exact. A gain below 0 counts as 0, as does one that is not a number; one
    /// above ``maximumGain`` counts as that.
    public mutating func add(_ samples: Span<Int16>, gain: Float = 1) {
        // Written so that what is not a number fails the test.
        let gain = gain > 0 ? min(gain, Self.maximumGain) : 0
        if sums.count < samples.count { sums.append(contentsOf: repeatElement(0, count: samples.count - sums.count)) }
        makeRoom(for: Int64((32_768 * gain).rounded(.up)))
        unsafe samples.withUnsafeBufferPointer { samples in
            unsafe sums.withUnsafeMutableBufferPointer { sums in
                if gain == 1 {
                    for index in samples.indices { unsafe sums[index] &+= Int32(samples[index]) }
                } else {
                    for index in samples.indices { unsafe sums[index] &+= Self.product(samples[index], gain) }
                }
            }
        }
    }

    /// Gives the sum of all sources, cut off to -32,768 to 32,767, and starts over.
    public mutating func finish() -> [Int16] {
        let mixed = [Int16](capacity: sums.count) { finish(into: &$0) }
        return mixed
    }

    /// Appends the sum of all sources to `output`, cut off to -32,768 to 32,767, and starts over.
    ///
    /// What `output` has no room for is left out.
    public mutating func finish(into output: inout OutputSpan<Int16>) {
        unsafe output.withUnsafeMutableBufferPointer { output, count in
            unsafe sums.withUnsafeBufferPointer { sums in
                let added = min(sums.count, output.count - count)
                for index in 0..<added {
                    unsafe output[count + index] = Self.cut(sums[index])
                }
                count += added
            }
        }
        sums.removeAll(keepingCapacity: true)
        reach = 0
    }

    /// Adds one source to samples in place: `samples` is both a source and where the sum goes.
    ///
    /// As ``add(_:gain:)``, then cut off. Where the source is longer than `samples`, its end is left out.
    public static func mix(_ source: Span<Int16>, into samples: inout MutableSpan<Int16>, gain: Float = 1) {
        let gain = gain > 0 ? min(gain, maximumGain) : 0
        let count = min(source.count, samples.count)
        unsafe source.withUnsafeBufferPointer { source in
            unsafe samples.withUnsafeMutableBufferPointer { samples in
                guard let from = source.baseAddress, let to = samples.baseAddress else { return }
                for index in 0..<count {
                    unsafe to[index] = cut(Int32(to[index]) &+ product(from[index], gain))
                }
            }
        }
    }

    /// A sample times a gain of 0 to ``maximumGain``, rounded.
    ///
    /// Converting a `Float` to an integer has a trap in it, which keeps the loops from being vectorised. Instead the
    /// product, at most 2^19 from 0, is added to 1.5 x 2^23: there the `Float`s are the whole numbers, so the addition
    /// rounds, and the low bits of the sum are the product.
    @inline(__always)
    private static func product(_ sample: Int16, _ gain: Float) -> Int32 {
        let rounding: Float = 12_582_912
        return Int32(bitPattern: (Float(sample) * gain + rounding).bitPattern &- rounding.bitPattern)
    }

    /// The nearest 16 bits: `Int16(clamping:)` without its branches, which keep a loop from being vectorised.
    @inline(__always)
    private static func cut(_ sum: Int32) -> Int16 {
        Int16(truncatingIfNeeded: min(max(sum, -32_768), 32_767))
    }

    /// Sees to it that one more source cannot overflow the sums.
    ///
    /// It takes thousands of sources at full scale to come there. Sums beyond a billion are then brought back to that,
    /// which changes the result only if as many more sources cancel them.
    private mutating func makeRoom(for peak: Int64) {
        let limit = Int32.max / 2
        if reach + peak > Int64(Int32.max) {
            for index in sums.indices { sums[index] = min(max(sums[index], -limit), limit) }
            reach = Int64(limit)
        }
        reach += peak
    }
}
