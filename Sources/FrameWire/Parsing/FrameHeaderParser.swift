/// Parses the header of a message from pieces of any size.
struct FrameHeaderParser: Sendable {
    var scanner: HeaderScanner<StatusLine>
    var fields: MessageFields

    init(limits: FrameMessageDecoder.Limits) {
        scanner = HeaderScanner(maximumHeaderBytes: limits.maximumHeaderBytes, maximumFields: limits.maximumFields)
        fields = MessageFields(limits: limits)
    }

    /// The number of bytes consumed of an unfinished header; 0 between headers.
    var byteCount: Int { scanner.byteCount }

    /// Consumes bytes one by one from `index` to the end of their line, and returns true if that ended the header.
    ///
    /// On an error, `index` is the position of the wrong byte.
    @inline(never)
    mutating func takeLine(_ bytes: Span<UInt8>, from index: inout Int) throws(HeaderFault) -> Bool {
        while index < bytes.count {
            let byte = bytes[index]
            switch try scanner.take(byte) {
            case .more: break
            case .name: try fields.begin(name: scanner.line)
            case .value: try fields.take(byte)
            case .valueEnd: try fields.endValue()
            case .headerEnd:
                if let fault = fields.fault { throw fault }
                index += 1
                return true
            }
            scanner.keep(byte)
            index += 1
            if byte == ASCII.lineFeed { break }
        }
        return false
    }

    /// Returns the printable excerpt of the current line, which `byte` made invalid.
    func detail(endingWith byte: UInt8) -> String {
        Excerpt.text(of: scanner.line, isCut: scanner.isLineCut, endingWith: byte)
    }

    /// Prepares for the next header.
    @inline(__always)
    mutating func reset() {
        scanner.reset()
        fields.reset()
    }
}
