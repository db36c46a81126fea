/// Takes the bytes of a frame's head, in pieces of any size, and says what they mean.
struct FrameHeadParser: Sendable {
    private var scanner: HeadScanner<StatusLine>
    private var fields: FrameFields

    init(limits: WireLimits) {
        scanner = HeadScanner(limits: limits)
        fields = FrameFields(limits: limits)
    }

    /// The bytes taken of a head that has not ended; 0 between heads.
    var byteCount: Int { scanner.byteCount }

    /// Takes one byte; returns the head when that ended it.
    mutating func take(_ byte: UInt8) throws(HeadFault) -> FrameHead? {
        switch try scanner.take(byte) {
        case .more: break
        case .name: try fields.begin(name: scanner.line)
        case .value: try fields.take(byte)
        case .valueEnd: try fields.endValue()
        case .headEnd:
            if let fault = fields.fault { throw fault }
            let head = fields.head
            reset()
            return head
        }
        scanner.keep(byte)
        return nil
    }

    /// What a person should see of the current line, which `byte` made wrong.
    func detail(endingWith byte: UInt8) -> String {
        Excerpt.text(of: scanner.line, isCut: scanner.isLineCut, endingWith: byte)
    }

    private mutating func reset() {
        scanner.reset()
        fields.reset()
    }
}
