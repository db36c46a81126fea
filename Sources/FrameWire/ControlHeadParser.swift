/// Takes the bytes of a request's head, in pieces of any size, and says what they mean.
struct ControlHeadParser: Sendable {
    private var scanner: HeadScanner<RequestLine>
    private var fields: ControlFields

    init(limits: ControlLimits) {
        scanner = HeadScanner(maximumHeadBytes: limits.maximumHeadBytes, maximumFields: limits.maximumFields)
        fields = ControlFields(limits: limits)
    }

    /// The bytes taken of a head that has not ended; 0 between heads.
    var byteCount: Int { scanner.byteCount }

    /// Takes bytes from `index` on, one by one, to the end of the head; true when that is reached.
    ///
    /// A byte that is wrong is where `index` then stands.
    mutating func take(_ bytes: Span<UInt8>, from index: inout Int) throws(HeadFault) -> Bool {
        while index < bytes.count {
            let byte = bytes[index]
            let before = scanner.byteCount
            switch try scanner.take(byte) {
            case .more: break
            case .name: try fields.begin(name: scanner.line, of: scanner.start.request, at: before)
            case .value: try fields.take(byte, at: before)
            case .valueEnd: try fields.endValue(at: before)
            case .headEnd:
                guard fields.bodyLength != nil else {
                    throw HeadFault(.fieldMissing, detail: ControlField.contentLength.definition.name)
                }
                index += 1
                return true
            }
            scanner.keep(byte)
            index += 1
        }
        return false
    }

    /// What a person should see of the current line, which `byte` made wrong.
    func detail(endingWith byte: UInt8) -> String {
        Excerpt.text(of: scanner.line, isCut: scanner.isLineCut, endingWith: byte)
    }

    /// Returns what the head that ended means, with the length of its body, and makes ready for the next head.
    ///
    /// The head's first byte is that at `offset` of the stream.
    mutating func end(at offset: UInt64) -> (event: ControlDecoder.Event, contentLength: Int) {
        let contentLength = fields.bodyLength ?? 0
        let event = event(at: offset)
        scanner.reset()
        fields.reset()
        return (event, contentLength)
    }

    private func event(at offset: UInt64) -> ControlDecoder.Event {
        let excerpt = scanner.start.excerpt
        guard let name = scanner.start.request else {
            return .skipped(SkippedRequest(name: excerpt, reason: .unknown, byteOffset: offset))
        }
        if fields.fault == nil, let request = fields.request(name) { return .request(request) }
        // What is missing is so at the head's last byte.
        let (code, byteCount) = fields.fault ?? (.fieldMissing, scanner.byteCount - 1)
        let reason = SkippedRequest.Reason.malformed(code)
        return .skipped(SkippedRequest(name: excerpt, reason: reason, byteOffset: offset &+ UInt64(byteCount)))
    }
}
