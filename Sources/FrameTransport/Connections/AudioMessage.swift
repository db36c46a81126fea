public import FrameWire

/// An audio message: 16-bit samples, and the fields of the message's header.
public struct AudioMessage: Sendable {
    /// The kind of audio: the app's or the microphone's.
    public var kind: AudioKind

    /// The samples per second and channel, 8,000 to 192,000.
    public var sampleRate: Int

    /// The number of channels, 1 to 8.
    public var channels: Int

    /// The time at which the first sample is to be played, in nanoseconds of the frames' clock; nil if unknown.
    public var timestamp: UInt64?

    /// The number of the message among those of its kind; nil if the sender does not number them.
    public var sequence: UInt64?

    /// The samples: signed, little-endian, with interleaved channels.
    public var samples: FrameBytes

    /// Creates a message with the given samples, whose byte count is a multiple of 2 × `channels`.
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

    init(_ header: AudioHeader, samples: FrameBytes) {
        self.init(
            kind: header.kind,
            sampleRate: header.sampleRate,
            channels: header.channels,
            timestamp: header.timestamp,
            sequence: header.sequence,
            samples: samples
        )
    }

    var header: AudioHeader {
        AudioHeader(
            contentLength: samples.count,
            kind: kind,
            sampleRate: sampleRate,
            channels: channels,
            timestamp: timestamp,
            sequence: sequence
        )
    }

    /// Checks that a receiver will accept the message.
    ///
    /// - Throws: `invalidAudio`.
    func check() throws(TransportError) {
        guard AudioHeader.sampleRates.contains(sampleRate), AudioHeader.channelCounts.contains(channels),
            samples.count > 0,
            samples.count % (2 * channels) == 0, samples.count <= FrameMessageDecoder.Limits().maximumAudioBytes
        else {
            throw TransportError(
                .invalidAudio,
                "one message cannot carry \(samples.count) bytes of \(channels) channels at \(sampleRate) Hz"
            )
        }
    }
}
