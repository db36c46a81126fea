internal import ErrorShape
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

/// An error that says why audio was refused.
///
/// `code` is stable, for programs; `message` is a sentence for a person.
public struct AudioError: Error, Sendable, Hashable {
    /// The kind of failure.
    ///
    /// A structure rather than an enumeration, so that later versions can add codes without breaking a `switch`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable text, such as `audio.unsupportedFormat`.
        public let rawValue: String

        /// The stable text.
        public var description: String { rawValue }
    }

    /// The kind of failure.
    public let code: Code

    /// What happened, with the offending value.
    public let message: String

    /// The `errno` of the failed system call; always nil, because none is made.
    public var underlyingErrno: Int32? { nil }

    /// The offset of the first wrong byte in the input; always nil.
    public var byteOffset: UInt64? { nil }

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension AudioError: DescribedError {}

extension AudioError: CustomStringConvertible {
    /// The message.
    public var description: String { summary }
}

extension AudioError.Code {
    /// A sample rate or a number of channels outside what ``AudioBlock/Format`` allows.
    public static let unsupportedFormat = Self(rawValue: "audio.unsupportedFormat")
    /// Samples or bytes that are not a whole number of frames.
    public static let incompleteFrame = Self(rawValue: "audio.incompleteFrame")
    /// A number of frames less than 0, or greater than the buffer can hold.
    public static let invalidFrameCount = Self(rawValue: "audio.invalidFrameCount")
    /// The resampler could not be created; memory may be exhausted.
    public static let resamplerUnavailable = Self(rawValue: "audio.resamplerUnavailable")
}
