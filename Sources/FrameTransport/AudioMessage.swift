public import FrameWire

/// A piece of sound as it crosses the socket: 16-bit samples, and what the message's header says of them.
public struct AudioMessage: Sendable {
    /// Which sound it is: the app's or the microphone's.
    public var kind: AudioKind

    /// The samples of one channel in a second, 8,000 to 192,000.
    public var sampleRate: Int

    /// The samples at one time, 1 to 8.
    public var channels: Int

    /// When the first sample is to be heard, in nanoseconds of the clock that the frames use; nil if it is not known.
    public var timestamp: UInt64?

    /// The number of the message among those of its kind; nil if the sender does not count.
    public var sequence: UInt64?

    /// The samples: signed, little-endian, the channels interleaved.
    public var samples: FrameBytes

    /// A message with the given samples, whose bytes are a multiple of 2 × `channels`.
    public init(
        kind: AudioKind,
        sampleRate: Int,
        channels: Int,
        timestamp: UInt64? = nil,
        sequence: UInt64? = nil,
        samples: FrameBytes
    ) {
        self.kind = kind
        self.sampleRate = sampleRate
        self.channels = channels
        self.timestamp = timestamp
        self.sequence = sequence
        self.samples = samples
    }

    init(_ head: AudioHead, samples: FrameBytes) {
        self.init(
            kind: head.kind,
            sampleRate: head.sampleRate,
            channels: head.channels,
            timestamp: head.presentationTime,
            sequence: head.sequence,
            samples: samples
        )
    }

    var head: AudioHead {
        AudioHead(
            contentLength: samples.count,
            kind: kind,
            sampleRate: sampleRate,
            channels: channels,
            presentationTime: timestamp,
            sequence: sequence
        )
    }

    /// Checks that a receiver will take the message.
    ///
    /// - Throws: `invalidAudio`.
    func check() throws(TransportError) {
        guard AudioHead.sampleRates.contains(sampleRate), AudioHead.channelCounts.contains(channels), samples.count > 0,
            samples.count % (2 * channels) == 0, samples.count <= WireLimits().maximumAudioBytes
        else {
            throw TransportError(
                .invalidAudio,
                "\(samples.count) bytes of \(channels) channels at \(sampleRate) Hz cannot be sent as one message"
            )
        }
    }
}
