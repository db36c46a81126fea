/// A block of 16-bit linear PCM audio, as carried by one message.
public struct AudioBlock: Sendable, Hashable {
    /// The sample rate and the number of channels.
    public let format: AudioBlock.Format

    /// The time at which the first frame was captured or is to be played, in nanoseconds of the sender's clock; nil if
    /// unknown.
    public let timestamp: UInt64?

    /// The interleaved samples: always a whole number of frames.
    public let samples: [Int16]

    /// Creates a block of interleaved samples.
    ///
    /// - Throws: ``AudioError`` with `incompleteFrame` if the samples are not a whole number of frames. An empty array
    ///   is not an error: it makes a block of no frames.
    public init(format: AudioBlock.Format, timestamp: UInt64? = nil, samples: [Int16]) throws(AudioError) {
        guard samples.count.isMultiple(of: format.channels) else {
            throw AudioError(
                .incompleteFrame,
                "\(samples.count) samples are not a whole number of \(format.channels)-channel frames"
            )
        }
        self.init(format: format, timestamp: timestamp, wholeFrames: samples)
    }

    /// Creates a block of samples that are known to be whole frames.
    package init(format: AudioBlock.Format, timestamp: UInt64?, wholeFrames samples: [Int16]) {
        self.format = format
        self.timestamp = timestamp
        self.samples = samples
    }

    /// The number of frames.
    public var frameCount: Int { samples.count / format.channels }

    /// The duration of the block, rounded down to whole nanoseconds.
    public var duration: Duration { format.duration(ofFrames: frameCount) }
}
