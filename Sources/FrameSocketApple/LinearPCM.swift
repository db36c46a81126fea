internal import FrameSocket

/// How samples of sound lie in memory, as an `AudioStreamBasicDescription` says it.
struct LinearPCM: Sendable, Hashable {
    /// Samples of one channel in a second.
    var sampleRate: Double
    /// Samples at one time.
    var channels: Int
    /// Bits of one sample.
    var bitsPerChannel: Int
    /// Whether samples are signed integers, and not floating-point numbers or unsigned.
    var isSignedInteger: Bool
    /// Whether the high byte comes first, as in what ReplayKit hands out of an app's sound.
    var isBigEndian: Bool
    /// Whether the channels stand side by side.
    var isInterleaved: Bool

    /// The sound that such bytes are.
    ///
    /// - Throws: `unsupportedFormat` where it is not 16 bits, signed, interleaved, of one or two channels at 8 to 192 kHz;
    ///   `incompleteFrame`.
    func block(of bytes: Span<UInt8>, presentationTime: UInt64?) throws(AudioError) -> AudioBlock {
        guard isSignedInteger, bitsPerChannel == 16, isInterleaved || channels == 1 else {
            throw AudioError(.unsupportedFormat, "Only interleaved 16-bit integers can be sent as sound.")
        }
        guard let sampleRate = Int(exactly: sampleRate) else {
            throw AudioError(.unsupportedFormat, "A sample rate of \(sampleRate) Hz is no whole number.")
        }
        let format = try AudioFormat(sampleRate: sampleRate, channels: channels)
        guard isBigEndian else {
            return try AudioBlock(format: format, presentationTime: presentationTime, littleEndian: bytes)
        }
        guard bytes.count.isMultiple(of: 2) else {
            throw AudioError(.incompleteFrame, "\(bytes.count) bytes are not whole samples of two bytes.")
        }
        let samples = [Int16](capacity: bytes.count / 2) { output in
            for index in 0..<bytes.count / 2 {
                let (high, low) = (bytes[2 * index], bytes[2 * index + 1])
                output.append(Int16(truncatingIfNeeded: Int(high) << 8 | Int(low)))
            }
        }
        return try AudioBlock(format: format, presentationTime: presentationTime, samples: samples)
    }
}
