/// What is wrong with a header or a value, and where.
struct HeaderFault: Error {
    let code: WireError.Code

    /// The number of bytes before the wrong one.
    var index: Int

    /// What is wrong; nil for the line up to the wrong byte.
    var detail: String?

    init(_ code: WireError.Code, at index: Int = 0, detail: String? = nil) {
        (self.code, self.index, self.detail) = (code, index, detail)
    }
}

/// Parses headers by whole lines, from where they lie.
///
/// A wrong start line is refused with its first wrong byte, every other fault once the line with it is complete, or
/// the header exceeds its limit, or the stream ends. However a header is cut into pieces, the fault is that of its first
/// wrong byte, and the cost is linear in the number of bytes. Only a line that arrives in pieces is stored, at most up to
/// the limit.
struct HeaderParser: Sendable {
    private let maximumBytes, maximumFields: Int
    private let table = HeaderField.table
    /// The numbers that each field may have, by the fields' raw values.
    private let ranges: [(minimum: UInt64, maximum: UInt64)]

    private let start: StartLine
    /// The bits of the fields that have a meaning in this header.
    private var meaning: UInt64
    private var fieldCount = 0

    /// The number of bytes of the complete lines.
    private var lineStart = 0
    /// The beginning of an incomplete line.
    private var line: [UInt8] = []

    /// The values of the complete lines.
    var fields = HeaderFields()

    /// The known request of this name; nil if there is none.
    private(set) var request: ControlName?
    /// Whether a field of the request is wrong that does not frame the body: the request is read, and counts for nothing.
    private(set) var isInvalid = false

    init(_ start: StartLine, limits: FrameMessageDecoder.Limits) {
        self.start = start
        meaning = start == .message ? FrameMessageDecoder.Message.fields : 0
        (maximumBytes, maximumFields) = (max(limits.maximumHeaderBytes, 0), limits.maximumFields)
        ranges = HeaderField.allCases.map { $0.definition.value.range(limits) }
    }

    /// The number of bytes consumed of an unfinished header; 0 between headers.
    var byteCount: Int { lineStart + line.count }

    /// Consumes bytes from `index` to the end of the header, and returns true when it is reached.
    ///
    /// The index of a fault is that of the wrong byte in the header.
    mutating func take(_ bytes: Span<UInt8>, from index: inout Int) throws(HeaderFault) -> Bool {
        let allowed = bytes.extracting(..<(index + min(bytes.count - index, maximumBytes - byteCount)))
        while index < bytes.count {
            if line.isEmpty, lineStart > 0 {
                let first = index
                while let end = readUsual(allowed, from: index) { index = end }
                lineStart += index - first
            }
            let lineFeed = bytes.firstIndex(of: ASCII.lineFeed, from: index)
            let piece = bytes.extracting(index..<(lineFeed.map { $0 + 1 } ?? bytes.count))
            index += piece.count
            let isWhole = lineFeed != nil && line.isEmpty && index <= allowed.count
            if try isWhole ? read(piece) : takePiece(piece) { return true }
        }
        return false
    }

    /// Throws what is wrong with a header that ends here: at least that it is incomplete.
    mutating func finish() throws(HeaderFault) {
        try checkLine()
        throw HeaderFault(.headTruncated, at: byteCount, detail: "after \(byteCount) bytes")
    }

    /// Prepares for the next header.
    @inline(__always)
    mutating func reset() {
        fields.reset()
        (fieldCount, lineStart, isInvalid) = (0, 0, false)
    }

    // MARK: Lines

    /// Takes a piece of a line, up to its end, that is incomplete, over the limit or the rest of one; returns whether that
    /// ends the header.
    @inline(never)
    private mutating func takePiece(_ piece: Span<UInt8>) throws(HeaderFault) -> Bool {
        let checkedCount = line.count
        let count = min(piece.count, maximumBytes - byteCount)
        for index in 0..<count { line.append(piece[index]) }
        if line.last == ASCII.lineFeed {
            let whole = line[...]
            line = []
            return try read(whole.span, checkedCount: checkedCount)
        }
        // What is wrong in another line than the first counts when the line is complete.
        if lineStart == 0 || count < piece.count { try checkLine(from: checkedCount) }
        guard count < piece.count else { return false }
        let text = line[...]
        let detail = Excerpt.text(of: text.span, endingAt: line.count, with: piece[count])
        throw HeaderFault(.headTooLong, at: byteCount, detail: detail)
    }

