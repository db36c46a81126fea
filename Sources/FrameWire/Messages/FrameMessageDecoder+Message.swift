/// The kinds of messages that `Message-Type` distinguishes; a frame has no such field.
enum MessageKind: String, CaseIterable {
    case audio, status, info
    case sharedBuffer = "shared-buffer"
    case sharedFrame = "shared-frame"
}

extension FrameMessageDecoder.Message {
    /// The bits of the fields that have a meaning in messages.
    static let fields = {
        var set = FieldSet()
        for kind in MessageKind.allCases { _ = Self(kind, from: &set) }
        _ = set.read(FrameHeader(contentLength: 0, info: .unread))
        return set.bits | HeaderField.framing
    }()

    /// Reads the message that the fields of a complete header describe; that of an `info` lacks what is in its body.
    ///
    /// - Throws: What the header lacks or exceeds.
    @inline(__always)
    init(_ fields: inout HeaderFields, _ limits: FrameMessageDecoder.Limits) throws(HeaderFault) {
        if let kind = fields[.messageType] {
            self.init(MessageKind.allCases.dropFirst(Int(clamping: kind)).first, from: &fields)
        } else {
            self = .frame(fields.read(FrameHeader(contentLength: 0, info: .unread)))
        }
        try fields.checkMissing()
        try check(length: fields.contentLength, limits)
    }

    @inline(never)
    private init(_ kind: MessageKind?, from coder: inout some FieldCoder) {
        switch kind {
        case .audio:
            self = .audio(coder.read(AudioHeader(contentLength: 0, kind: .app, sampleRate: 0, channels: 0)))
        case .status: self = .status(coder.read(SenderStatus(state: .stopped(.error))))
        case .info: self = .info(coder.read(ControlRequest.SessionInfo.Header()).info)
        case .sharedBuffer: self = .sharedBuffer(coder.read(SharedFrameHeader.Buffer(index: 0, byteCount: 0)))
        case .sharedFrame:
            self = .sharedFrame(
                coder.read(SharedFrameHeader(buffer: 0, format: .i420, info: .unread, planes: []))
            )
        case nil:
            // A kind of a later version, which is skipped by its length.
            var length = 0
            coder.code(.contentLength, &length)
            self = .unknown
        }
    }

    /// Checks what the values, each of which is valid, are together, and the length of the body.
    @inline(__always)
    private func check(length: Int, _ limits: FrameMessageDecoder.Limits) throws(HeaderFault) {
        switch self {
        case .frame(let header): try Self.check(header.info.bufferSize, limits)
        case .audio(let header):
            let isWhole = length > 0 && length.isMultiple(of: 2 * header.channels)
            try Self.check(length, isWhole, limit: limits.maximumAudioBytes)
        case .info: try Self.check(length, true, limit: ControlRequest.SessionInfo.maximumReadByteCount)
        case .status, .sharedBuffer: try Self.check(length, length == 0)
        case .sharedFrame(let header):
            try Self.check(header.info.bufferSize, limits)
            try Self.check(length, length == 0)
        case .unknown: break
        }
    }

    private static func check(_ length: Int, _ isValid: Bool, limit: Int = .max) throws(HeaderFault) {
        guard length <= limit else { throw HeaderFault(.contentLengthTooLarge, detail: "\(length)") }
        guard isValid else { throw HeaderFault(.contentLengthInvalid, detail: "\(length)") }
    }

    @inline(__always)
    private static func check(_ size: BufferSize, _ limits: FrameMessageDecoder.Limits) throws(HeaderFault) {
        // Neither side has more than 10 digits.
        let (pixels, overflows) = size.width.multipliedReportingOverflow(by: size.height)
        guard !overflows, pixels <= limits.maximumPixels else {
            throw HeaderFault(.pixelsTooMany, detail: "\(size.width) x \(size.height)")
        }
    }
}
