/// Parses the header of a request from pieces of any size.
struct ControlHeaderParser: Sendable {
    private var scanner: HeaderScanner<RequestLine>
    private var fields: ControlFields
    let limits: ControlLimits

    init(limits: ControlLimits) {
        self.limits = limits
        scanner = HeaderScanner(maximumHeaderBytes: limits.maximumHeaderBytes, maximumFields: limits.maximumFields)
        fields = ControlFields(limits: limits)
    }

    /// The number of bytes consumed of an unfinished header; 0 between headers.
    var byteCount: Int { scanner.byteCount }

    /// Consumes bytes one by one from `index` to the end of the header, and returns true when it is reached.
    ///
    /// On an error, `index` is the position of the wrong byte.
    mutating func take(_ bytes: Span<UInt8>, from index: inout Int) throws(HeaderFault) -> Bool {
        while index < bytes.count {
            let byte = bytes[index]
            let before = scanner.byteCount
            switch try scanner.take(byte) {
            case .more: break
            case .name: try fields.begin(name: scanner.line, of: scanner.start.request, at: before)
            case .value: try fields.take(byte, at: before)
            case .valueEnd: try fields.endValue(at: before)
            case .headerEnd:
                guard fields.bodyLength != nil else {
                    throw HeaderFault(.fieldMissing, detail: ControlField.contentLength.definition.name)
                }
                index += 1
                return true
            }
            scanner.keep(byte)
            index += 1
        }
        return false
    }

    /// Returns the printable excerpt of the current line, which `byte` made invalid.
    func detail(endingWith byte: UInt8) -> String {
        Excerpt.text(of: scanner.line, isCut: scanner.isLineCut, endingWith: byte)
    }

    /// A finished header.
    struct Header {
        let event: ControlDecoder.Event
        let contentLength: Int
    }

    /// Returns the meaning of the finished header, and prepares for the next one.
    ///
    /// The header begins at `offset` in the stream.
    mutating func end(at offset: UInt64) -> Header {
        let header = Header(event: event(at: offset), contentLength: fields.bodyLength ?? 0)
        scanner.reset()
        fields.reset()
        return header
    }

    private func event(at offset: UInt64) -> ControlDecoder.Event {
        let excerpt = scanner.start.excerpt
        guard let name = scanner.start.request else {
            return .skipped(SkippedRequest(name: excerpt, reason: .unknown, byteOffset: offset))
        }
        if fields.fault == nil, let event = fields.event(name) { return event }
        // A missing field is reported at the last byte of the header.
        let (code, byteCount) = fields.fault ?? (.fieldMissing, scanner.byteCount - 1)
        let reason = SkippedRequest.Reason.malformed(code)
        return .skipped(SkippedRequest(name: excerpt, reason: reason, byteOffset: offset &+ UInt64(byteCount)))
    }
}