    /// Throws the fault of the incomplete line, if it has one, whose first `checkedCount` bytes are right.
    private mutating func checkLine(from checkedCount: Int = 0) throws(HeaderFault) {
        guard !line.isEmpty else { return }
        // No end is wrong before it.
        let whole = lineStart == 0 ? line[...] : (line + [ASCII.carriageReturn, ASCII.lineFeed])[...]
        let count = byteCount
        do throws(HeaderFault) {
            _ = try check(whole.span, from: checkedCount)
        } catch {
            if error.index < count { throw error }
        }
    }

    /// Reads a whole line, and returns whether it is the blank one.
    private mutating func read(_ line: Span<UInt8>, checkedCount: Int = 0) throws(HeaderFault) -> Bool {
        let isBlank = try check(line, from: checkedCount)
        lineStart += line.count
        return isBlank
    }

    /// Reads a line, which is whole unless it is the first one, and returns whether it is the blank one.
    ///
    /// The index of a fault is that of the wrong byte in the header.
    private mutating func check(_ line: Span<UInt8>, from checkedCount: Int) throws(HeaderFault) -> Bool {
        do throws(HeaderFault) {
            let isBlank = lineStart > 0 && line[0] == ASCII.carriageReturn
            if isBlank {
                try checkEnd(of: line, at: 0)
            } else if lineStart > 0 {
                try readField(line)
            } else {
                try start.check(line, from: checkedCount)
                if let range = start.name(in: line) {
                    let known = ControlName.named(line.extracting(range))
                    (request, meaning) = (known?.name, HeaderField.framing | (known?.fields ?? 0))
                }
            }
            return isBlank
        } catch {
            throw located(error, in: line)
        }
    }

    @inline(never)
    private func located(_ fault: HeaderFault, in line: Span<UInt8>) -> HeaderFault {
        let detail = Excerpt.text(of: line, endingAt: fault.index, with: line[fault.index])
        return HeaderFault(fault.code, at: lineStart + fault.index, detail: detail)
    }

    /// Checks that a line ends at `index`, where the first byte is that no value has.
    @inline(__always)
    private func checkEnd(of line: Span<UInt8>, at index: Int) throws(HeaderFault) {
        guard line[index] == ASCII.carriageReturn else { throw HeaderFault(.lineMalformed, at: index) }
        guard line[index + 1] == ASCII.lineFeed else { throw HeaderFault(.lineMalformed, at: index + 1) }
    }

    // MARK: Fields

    /// Reads the field at `start` if it is in the form in which senders write it, and returns the index behind it; nil,
    /// without an effect, if it is in any other, right or wrong.
    @inline(__always)
    private mutating func readUsual(_ bytes: Span<UInt8>, from start: Int) -> Int? {
        // A blank line is not searched for a colon, which would be one of the body behind it.
        guard fieldCount < maximumFields, start < bytes.count, bytes[start] != ASCII.carriageReturn,
            let colon = bytes.firstIndex(of: ASCII.colon, from: start),
            let field = table.field(named: bytes, from: start, to: colon),
            meaning & ~table.refused & ~fields.seen & field.bit != 0, bytes.count - colon > 2,
            bytes[colon + 1] == ASCII.space
        else { return nil }
        let first = colon + 2
        var (index, value) = (first, UInt64(0))
        if table.words & field.bit == 0 {
            while index < bytes.count, ASCII.isDigit(bytes[index]) {
                value = value &* 10 &+ UInt64(bytes[index] &- ASCII.zero)
                index += 1
            }
            // No number of up to 19 digits overflows.
            let range = ranges[field.rawValue]
            guard index > first, index - first < 20, bytes[first] != ASCII.zero || index - first == 1,
                range.minimum <= value, value <= range.maximum
            else { return nil }
        } else {
            index = bytes.firstIndex(of: ASCII.carriageReturn, from: first) ?? bytes.count
            guard let place = table.place(of: bytes.extracting(first..<index), in: field) else { return nil }
            value = place
        }
        guard bytes.count - index > 1, bytes[index] == ASCII.carriageReturn, bytes[index + 1] == ASCII.lineFeed else {
            return nil
        }
        fieldCount += 1
        fields.store(value, in: field)
        return index + 2
    }

