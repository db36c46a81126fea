import Foundation
import FrameSocket
import TestSupport
import Testing

extension SplitMix {
    /// Samples over the whole range.
    mutating func samples(_ count: Int) -> [Int16] {
        (0..<count).map { _ in Int16.random(in: .min ... .max, using: &self) }
    }
}

/// One channel of a sine, 1 dB below full scale.
func sine(_ frequency: Double, rate: Int, frames: Int, amplitude: Double = 29_204) -> [Int16] {
    (0..<frames).map { Int16((amplitude * sin(2 * .pi * frequency / Double(rate) * Double($0))).rounded()) }
}

/// How far everything except the sine of `frequency` is below it, in decibels.
///
/// The sine's amplitude and phase are fitted by least squares, so neither a delay nor a gain counts as noise.
func signalToNoise(_ samples: some Collection<Int16>, _ frequency: Double, rate: Int) -> Double {
    let step = 2 * .pi * frequency / Double(rate)
    var (ss, sc, cc, ys, yc) = (0.0, 0.0, 0.0, 0.0, 0.0)
    for (index, sample) in samples.enumerated() {
        let (s, c, y) = (sin(step * Double(index)), cos(step * Double(index)), Double(sample))
        ss += s * s
        sc += s * c
        cc += c * c
        ys += y * s
        yc += y * c
    }
    let determinant = ss * cc - sc * sc
    let (a, b) = ((ys * cc - yc * sc) / determinant, (yc * ss - ys * sc) / determinant)
    var (signal, noise) = (0.0, 0.0)
    for (index, sample) in samples.enumerated() {
        let fitted = a * sin(step * Double(index)) + b * cos(step * Double(index))
        signal += fitted * fitted
        noise += (Double(sample) - fitted) * (Double(sample) - fitted)
    }
    return 10 * log10(signal / noise)
}

/// The level of samples against that of a sine of full scale, in decibels.
func level(_ samples: some Collection<Int16>) -> Double {
    let power = samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(samples.count)
    return 10 * log10(max(power, 1e-6) / (32_767 * 32_767 / 2))
}

extension AudioBlock.Format {
    /// A format that is known to be supported.
    static func of(_ sampleRate: Int, _ channels: Int) throws -> AudioBlock.Format {
        try AudioBlock.Format(sampleRate: sampleRate, channels: channels)
    }
}

/// The code of the error that the body throws, or nil if it throws none.
func audioErrorCode(_ body: () throws(AudioError) -> Void) -> AudioError.Code? {
    do throws(AudioError) {
        try body()
        return nil
    } catch {
        return error.code
    }
}
