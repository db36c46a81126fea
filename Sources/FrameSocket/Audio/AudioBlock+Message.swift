public import FrameTransport
public import FrameWire

extension AudioBlock {
    /// Creates a block from a received message.
    ///
    /// - Throws: `unsupportedFormat` for more than two channels, which a message may have, up to eight. A received
    ///   message always has whole frames.
    public init(_ message: AudioMessage) throws(AudioError) {
        let format = try AudioBlock.Format(sampleRate: message.sampleRate, channels: message.channels)
        self = try message.samples.withSpan { samples throws(AudioError) in
            try AudioBlock(format: format, timestamp: message.timestamp, littleEndian: samples)
        }
    }
}

extension AudioMessage {
    /// Creates a message from a block, in pooled memory.
    ///
    /// - Parameters:
    ///   - block: The audio; at most 256 KiB can be sent in one message.
    ///   - kind: The kind of audio.
    ///   - sequence: Its number among the messages of its kind; nil to omit it.
    /// - Throws: Never for a block that has a valid format and whole frames.
    public init(_ block: AudioBlock, kind: AudioKind, sequence: UInt64? = nil) throws(AudioError) {
        let samples = try FrameBytes(capacity: block.byteCount) { output throws(AudioError) in
            try block.write(littleEndianTo: &output)
        }
        self.init(
            kind: kind,
            sampleRate: block.format.sampleRate,
            channels: block.format.channels,
            timestamp: block.timestamp,
            sequence: sequence,
            samples: samples
        )
    }
}
