/// A stretch of 16-bit linear PCM, as one message carries it.
public struct AudioBlock: Sendable, Hashable {
    /// The sample rate and the number of channels.
    public let format: AudioFormat

    /// When the first frame was captured or is to be heard, in nanoseconds on the sender's clock; nil if unknown.
    public let presentationTime: UInt64?

    /// The samples, interleaved: always a whole number of frames.
    public let samples: [Int16]

    /// A block of interleaved samples.
    ///
    /// - Throws: ``AudioError`` with `incompleteFrame` if the samples are not a whole number of frames. No samples
    ///   at all are a block of no frames, and no error.
    public init(format: AudioFormat, presentationTime: UInt64? = nil, samples: [Int16]) throws(AudioError) {
        guard samples.count.isMultiple(of: format.channels) else {
            throw AudioError(
                .incompleteFrame,
                "\(samples.count) samples are not a whole number of frames of \(format.channels) channels."
            )
        }
        self.init(format: format, presentationTime: presentationTime, wholeFrames: samples)
    }

    /// A block of samples whose count is known to be that of whole frames.
    package init(format: AudioFormat, presentationTime: UInt64?, wholeFrames samples: [Int16]) {
        self.format = format
        self.presentationTime = presentationTime
        self.samples = samples
    }

    /// How many frames there are.
    public var frameCount: Int { samples.count / format.channels }

    /// How long the block is, in nanoseconds, rounded down.
    public var duration: UInt64 { format.nanoseconds(inFrames: frameCount) }
}
