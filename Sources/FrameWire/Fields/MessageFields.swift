/// What the fields of one message say, and what message they make.
struct MessageFields: Sendable {
    private let maximumAudioBytes: UInt64
    private let maximumPixels: UInt64
    private var fields: HeadFields<MessageField>

    init(limits: WireLimits) {
        maximumAudioBytes = UInt64(clamping: limits.maximumAudioBytes)
        maximumPixels = UInt64(clamping: limits.maximumPixels)
        fields = HeadFields(
            maximumContentLength: limits.maximumContentLength,
            maximumDimension: limits.maximumDimension
        )
    }

    /// Begins the field of this name, at its colon.
    mutating func begin(name: [UInt8]) throws(HeadFault) { try fields.begin(fields.field(named: name)) }

    /// Takes a byte of the value, from its first that is not white space on.
    mutating func take(_ byte: UInt8) throws(HeadFault) { try fields.take(byte) }

    /// Ends the value, at the carriage return.
    mutating func endValue() throws(HeadFault) { try fields.endValue() }

    /// Takes a frame's field whose value is known to be a number; false, with nothing changed, if it may not stand here.
    @inline(__always)
    mutating func takeWhole(_ value: UInt64, in field: MessageField) -> Bool { fields.takeWhole(value, in: field) }

    /// Makes ready for the next head.
    @inline(__always)
    mutating func reset() { fields.reset() }

    // MARK: The head as a whole

    /// Whether the head as a whole is a frame's and has what that needs, and no more pixels than it may.
    @inline(__always)
    var isCompleteFrame: Bool {
        let bits =
            MessageField.contentLength.bit | MessageField.width.bit | MessageField.height.bit
            | MessageField.orientation.bit
        return fields.seen & (bits | MessageField.messageType.bit) == bits && hasFewEnoughPixels
    }

    /// What the head as a whole lacks or has too much of, once it ended; nil if it is sound.
    var fault: HeadFault? {
        if let missing = required.first(where: { !fields.has($0) }) {
            return HeadFault(.fieldMissing, detail: fields.name(of: missing))
        }
        switch kind {
        case .frame:
            return hasFewEnoughPixels ? nil : HeadFault(.pixelsTooMany, detail: "\(size.width) x \(size.height)")
        case .other(.audio): return lengthFaultOfAudio
        case .other(.status):
            return bodyLength == 0 ? nil : HeadFault(.contentLengthInvalid, detail: "\(bodyLength)")
        case .unknown: return nil
        }
    }

    /// What the head that ended is; of use only without a ``fault``.
    var event: FrameMessageDecoder.Event {
        switch kind {
        case .frame: .head(head)
        case .other(.audio): .audio(audioHead)
        case .other(.status): .status(status)
        case .unknown: .skipped
        }
    }

    /// The bytes of the body that follows.
    @inline(__always)
    var bodyLength: Int { number(.contentLength) }

    /// The head that the fields make; of use only if it ``isCompleteFrame``.
    @inline(__always)
    var head: FrameHead {
        FrameHead(
            contentLength: bodyLength,
            bufferSize: size,
            orientation: FrameOrientation(rawValue: UInt8(clamping: number(.orientation))) ?? .unknown,
            presentationTime: fields[.presentationTime],
            sequence: fields[.sequence]
        )
    }

    private enum Kind {
        case frame
        case other(MessageKind)
        /// One of a later version, to be skipped by its length.
        case unknown
    }

    private var kind: Kind {
        guard let place = fields[count: .messageType] else { return .frame }
        return MessageKind.allCases.indices.contains(place) ? .other(MessageKind.allCases[place]) : .unknown
    }

    /// The fields without which the head is not what it says, in the order in which they are reported missing.
    private var required: [MessageField] {
        switch kind {
        case .frame: [.contentLength, .width, .height, .orientation]
        case .other(.audio): [.contentLength, .audioKind, .sampleRate, .channels]
        case .other(.status): [.contentLength, .state, .version] + (state == .stopped ? [.finishReason] : [])
        case .unknown: [.contentLength]
        }
    }

    /// A number for the API; 0 if the field is missing.
    @inline(__always)
    private func number(_ field: MessageField) -> Int { fields[count: field] ?? 0 }

    @inline(__always)
    private var size: BufferSize { BufferSize(width: number(.width), height: number(.height)) }

    private var hasFewEnoughPixels: Bool {
        let (pixels, overflows) = (fields[.width] ?? 0).multipliedReportingOverflow(by: fields[.height] ?? 0)
        return !overflows && pixels <= maximumPixels
    }
}

// Messages that are no frames.
extension MessageFields {
    private var lengthFaultOfAudio: HeadFault? {
        let length = fields[.contentLength] ?? 0
        let detail = "\(length)"
        guard length <= maximumAudioBytes else { return HeadFault(.contentLengthTooLarge, detail: detail) }
        let isWhole = length > 0 && length.isMultiple(of: 2 * (fields[.channels] ?? 1))
        return isWhole ? nil : HeadFault(.contentLengthInvalid, detail: detail)
    }

    private var audioHead: AudioHead {
        AudioHead(
            contentLength: bodyLength,
            kind: word(.audioKind) ?? .app,
            sampleRate: number(.sampleRate),
            channels: number(.channels),
            presentationTime: fields[.presentationTime],
            sequence: fields[.sequence]
        )
    }

    private var state: StateWord? { word(.state) }

    private var status: SenderStatus {
        let state: SenderStatus.State =
            switch state {
            case .live, nil: .live
            case .paused: .paused
            case .stopped: .stopped(FinishReason(rawValue: number(.finishReason)) ?? .error)
            }
        var status = SenderStatus(state: state, pong: fields[.pong], version: number(.version))
        status.refusedPreferences = fields[.refusedPreferences] ?? 0
        return status
    }

    /// The word of a field, if it occurred.
    private func word<Word: CaseIterable>(_ field: MessageField) -> Word? where Word.AllCases == [Word] {
        fields[count: field].map { Word.allCases[$0] }
    }
}
