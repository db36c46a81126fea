internal import FrameSocket

/// The memory layout of audio samples, as described by an `AudioStreamBasicDescription`.
struct LinearPCM: Sendable, Hashable {
    /// The samples per second and channel.
    var sampleRate: Double
    /// The number of channels.
    var channels: Int
    /// The bits per sample.
    var bitsPerChannel: Int
    /// Whether samples are signed integers, rather than floating-point numbers or unsigned.
    var isSignedInteger: Bool
    /// Whether samples are big-endian, as in an app's audio from ReplayKit.
    var isBigEndian: Bool
    /// Whether the channels are interleaved.
    var isInterleaved: Bool

    /// Returns the audio in bytes of this layout.
    ///
    /// - Throws: `unsupportedFormat` unless the layout is signed 16-bit, interleaved, of one or two channels at 8 to
    ///   192 kHz; `incompleteFrame`.
    func block(of bytes: Span<UInt8>, _ kind: AudioKind, timestamp: UInt64?) throws(AudioError) -> AudioBlock {
        guard isSignedInteger, bitsPerChannel == 16, isInterleaved || channels == 1 else {
            throw AudioError(.unsupportedFormat, "only interleaved 16-bit integer audio can be sent")
        }
        guard let sampleRate = Int(exactly: sampleRate) else {
            throw AudioError(.unsupportedFormat, "the sample rate \(sampleRate) Hz is not a whole number")
        }
        let format = try AudioBlock.Format(sampleRate: sampleRate, channels: channels)
        guard bytes.count.isMultiple(of: 2) else {
            throw AudioError(.incompleteFrame, "\(bytes.count) bytes are not a whole number of 2-byte samples")
        }
        let samples = [Int16](capacity: bytes.count / 2) { output in
            for index in 0..<bytes.count / 2 {
                let (first, second) = (Int(bytes[2 * index]), Int(bytes[2 * index + 1]))
                output.append(Int16(truncatingIfNeeded: isBigEndian ? first << 8 | second : second << 8 | first))
            }
        }
        return try AudioBlock(kind: kind, format: format, timestamp: timestamp, samples: samples)
    }
}
