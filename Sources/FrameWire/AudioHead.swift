/// The head of an audio message: how many bytes of sound follow, and how to play them.
///
/// The body is 16-bit signed integers, little-endian, the channels interleaved. A sender writes such messages only to a
/// receiver that asked for them, see ``ControlWants/audio``.
public struct AudioHead: Sendable, Hashable {
    /// The samples a second that a message may state: 8,000 to 192,000.
    public static let sampleRates = 8_000...192_000

    /// The channels that a message may state: 1 to 8.
    public static let channelCounts = 1...8

    /// The bytes of the body, a multiple of 2 × ``channels`` and more than 0: the field `Content-Length`.
    public var contentLength: Int

    /// Which sound it is: the field `Audio-Kind`.
    public var kind: AudioKind

    /// The samples of one channel in a second: the field `Audio-Sample-Rate`.
    public var sampleRate: Int

    /// The samples at one time: the field `Audio-Channels`.
    public var channels: Int

    /// When the first sample is to be heard, in nanoseconds of the clock that the frames use: `Buffer-Presentation-Time`.
    public var presentationTime: UInt64?

    /// The number of the message among those of its kind, counted by the sender: `Buffer-Sequence`.
    public var sequence: UInt64?

    /// Creates a head; nothing is checked here, and a decoder may refuse what it says.
    public init(
        contentLength: Int,
        kind: AudioKind,
        sampleRate: Int,
        channels: Int,
        presentationTime: UInt64? = nil,
        sequence: UInt64? = nil
    ) {
        self.contentLength = contentLength
        self.kind = kind
        self.sampleRate = sampleRate
        self.channels = channels
        self.presentationTime = presentationTime
        self.sequence = sequence
    }
}

extension AudioHead {
    /// The bytes that ``encode(into:)`` appends for this head.
    public var encodedByteCount: Int { HeadWriter.count(of: write) }

    /// Appends the head as it stands on the wire, from the status line to the blank line.
    ///
    /// A negative number is written as 0; whether a decoder takes the others is not checked.
    ///
    /// - Returns: false, with nothing appended, where `output` has no room for ``encodedByteCount`` bytes.
    @discardableResult
    public func encode(into output: inout OutputSpan<UInt8>) -> Bool { HeadWriter.append(to: &output, write) }

    /// Returns the head as it stands on the wire.
    public func encoded() -> [UInt8] {
        [UInt8](capacity: encodedByteCount) { output in _ = encode(into: &output) }
    }

    private func write(to writer: inout HeadWriter) {
        writer.append("HTTP/1.1 200 OK\r\nContent-Length: ", UInt64(clamping: contentLength))
        writer.append("\r\nMessage-Type: audio\r\nAudio-Kind: ")
        switch kind {
        case .app: writer.append("app")
        case .microphone: writer.append("microphone")
        }
        writer.append("\r\nAudio-Sample-Rate: ", UInt64(clamping: sampleRate))
        writer.append("\r\nAudio-Channels: ", UInt64(clamping: channels))
        if let presentationTime { writer.append("\r\nBuffer-Presentation-Time: ", presentationTime) }
        if let sequence { writer.append("\r\nBuffer-Sequence: ", sequence) }
        writer.append("\r\n\r\n")
    }
}
