/// The field values of one message, and the message that they describe.
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

    /// Begins the field with this name, at its colon.
    mutating func begin(name: [UInt8]) throws(HeadFault) { try fields.begin(fields.field(named: name)) }

    /// Consumes a byte of the value, starting with the first one that is not white space.
    mutating func take(_ byte: UInt8) throws(HeadFault) { try fields.take(byte) }

    /// Ends the value, at the carriage return.
    mutating func endValue() throws(HeadFault) { try fields.endValue() }

    /// Stores a field of a frame whose value is known to be a number; returns false, without a change, if it is not
    /// allowed here.
    @inline(__always)
    mutating func takeWhole(_ value: UInt64, in field: MessageField) -> Bool { fields.takeWhole(value, in: field) }

    /// Prepares for the next header.
    @inline(__always)
    mutating func reset() { fields.reset() }

    // MARK: The complete header

    /// Whether the complete header is a frame's, has all required fields, and does not exceed the pixel limit.
    @inline(__always)
    var isCompleteFrame: Bool {
        let bits =
            MessageField.contentLength.bit | MessageField.width.bit | MessageField.height.bit
            | MessageField.orientation.bit
        return fields.seen & (bits | MessageField.messageType.bit) == bits && hasFewEnoughPixels
    }

    /// What the complete header lacks or exceeds; nil if it is valid.
    var fault: HeadFault? {
        if let missing = required.first(where: { !fields.has($0) }) {
            return HeadFault(.fieldMissing, detail: fields.name(of: missing))
        }
        switch kind {
        case .frame: return pixelFault
        case .other(.audio): return lengthFaultOfAudio
        case .other(.sharedFrame): return pixelFault ?? lengthFaultOfEmpty
        case .other(.status), .other(.sharedBuffer): return lengthFaultOfEmpty
        case .unknown: return nil
        }
    }

    /// The event for the complete header; meaningful only without a ``fault``.
    var event: FrameMessageDecoder.Event {
        switch kind {
        case .frame: .head(head)
        case .other(.audio): .audio(audioHead)
        case .other(.status): .status(status)
        case .other(.sharedBuffer): .sharedBuffer(sharedBuffer)
        case .other(.sharedFrame): .sharedFrame(sharedFrame)
        case .unknown: .skipped
        }
    }

    /// The length of the body that follows.
    @inline(__always)
    var bodyLength: Int { number(.contentLength) }

    /// The frame header that the fields describe; meaningful only if ``isCompleteFrame`` is true.
    @inline(__always)
    var head: FrameHead {
        FrameHead(
            contentLength: bodyLength,
            bufferSize: size,
            orientation: orientation,
            presentationTime: fields[.presentationTime],
            sequence: fields[.sequence]
        )
    }

    private enum Kind {
        case frame
        case other(MessageKind)
        /// A kind of a later version, to be skipped by its length.
        case unknown
    }

    private var kind: Kind {
        guard let place = fields[count: .messageType] else { return .frame }
        return MessageKind.allCases.indices.contains(place) ? .other(MessageKind.allCases[place]) : .unknown
    }

    /// The fields that this kind of message requires, in the order in which they are reported missing.
    private var required: [MessageField] {
        switch kind {
        case .frame: [.contentLength, .width, .height, .orientation]
        case .other(.audio): [.contentLength, .audioKind, .sampleRate, .channels]
        case .other(.status): [.contentLength, .state, .version] + (state == .stopped ? [.finishReason] : [])
        case .other(.sharedBuffer): [.contentLength, .sharedBuffer, .sharedBytes]
        case .other(.sharedFrame):
            [.contentLength, .sharedBuffer, .width, .height, .orientation, .sharedFormat]
                + planeFields.flatMap { [$0.offset, $0.stride] }
                + (fields.has(.changedRow) || fields.has(.changedRows) ? [.changedRow, .changedRows] : [])
        case .unknown: [.contentLength]
        }
    }

    /// A number for the API; 0 if the field is missing.
    @inline(__always)
    private func number(_ field: MessageField) -> Int { fields[count: field] ?? 0 }

    @inline(__always)
    private var size: BufferSize { BufferSize(width: number(.width), height: number(.height)) }

    @inline(__always)
    private var orientation: FrameOrientation {
        FrameOrientation(rawValue: UInt8(clamping: number(.orientation))) ?? .unknown
    }

    private var hasFewEnoughPixels: Bool {
        let (pixels, overflows) = (fields[.width] ?? 0).multipliedReportingOverflow(by: fields[.height] ?? 0)
        return !overflows && pixels <= maximumPixels
    }

    private var pixelFault: HeadFault? {
        hasFewEnoughPixels ? nil : HeadFault(.pixelsTooMany, detail: "\(size.width) x \(size.height)")
    }
}

// Messages other than frames.
extension MessageFields {
    /// The fault of a body where none is allowed.
    private var lengthFaultOfEmpty: HeadFault? {
        bodyLength == 0 ? nil : HeadFault(.contentLengthInvalid, detail: "\(bodyLength)")
    }

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

    private var sharedBuffer: SharedBufferHead {
        SharedBufferHead(index: number(.sharedBuffer), byteCount: number(.sharedBytes))
    }

    private var sharedFormat: SharedPixelFormat { word(.sharedFormat) ?? .bgra }

    /// The fields that state the planes' positions, for as many planes as the format has.
    private var planeFields: ArraySlice<(offset: MessageField, stride: MessageField)> {
        [(.offset, .stride), (.secondOffset, .secondStride), (.thirdOffset, .thirdStride)]
            .prefix(sharedFormat.planeCount)
    }

    private var sharedFrame: SharedFrameHead {
        var changedRows: Range<Int>?
        if let first = fields[count: .changedRow], let count = fields[count: .changedRows] {
            changedRows = first..<(first + count)
        }
        return SharedFrameHead(
            buffer: number(.sharedBuffer),
            format: sharedFormat,
            bufferSize: size,
            orientation: orientation,
            planes: planeFields.map { .init(offset: number($0.offset), bytesPerRow: number($0.stride)) },
            changedRows: changedRows,
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