    /// Reads a field in any form.
    private mutating func readField(_ line: Span<UInt8>) throws(HeaderFault) {
        guard fieldCount < maximumFields else { throw HeaderFault(.headTooManyFields) }
        fieldCount += 1
        var index = 0
        if let colon = line.firstIndex(of: ASCII.colon, from: 0),
            let field = table.field(named: line, from: 0, to: colon)
        {
            index = colon
            if meaning & field.bit != 0 {
                do throws(HeaderFault) {
                    if let value = try readValue(of: field, line, from: &index) { fields.store(value, in: field) }
                } catch {
                    guard request != nil, field.bit & HeaderField.framing == 0 else { throw error }
                    (index, isInvalid) = (error.index, true)
                }
            }
        } else {
            while ASCII.isToken(line[index]) { index += 1 }
            guard index > 0, line[index] == ASCII.colon else { throw HeaderFault(.lineMalformed, at: index) }
        }
        while ASCII.isValue(line[index]) { index += 1 }
        try checkEnd(of: line, at: index)
    }

    /// Reads the value of a field behind its colon at `index`, which becomes the index of the end of the line.
    ///
    /// Nil if a byte follows that no value has, which is an error of its own.
    private func readValue(
        of field: HeaderField,
        _ line: Span<UInt8>,
        from index: inout Int
    ) throws(HeaderFault) -> UInt64? {
        guard table.refused & field.bit == 0 else { throw HeaderFault(.fieldUnsupported, at: index) }
        guard !fields.has(field) else { throw HeaderFault(.fieldDuplicate, at: index) }
        index += 1
        line.skipWhiteSpace(from: &index)
        let (start, isWord) = (index, table.words & field.bit != 0)
        let number = try isWord ? readWord(line, from: &index) : readNumber(of: field, line, from: &index)
        let word = start..<index
        line.skipWhiteSpace(from: &index)
        guard line[index] == ASCII.carriageReturn, !word.isEmpty else {
            guard line[index] == ASCII.carriageReturn || ASCII.isValue(line[index]) else { return nil }
            throw HeaderFault(isWord ? .wordInvalid : .numberInvalid, at: index)
        }
        guard isWord else { return number }
        if let place = table.place(of: line.extracting(word), in: field) { return place }
        guard table.open & field.bit != 0 else { throw HeaderFault(.wordUnknown, at: index) }
        // No word of the field has this place.
        return .max
    }

    private func readWord(_ line: Span<UInt8>, from index: inout Int) throws(HeaderFault) -> UInt64 {
        let start = index
        while ASCII.isToken(line[index]) {
            guard index - start < 32 else { throw HeaderFault(.wordInvalid, at: index) }
            index += 1
        }
        return 0
    }

    private func readNumber(
        of field: HeaderField,
        _ line: Span<UInt8>,
        from index: inout Int
    ) throws(HeaderFault) -> UInt64 {
        let (start, range) = (index, ranges[field.rawValue])
        let (tens, ones) = range.maximum.quotientAndRemainder(dividingBy: 10)
        var value: UInt64 = 0
        while ASCII.isDigit(line[index]) {
            // A leading zero is the only digit.
            guard index == start || line[start] != ASCII.zero else { throw HeaderFault(.numberInvalid, at: index) }
            let digit = UInt64(line[index] &- ASCII.zero)
            guard value < tens || (value == tens && digit <= ones) else {
                throw HeaderFault(field == .contentLength ? .contentLengthTooLarge : .numberOutOfRange, at: index)
            }
            value = value &* 10 &+ digit
            index += 1
        }
        guard index > start, value < range.minimum else { return value }
        guard line[index] == ASCII.carriageReturn || ASCII.isWhiteSpace(line[index]) else { return value }
        throw HeaderFault(.numberOutOfRange, at: index)
    }
}

