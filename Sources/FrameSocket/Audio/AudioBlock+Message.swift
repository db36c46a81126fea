public import FrameTransport
public import FrameWire

extension AudioBlock {
    /// The sound of a message that was received.
    ///
    /// - Throws: `AudioError` if the bytes are not whole samples of all channels, which a receiver rules out.
    public init(_ message: AudioMessage) throws(AudioError) {
        let format = try AudioFormat(sampleRate: message.sampleRate, channels: message.channels)
        self = try message.samples.withBytes { bytes throws(AudioError) in
            try AudioBlock(format: format, presentationTime: message.timestamp, littleEndian: bytes)
        }
    }
}

extension AudioMessage {
    /// A block as a message, in memory that is used again.
    ///
    /// - Parameters:
    ///   - block: The sound; at most 256 KiB of it can be sent at once.
    ///   - kind: Which sound it is.
    ///   - sequence: Its number among those of its kind; nil to leave it out.
    /// - Throws: Never for a block that was made with a format and whole frames.
    public init(_ block: AudioBlock, kind: AudioKind, sequence: UInt64? = nil) throws(AudioError) {
        let samples = try FrameBytes(capacity: block.byteCount) { output throws(AudioError) in
            try block.write(littleEndianTo: &output)
        }
        self.init(
            kind: kind,
            sampleRate: block.format.sampleRate,
            channels: block.format.channels,
            timestamp: block.presentationTime,
            sequence: sequence,
            samples: samples
        )
    }
}
