/// Takes the bytes of a frame's head, in pieces of any size, and says what they mean.
struct FrameHeadParser: Sendable {
    var scanner: HeadScanner<StatusLine>
    var fields: MessageFields

    init(limits: WireLimits) {
        scanner = HeadScanner(maximumHeadBytes: limits.maximumHeadBytes, maximumFields: limits.maximumFields)
        fields = MessageFields(limits: limits)
    }

    /// The bytes taken of a head that has not ended; 0 between heads.
    var byteCount: Int { scanner.byteCount }

    /// Takes bytes from `index` on, one by one, to the end of their line; true when that ended the head.
    ///
    /// A byte that is wrong is where `index` then stands.
    @inline(never)
    mutating func takeLine(_ bytes: Span<UInt8>, from index: inout Int) throws(HeadFault) -> Bool {
        while index < bytes.count {
            let byte = bytes[index]
            switch try scanner.take(byte) {
            case .more: break
            case .name: try fields.begin(name: scanner.line)
            case .value: try fields.take(byte)
            case .valueEnd: try fields.endValue()
            case .headEnd:
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

    /// What a person should see of the current line, which `byte` made wrong.
    func detail(endingWith byte: UInt8) -> String {
        Excerpt.text(of: scanner.line, isCut: scanner.isLineCut, endingWith: byte)
    }

    /// Makes ready for the next head.
    @inline(__always)
    mutating func reset() {
        scanner.reset()
        fields.reset()
    }
}
