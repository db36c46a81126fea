/// The field values of one message, and the message that they describe.
struct MessageFields: Sendable {
    private let maximumAudioBytes: UInt64
    private let maximumPixels: UInt64
    private var fields: HeaderFields<MessageField>

    init(limits: FrameMessageDecoder.Limits) {
        maximumAudioBytes = UInt64(clamping: limits.maximumAudioBytes)
        maximumPixels = UInt64(clamping: limits.maximumPixels)
        fields = HeaderFields(
            maximumContentLength: limits.maximumContentLength,
            maximumDimension: limits.maximumDimension
        )
    }

    /// Begins the field with this name, at its colon.
    mutating func begin(name: [UInt8]) throws(HeaderFault) { try fields.begin(fields.field(named: name)) }

    /// Consumes a byte of the value, starting with the first one that is not white space.
    mutating func take(_ byte: UInt8) throws(HeaderFault) { try fields.take(byte) }

    /// Ends the value, at the carriage return.
    mutating func endValue() throws(HeaderFault) { try fields.endValue() }

    /// Stores a field of a frame whose value is known to be a number; returns false, without a change, if it is not
    /// allowed here.
    @inline(__always)
    mutating func takeWhole(_ value: UInt64, in field: MessageField) -> Bool { fields.takeWhole(value, in: field) }

    /// Stores a field whose value is one of its words; returns false, without a change, if it is another, or not allowed
    /// here.
    mutating func takeWhole(word: Span<UInt8>, in field: MessageField) -> Bool {
        fields.takeWhole(word: word, in: field)
    }

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
    var fault: HeaderFault? {
        if let missing = required.first(where: { !fields.has($0) }) {
            return HeaderFault(.fieldMissing, detail: fields.name(of: missing))
        }
        switch kind {
        case .frame: return pixelFault
        case .other(.audio): return lengthFaultOfAudio
        case .other(.sharedFrame): return pixelFault ?? lengthFaultOfEmpty
        case .other(.status), .other(.sharedBuffer): return lengthFaultOfEmpty
        case .other(.info): return lengthFaultOfInfo
        case .unknown: return nil
        }
    }

    /// The message that the complete header describes; meaningful only without a ``fault``.
    var message: FrameMessageDecoder.Message {
        switch kind {
        case .frame: .frame(header)
        case .other(.audio): .audio(audioHeader)
        case .other(.status): .status(status)
        case .other(.info): .info(info ?? .init())
        case .other(.sharedBuffer): .sharedBuffer(sharedBuffer)
        case .other(.sharedFrame): .sharedFrame(sharedFrame)
        case .unknown: .unknown
        }
    }

    /// The length of the body that follows.
    @inline(__always)
    var bodyLength: Int { number(.contentLength) }

    /// The frame header that the fields describe; meaningful only if ``isCompleteFrame`` is true.
    @inline(__always)
    var header: FrameHeader {
        FrameHeader(contentLength: bodyLength, info: frameInfo)
    }

    @inline(__always)
    private var frameInfo: FrameInfo {
        FrameInfo(
            bufferSize: size,
            orientation: orientation,
            timestamp: fields[.timestamp],
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
        case .other(.info):
            [.contentLength] + (fields.has(.width) || fields.has(.height) ? [.width, .height] : [])
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

    private var pixelFault: HeaderFault? {
        hasFewEnoughPixels ? nil : HeaderFault(.pixelsTooMany, detail: "\(size.width) x \(size.height)")
    }
}

// Messages other than frames.
extension MessageFields {
    /// The fault of a body where none is allowed.
    private var lengthFaultOfEmpty: HeaderFault? {
        bodyLength == 0 ? nil : HeaderFault(.contentLengthInvalid, detail: "\(bodyLength)")
    }

    private var lengthFaultOfAudio: HeaderFault? {
        let length = fields[.contentLength] ?? 0
        let detail = "\(length)"
        guard length <= maximumAudioBytes else { return HeaderFault(.contentLengthTooLarge, detail: detail) }
        let isWhole = length > 0 && length.isMultiple(of: 2 * (fields[.channels] ?? 1))
        return isWhole ? nil : HeaderFault(.contentLengthInvalid, detail: detail)
    }

    private var lengthFaultOfInfo: HeaderFault? {
        bodyLength <= ControlRequest.SessionInfo.maximumReadByteCount
            ? nil : HeaderFault(.contentLengthTooLarge, detail: "\(bodyLength)")
    }

    /// What a complete `info` states before its body; nil for any other message.
    var info: ControlRequest.SessionInfo? {
        guard case .other(.info) = kind else { return nil }
        var info = ControlRequest.SessionInfo()
        if fields.has(.width) { info.size = size }
        info.frameRateInMillihertz = fields[count: .frameRate]
        info.offersAudio = fields[.offersAudio].map { $0 == 1 }
        return info
    }

    private var audioHeader: AudioHeader {
        AudioHeader(
            contentLength: bodyLength,
            kind: word(.audioKind) ?? .app,
            sampleRate: number(.sampleRate),
            channels: number(.channels),
            timestamp: fields[.timestamp],
            sequence: fields[.sequence]
        )
    }

    private var sharedBuffer: SharedFrameHeader.Buffer {
        SharedFrameHeader.Buffer(index: number(.sharedBuffer), byteCount: number(.sharedBytes))
    }

    private var sharedFormat: PixelFormat { word(.sharedFormat) ?? .bgra }

    /// The fields that state the planes' positions, for as many planes as the format has.
    private var planeFields: ArraySlice<(offset: MessageField, stride: MessageField)> {
        [(.offset, .stride), (.secondOffset, .secondStride), (.thirdOffset, .thirdStride)]
            .prefix(sharedFormat.planeCount)
    }

    private var sharedFrame: SharedFrameHeader {
        var changedRows: Range<Int>?
        if let first = fields[count: .changedRow], let count = fields[count: .changedRows] {
            changedRows = first..<(first + count)
        }
        return SharedFrameHeader(
            buffer: number(.sharedBuffer),
            format: sharedFormat,
            info: frameInfo,
            planes: planeFields.map { .init(offset: number($0.offset), bytesPerRow: number($0.stride)) },
            changedRows: changedRows
        )
    }

    private var state: StateWord? { word(.state) }

    private var status: SenderStatus {
        let state: SenderStatus.State =
            switch state {
            case .live, nil: .live
            case .paused: .paused
            case .stopped: .stopped(ControlRequest.FinishReason(rawValue: number(.finishReason)) ?? .error)
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
