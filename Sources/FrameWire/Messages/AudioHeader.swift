/// The header of an audio message: how many bytes of audio follow, and how to play them.
///
/// The body consists of 16-bit signed integers, little-endian, with interleaved channels. A sender writes such messages
/// only to a receiver that asked for them; see ``ControlRequest/Wants/audio``.
public struct AudioHeader: Sendable, Hashable {
    /// The sample rates that a message can state, in samples per second: 8,000 to 192,000.
    package static let sampleRates = 8_000...192_000

    /// The channel counts that a message can state: 1 to 8.
    package static let channelCounts = 1...8

    /// The length of the body in bytes, a positive multiple of 2 × ``channels``: the field `Content-Length`.
    public var contentLength: Int

    /// The source of the audio: the field `Audio-Kind`.
    public var kind: AudioKind

    /// The number of samples per second in each channel: the field `Audio-Sample-Rate`.
    public var sampleRate: Int

    /// The number of channels: the field `Audio-Channels`.
    public var channels: Int

    /// The presentation time of the first sample, in nanoseconds of the clock that the frames use:
    /// `Buffer-Presentation-Time`.
    public var timestamp: UInt64?

    /// The sequence number of the message among those of its kind, counted by the sender: `Buffer-Sequence`.
    public var sequence: UInt64?

    /// Creates a header without checking the values; a decoder may reject them.
    public init(
        contentLength: Int,
        kind: AudioKind,
        sampleRate: Int,
        channels: Int,
        timestamp: UInt64? = nil,
        sequence: UInt64? = nil
    ) {
        self.contentLength = contentLength
        self.kind = kind
        self.sampleRate = sampleRate
        self.channels = channels
        self.timestamp = timestamp
        self.sequence = sequence
    }
}

extension AudioHeader: WireMessage {
    package mutating func code(with coder: inout some FieldCoder) {
        coder.begin(.audio, bodyByteCount: &contentLength)
        coder.code(.audioKind, &kind)
        coder.code(.sampleRate, &sampleRate)
        coder.code(.channels, &channels)
        coder.code(.timestamp, &timestamp)
        coder.code(.sequence, &sequence)
    }
}

/// The source of the audio in a message; the raw value is the word in the field `Audio-Kind`.
public enum AudioKind: String, Sendable, CaseIterable, Hashable {
    /// The audio of the shared app or screen.
    case app
    /// The voice of the person who is sharing.
    case microphone
}