extension Span<UInt8> {
    @inline(__always)
    fileprivate func skipWhiteSpace(from index: inout Int) {
        while ASCII.isWhiteSpace(self[index]) { index += 1 }
    }
}

/// The first line of a header, which is checked byte by byte.
enum StartLine: Sendable {
    /// `HTTP/1.1 200`, or version 1.0, with any reason phrase or none.
    case message
    /// `POST /<name> HTTP/1.1`.
    case request

    /// What precedes the reason of a message, and the name of a request, and what follows that.
    private static let status = Array("HTTP/1.1 200".utf8), method = Array("POST /".utf8)
    private static let version = Array(" HTTP/1.1\r".utf8)

    /// Checks a line that ends with its line feed, or is the beginning of one, whose first `checkedCount` bytes are right.
    func check(_ line: Span<UInt8>, from checkedCount: Int) throws(HeaderFault) {
        if isUsual(line) { return }
        let nameEnd = Self.nameEnd(in: line)
        for index in checkedCount..<line.count {
            let isEnd = index > 0 && line[index - 1] == ASCII.carriageReturn
            guard isEnd ? line[index] == ASCII.lineFeed : isAllowed(line[index], at: index, nameEnd) else {
                throw HeaderFault(self == .message ? .startLineMalformed : .requestLineMalformed, at: index)
            }
        }
    }

    /// Returns the name in a request line; nil for a message, and for the beginning of a line.
    func name(in line: Span<UInt8>) -> Range<Int>? {
        guard self == .request, line[line.count - 1] == ASCII.lineFeed else { return nil }
        return Self.method.count..<Self.nameEnd(in: line)
    }

    /// Whether a line is as nearly all are, which is compared at once.
    private func isUsual(_ line: Span<UInt8>) -> Bool {
        let count = line.count
        guard count >= 17, line[count - 1] == ASCII.lineFeed else { return false }
        switch self {
        case .message:
            return count == 17 && line.word(at: 0) == Self.word("HTTP/1.1")
                && line.word(at: 8) == Self.word(" 200 OK\r")
        case .request:
            return line.word(at: 0) << 16 == Self.word("POST /..") << 16
                && line.word(at: count - 11) == Self.word(" HTTP/1.")
                && line.word(at: count - 8) == Self.word("TP/1.1\r\n")
                && (6..<(count - 11)).allSatisfy { ASCII.isVisible(line[$0]) }
        }
    }

    /// The eight bytes of a text, the first one lowest.
    @inline(__always)
    private static func word(_ text: StaticString) -> UInt64 {
        // Safe: every text here has eight bytes.
        UInt64(littleEndian: unsafe UnsafeRawPointer(text.utf8Start).loadUnaligned(as: UInt64.self))
    }

    /// The index of the space behind a request's name, or the number of bytes.
    private static func nameEnd(in bytes: Span<UInt8>) -> Int {
        bytes.firstIndex(of: ASCII.space, from: method.count) ?? max(bytes.count, method.count)
    }

    private func isAllowed(_ byte: UInt8, at index: Int, _ nameEnd: Int) -> Bool {
        switch self {
        case .message:
            // The version may be 1.0, and one space precedes the reason.
            guard index >= Self.status.count else {
                return byte == Self.status[index] || (index == 7 && byte == ASCII.zero)
            }
            let place = index - Self.status.count
            return byte == ASCII.carriageReturn
                || (place == 0 ? byte == ASCII.space : ASCII.isVisible(byte) || (place > 1 && byte == ASCII.space))
        case .request:
            guard index >= Self.method.count else { return byte == Self.method[index] }
            guard index >= nameEnd else { return ASCII.isVisible(byte) }
            return index - nameEnd < Self.version.count && byte == Self.version[index - nameEnd]
        }
    }
}
