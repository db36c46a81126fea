// What the fields of a complete message mean.
extension HeaderFields {
    private static let frame = HeaderField.bits([.contentLength, .width, .height, .orientation])
    private static let audio = HeaderField.bits([.contentLength, .audioKind, .sampleRate, .channels])
    private static let status = HeaderField.bits([.contentLength, .state, .version])
    private static let size = HeaderField.bits([.width, .height])
    private static let sharedBuffer = HeaderField.bits([.contentLength, .sharedBuffer, .sharedBytes])
    private static let sharedFrame = frame | HeaderField.bits([.sharedBuffer, .sharedFormat])
    private static let changedRows = HeaderField.bits([.changedRow, .changedRows])
    private static let planes: [(offset: HeaderField, stride: HeaderField)] = [
        (.offset, .stride), (.secondOffset, .secondStride), (.thirdOffset, .thirdStride),
    ]

    /// Returns the message that the fields describe; that of an `info` lacks what is in its body.
    ///
    /// - Throws: What the header lacks or exceeds.
    @inline(__always)
    func message(_ limits: FrameMessageDecoder.Limits) throws(HeaderFault) -> FrameMessageDecoder.Message {
        guard has(.messageType) else {
            try require(Self.frame)
            try checkPixels(limits)
            return .frame(FrameHeader(contentLength: number(.contentLength), info: frameInfo))
        }
        return try otherMessage(limits)
    }

    @inline(never)
    private func otherMessage(
        _ limits: FrameMessageDecoder.Limits
    ) throws(HeaderFault) -> FrameMessageDecoder.Message {
        switch word(.messageType) as MessageKind? {
        case .audio:
            try require(Self.audio)
            return .audio(try audioHeader(limits))
        case .status:
            try require(Self.status)
            let status = try status()
            try checkEmpty()
            return .status(status)
        case .info:
            try require(HeaderField.contentLength.bit | (seen & Self.size == 0 ? 0 : Self.size))
            try checkLength(limit: ControlRequest.SessionInfo.maximumReadByteCount)
            return .info(info)
        case .sharedBuffer:
            try require(Self.sharedBuffer)
            try checkEmpty()
            return .sharedBuffer(
                SharedFrameHeader.Buffer(index: number(.sharedBuffer), byteCount: number(.sharedBytes))
            )
        case .sharedFrame:
            return .sharedFrame(try sharedFrame(limits))
        // A kind of a later version, to be skipped by its length.
        case nil:
            try require(HeaderField.contentLength.bit)
            return .unknown
        }
    }

    @inline(__always)
    private var frameInfo: FrameInfo {
        FrameInfo(
            bufferSize: bufferSize,
            orientation: FrameOrientation(rawValue: UInt8(clamping: number(.orientation))) ?? .unknown,
            timestamp: self[.timestamp],
            sequence: self[.sequence]
        )
    }

    @inline(__always)
    private var bufferSize: BufferSize { BufferSize(width: number(.width), height: number(.height)) }

    private func audioHeader(_ limits: FrameMessageDecoder.Limits) throws(HeaderFault) -> AudioHeader {
        try checkLength(limit: limits.maximumAudioBytes)
        let (length, channels) = (number(.contentLength), number(.channels))
        guard length > 0, length.isMultiple(of: 2 * channels) else { throw invalidLength }
        return AudioHeader(
            contentLength: length,
            kind: word(.audioKind) ?? .app,
            sampleRate: number(.sampleRate),
            channels: channels,
            timestamp: self[.timestamp],
            sequence: self[.sequence]
        )
    }

    private func status() throws(HeaderFault) -> SenderStatus {
        let state: SenderStatus.State
        switch word(.state) as StateWord? {
        case .live, nil: state = .live
        case .paused: state = .paused
        case .stopped:
            try require(HeaderField.finishReason.bit)
            state = .stopped(ControlRequest.FinishReason(rawValue: number(.finishReason)) ?? .error)
        }
        var status = SenderStatus(state: state, pong: self[.pong], version: number(.version))
        status.refusedPreferences = self[.refusedPreferences] ?? 0
        return status
    }

    private var info: ControlRequest.SessionInfo {
        var info = ControlRequest.SessionInfo()
        if has(.width) { info.size = bufferSize }
        info.frameRateInMillihertz = self[count: .frameRate]
        info.offersAudio = self[.offersAudio].map { $0 == 1 }
        return info
    }

    private func sharedFrame(_ limits: FrameMessageDecoder.Limits) throws(HeaderFault) -> SharedFrameHeader {
        let format: PixelFormat = word(.sharedFormat) ?? .bgra
        let planes = Self.planes.prefix(format.planeCount)
        let rows = seen & Self.changedRows == 0 ? 0 : Self.changedRows
        try require(planes.reduce(Self.sharedFrame | rows) { $0 | $1.offset.bit | $1.stride.bit })
        try checkPixels(limits)
        try checkEmpty()
        var header = SharedFrameHeader(
            buffer: number(.sharedBuffer),
            format: format,
            info: frameInfo,
            planes: planes.map { .init(offset: number($0.offset), bytesPerRow: number($0.stride)) }
        )
        if rows != 0 { header.changedRows = number(.changedRow)..<(number(.changedRow) + number(.changedRows)) }
        return header
    }

    // MARK: Limits

    @inline(__always)
    private func checkPixels(_ limits: FrameMessageDecoder.Limits) throws(HeaderFault) {
        let size = bufferSize
        // Neither side has more than 10 digits.
        let (pixels, overflows) = size.width.multipliedReportingOverflow(by: size.height)
        guard !overflows, pixels <= limits.maximumPixels else {
            throw HeaderFault(.pixelsTooMany, detail: "\(size.width) x \(size.height)")
        }
    }

    private func checkLength(limit: Int) throws(HeaderFault) {
        let length = number(.contentLength)
        guard length <= limit else { throw HeaderFault(.contentLengthTooLarge, detail: "\(length)") }
    }

    private func checkEmpty() throws(HeaderFault) {
        guard number(.contentLength) == 0 else { throw invalidLength }
    }

    private var invalidLength: HeaderFault {
        HeaderFault(.contentLengthInvalid, detail: "\(number(.contentLength))")
    }
}
