/// Mixes sources of 16-bit samples by addition, and clips the result.
///
/// Every source is added before the sum is clipped, so their order does not matter, and a loud source may be canceled
/// by another. The sources must have the same format, which ``AudioRingBuffer`` ensures; the mixer does not check it.
///
/// ```swift
/// var mixer = AudioMixer()
/// mixer.add(app.samples.span, gain: 0.5)
/// mixer.add(microphone.samples.span)
/// let mixed = mixer.finish()
/// ```
///
/// The mixer's memory is that of the longest source, and is kept for the next mix.
///
/// Thread safety: a value: copies may be used on any threads, and a mutating call needs its own copy for itself.
public struct AudioMixer: Sendable {
    /// The maximum gain of a source: a factor of 16, or 24 dB.
    package static let maximumGain: Float = 16

    private var sums: [Int32] = []

    /// The largest possible magnitude of a sum.
    private var reach: Int64 = 0

    /// Creates a mixer without sources.
    public init() {}

    /// Adds a source.
    ///
    /// After its end a source is silent. Every sample is multiplied by `gain` and rounded to the nearest integer (ties
    /// to even); a gain of 1 is exact. A negative or NaN gain counts as 0, and one above `maximumGain` counts as
    /// `maximumGain`.
    public mutating func add(_ samples: Span<Int16>, gain: Float = 1) {
        // Written so that NaN fails the test.
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

    /// Returns the sum of the sources, clipped to -32,768 to 32,767, and starts over.
    public mutating func finish() -> [Int16] {
        let mixed = sums.map(Self.cut)
        sums.removeAll(keepingCapacity: true)
        reach = 0
        return mixed
    }

    /// Returns a sample multiplied by a gain of 0 to `maximumGain`, rounded.
    ///
    /// Converting a `Float` to an integer can trap, which prevents vectorization of the loops. Instead the product, of
    /// at most 2^19 in magnitude, is added to 1.5 x 2^23: in that range the `Float`s are the integers, so the addition
    /// rounds, and the low bits of the sum are the product.
    @inline(__always)
    private static func product(_ sample: Int16, _ gain: Float) -> Int32 {
        let rounding: Float = 12_582_912
        return Int32(bitPattern: (Float(sample) * gain + rounding).bitPattern &- rounding.bitPattern)
    }

    /// Clamps to 16 bits: `Int16(clamping:)` without its branches, which prevent vectorization.
    @inline(__always)
    private static func cut(_ sum: Int32) -> Int16 {
        Int16(truncatingIfNeeded: min(max(sum, -32_768), 32_767))
    }

    /// Ensures that another source cannot overflow the sums.
    ///
    /// Only thousands of sources at full scale get there. Sums beyond a billion are then clamped to a billion, which
    /// changes the result only if as many more sources cancel them.
    private mutating func makeRoom(for peak: Int64) {
        let limit = Int32.max / 2
        if reach + peak > Int64(Int32.max) {
            for index in sums.indices { sums[index] = min(max(sums[index], -limit), limit) }
            reach = Int64(limit)
        }
        reach += peak
    }
}
