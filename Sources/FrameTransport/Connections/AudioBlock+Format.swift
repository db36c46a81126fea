extension AudioBlock {
    /// The sample rate and the number of channels of 16-bit linear PCM.
    ///
    /// A received block may have up to eight channels; those of a block that is created are one or two. A frame is one sample of every channel; the samples of a frame are adjacent (interleaved), left before right.
    public struct Format: Sendable, Hashable {
        /// The supported sample rates in hertz: 8,000 to 192,000.
        package static let sampleRates = 8_000...192_000

        /// The supported numbers of channels: mono and stereo.
        package static let channelCounts = 1...2

        /// Frames per second.
        public let sampleRate: Int

        /// Samples per frame: 1 is mono, 2 is stereo.
        public let channels: Int

        /// Creates a format within `sampleRates` and `channelCounts`.
        ///
        /// - Throws: ``AudioError`` with `unsupportedFormat` if one of them is outside its range.
        public init(sampleRate: Int, channels: Int) throws(AudioError) {
            guard Self.sampleRates.contains(sampleRate) else {
                throw AudioError(
                    .unsupportedFormat,
                    "invalid sample rate \(sampleRate) Hz: expected \(Self.sampleRates.lowerBound) to "
                        + "\(Self.sampleRates.upperBound)"
                )
            }
            guard Self.channelCounts.contains(channels) else {
                throw AudioError(
                    .unsupportedFormat,
                    "invalid channel count \(channels): expected 1 (mono) or 2 (stereo)"
                )
            }
            self.sampleRate = sampleRate
            self.channels = channels
        }

        /// The format of a message, whose parser has checked both numbers: it may have up to eight channels.
        init(ofMessage sampleRate: Int, _ channels: Int) {
            self.sampleRate = sampleRate
            self.channels = channels
        }

        /// Whether the format is mono or stereo: what can be created, and converted.
        package var isSupported: Bool { Self.channelCounts.contains(channels) }

        /// Returns the number of whole frames that fit in a duration; 0 for a negative one.
        package func frameCount(in duration: Duration) -> Int { frames(inNanoseconds: duration.nanoseconds) }

        /// Returns the duration of a number of frames in nanoseconds, rounded down.
        ///
        /// The result is 0 for a negative count, and `UInt64.max` if it would be greater (after 584 years).
        package func nanoseconds(inFrames frames: Int) -> UInt64 {
            guard frames > 0 else { return 0 }
            let (seconds, rest) = UInt64(frames).quotientAndRemainder(dividingBy: UInt64(sampleRate))
            let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
            let (sum, carry) = whole.addingReportingOverflow(rest * 1_000_000_000 / UInt64(sampleRate))
            return overflow || carry ? .max : sum
        }

        /// Returns the number of whole frames that fit in a duration in nanoseconds.
        package func frames(inNanoseconds nanoseconds: UInt64) -> Int {
            let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
            // At most 1.8e10 seconds of 192,000 frames, which 64 bits hold.
            return Int(seconds * UInt64(sampleRate) + rest * UInt64(sampleRate) / 1_000_000_000)
        }
    }
}

extension AudioBlock.Format: CustomStringConvertible {
    /// The rate and the channels in words, such as `44100 Hz mono`.
    public var description: String {
        "\(sampleRate) Hz \(channels == 1 ? "mono" : channels == 2 ? "stereo" : "with \(channels) channels")"
    }
}
