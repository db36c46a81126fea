public import FrameWire

/// A block of 16-bit linear PCM audio: what one message carries.
public struct AudioBlock: Sendable {
    /// The kind of audio: the app's or the microphone's.
    public var kind: AudioKind

    /// The sample rate and the number of channels.
    public let format: Format

    /// The time at which the first frame was captured or is to be played, in nanoseconds of the sender's clock; nil if
    /// unknown.
    public var timestamp: UInt64?

    /// The number of the block among those of its kind; nil if the sender does not number them.
    public var sequence: UInt64?

    /// The samples as they are on the wire: little-endian, with interleaved channels.
    package let bytes: FrameBytes

    /// Creates a block of interleaved samples.
    ///
    /// - Throws: ``AudioError`` with `incompleteFrame` if the samples are not a whole number of frames. An empty array
    ///   is not an error: it makes a block of no frames.
    public init(
        kind: AudioKind = .app,
        format: Format,
        timestamp: UInt64? = nil,
        sequence: UInt64? = nil,
        samples: [Int16]
    ) throws(AudioError) {
        guard samples.count.isMultiple(of: format.channels) else {
            throw AudioError(
                .incompleteFrame,
                "\(samples.count) samples are not a whole number of \(format.channels)-channel frames"
            )
        }
        self.kind = kind
        self.format = format
        self.timestamp = timestamp
        self.sequence = sequence
        bytes = FrameBytes(capacity: samples.count * 2) { output in
            // Without memory there is no room: the block is empty.
            guard output.freeCapacity >= samples.count * 2 else { return }
            for sample in samples {
                output.append(UInt8(truncatingIfNeeded: sample))
                output.append(UInt8(truncatingIfNeeded: sample >> 8))
            }
        }
    }

    /// Creates a block of the bytes of a message, which are whole frames.
    package init(
        kind: AudioKind,
        sampleRate: Int,
        channels: Int,
        timestamp: UInt64? = nil,
        sequence: UInt64? = nil,
        samples bytes: FrameBytes
    ) {
        self.kind = kind
        format = Format(ofMessage: sampleRate, channels)
        self.timestamp = timestamp
        self.sequence = sequence
        self.bytes = bytes
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

    /// The interleaved samples, copied: always a whole number of frames.
    public var samples: [Int16] {
        bytes.withSpan { bytes in
            [Int16](capacity: bytes.count / 2) { output in
                unsafe bytes.withUnsafeBytes { bytes in
                    for index in 0..<output.capacity {
                        let sample = unsafe bytes.loadUnaligned(fromByteOffset: index * 2, as: Int16.self)
                        output.append(Int16(littleEndian: sample))
                    }
                }
            }
        }
    }

    /// The number of frames.
    public var frameCount: Int { bytes.count / 2 / format.channels }

    var header: AudioHeader {
        AudioHeader(
            contentLength: bytes.count,
            kind: kind,
            sampleRate: format.sampleRate,
            channels: format.channels,
            timestamp: timestamp,
            sequence: sequence
        )
    }

    /// Checks that a receiver will accept the block.
    ///
    /// - Throws: `invalidAudio`.
    func check() throws(TransportError) {
        guard 1...FrameMessageDecoder.Limits().maximumAudioBytes ~= bytes.count else {
            throw TransportError(.invalidAudio, "one message cannot carry \(bytes.count) bytes of audio")
        }
    }
}
