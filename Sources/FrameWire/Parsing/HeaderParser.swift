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
    private var meaning: UInt64 = 0
    private var fieldCount = 0
    /// Whether the blank line is complete.
    private var isEnded = false

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
        (maximumBytes, maximumFields) = (max(limits.maximumHeaderBytes, 0), limits.maximumFields)
        ranges = HeaderField.allCases.map { $0.definition.value.range(limits) }
    }

    /// The number of bytes consumed of an unfinished header; 0 between headers.
    var byteCount: Int { lineStart + line.count }

    /// Consumes bytes from `index` to the end of the header, and returns true when it is reached.
    ///
    /// The index of a fault is that of the wrong byte in the header.
    mutating func take(_ bytes: Span<UInt8>, from index: inout Int) throws(HeaderFault) -> Bool {
        while true {
            if line.isEmpty {
                // Lines that are whole are read where they lie.
                let allowed = bytes.extracting(..<(index + min(bytes.count - index, maximumBytes - lineStart)))
                while let end = try readWhole(allowed, from: index) {
                    lineStart += end - index
                    index = end
                    if isEnded { return true }
                }
            }
            guard index < bytes.count else { return false }
            let end = bytes.firstIndex(of: ASCII.lineFeed, from: index).map { $0 + 1 } ?? bytes.count
            try takePiece(bytes.extracting(index..<end))
            index = end
            if isEnded { return true }
        }
    }

    /// Throws the fault of an incomplete line, if it has one, at the end of the stream.
    mutating func finish() throws(HeaderFault) {
        let text = line[...]
        line = []
        _ = try read(text.span)
    }

    /// Prepares for the next header.
    @inline(__always)
    mutating func reset() {
        fields.reset()
        (fieldCount, lineStart, isEnded, isInvalid) = (0, 0, false, false)
    }

    // MARK: Lines

    /// Reads the line at `start` if it is complete, and returns the index behind it.
    @inline(__always)
    private mutating func readWhole(_ bytes: Span<UInt8>, from start: Int) throws(HeaderFault) -> Int? {
        if let end = readUsual(bytes, from: start) { return end }
        let rest = bytes.extracting(start...)
        do throws(HeaderFault) {
            return try read(rest).map { start + $0 }
        } catch {
            // What is wrong in another line than the first counts when the line is complete.
            guard lineStart == 0 || rest.firstIndex(of: ASCII.lineFeed, from: 0) != nil else { return nil }
            throw error
        }
    }

    /// Consumes a piece of a line that is incomplete or over the limit.
    @inline(never)
    private mutating func takePiece(_ piece: Span<UInt8>) throws(HeaderFault) {
        let count = min(piece.count, maximumBytes - byteCount)
        let checkedCount = line.count
        // Moved out, because reading changes the parser.
        var line: [UInt8] = []
        swap(&line, &self.line)
        for index in 0..<count { line.append(piece[index]) }
        let text = line[...]
        if count < piece.count || line.last == ASCII.lineFeed || lineStart == 0,
            let end = try read(text.span, checkedCount: checkedCount)
        {
            lineStart += end
            line.removeAll(keepingCapacity: true)
        }
        guard count == piece.count else {
            let detail = Excerpt.text(of: text.span, endingAt: line.count, with: piece[count])
            throw HeaderFault(.headTooLong, at: lineStart + line.count, detail: detail)
        }
        swap(&line, &self.line)
    }

    /// Reads the line at the front of `bytes`, and returns the number of its bytes; nil, without an effect, if it is
    /// incomplete.
    ///
    /// The index of a fault is that of the wrong byte in the header.
    @inline(never)
    private mutating func read(_ bytes: Span<UInt8>, checkedCount: Int = 0) throws(HeaderFault) -> Int? {
        do throws(HeaderFault) {
            guard !bytes.isEmpty else { return nil }
            guard lineStart > 0 else { return try readStart(bytes, checkedCount) }
            guard bytes[0] == ASCII.carriageReturn else { return try readField(bytes) }
            guard let end = try endOfLine(bytes, at: 0) else { return nil }
            isEnded = true
            return end
        } catch {
            let detail = Excerpt.text(of: bytes, endingAt: error.index, with: bytes[error.index])
            throw HeaderFault(error.code, at: lineStart + error.index, detail: detail)
        }
    }

    /// Returns the index behind the line that must end at `index`, where the first byte is that no value has; nil if it is
    /// incomplete.
    @inline(__always)
    private func endOfLine(_ bytes: Span<UInt8>, at index: Int) throws(HeaderFault) -> Int? {
        guard index < bytes.count else { return nil }
        guard bytes[index] == ASCII.carriageReturn else { throw HeaderFault(.lineMalformed, at: index) }
        guard index + 1 < bytes.count else { return nil }
        guard bytes[index + 1] == ASCII.lineFeed else { throw HeaderFault(.lineMalformed, at: index + 1) }
        return index + 2
    }

    /// Reads the start line, and notes which fields have a meaning behind it.
    private mutating func readStart(_ bytes: Span<UInt8>, _ checkedCount: Int) throws(HeaderFault) -> Int? {
        guard let end = try start.length(in: bytes, checkedCount: checkedCount) else { return nil }
        if let range = start.name(in: bytes) {
            let known = ControlName.named(bytes.extracting(range))
            (request, meaning) = (known?.name, HeaderField.framing | (known?.fields ?? 0))
        } else {
            meaning = FrameMessageDecoder.Message.fields
        }
        return end
    }

    // MARK: Fields

    /// Reads the field at `start` if it is in the form in which senders write it, and returns the index behind it; nil,
    /// without an effect, if it is in any other, right or wrong.
    @inline(__always)
    private mutating func readUsual(_ bytes: Span<UInt8>, from start: Int) -> Int? {
        guard lineStart > 0, fieldCount < maximumFields,
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

    /// Reads the field at the front of `bytes` in any form, as ``read(_:checkedCount:)`` does.
    private mutating func readField(_ bytes: Span<UInt8>) throws(HeaderFault) -> Int? {
        guard fieldCount < maximumFields else { throw HeaderFault(.headTooManyFields) }
        var index = 0
        var (known, value): (HeaderField?, UInt64?)
        if let colon = bytes.firstIndex(of: ASCII.colon, from: 0),
            let field = table.field(named: bytes, from: 0, to: colon)
        {
            index = colon
            if meaning & field.bit != 0 {
                known = field
                do throws(HeaderFault) {
                    value = try readValue(of: field, bytes, from: &index)
                } catch {
                    guard request != nil, field.bit & HeaderField.framing == 0 else { throw error }
                    index = error.index
                }
            }
        } else {
            while index < bytes.count, ASCII.isToken(bytes[index]) { index += 1 }
            guard index < bytes.count else { return nil }
            guard index > 0, bytes[index] == ASCII.colon else { throw HeaderFault(.lineMalformed, at: index) }
        }
        while index < bytes.count, ASCII.isValue(bytes[index]) { index += 1 }
        guard let end = try endOfLine(bytes, at: index) else { return nil }
        fieldCount += 1
        if let known {
            if let value { fields.store(value, in: known) } else { isInvalid = true }
        }
        return end
    }

    /// Reads the value of a field behind its colon at `index`, which becomes the index of the end of the line.
    ///
    /// Nil if the bytes end with it, or a byte follows that no value has, which is an error of its own.
    private func readValue(
        of field: HeaderField,
        _ bytes: Span<UInt8>,
        from index: inout Int
    ) throws(HeaderFault) -> UInt64? {
        guard table.refused & field.bit == 0 else { throw HeaderFault(.fieldUnsupported, at: index) }
        guard !fields.has(field) else { throw HeaderFault(.fieldDuplicate, at: index) }
        index += 1
        bytes.skipWhiteSpace(from: &index)
        let (start, isWord) = (index, table.words & field.bit != 0)
        let number = try isWord ? readWord(bytes, from: &index) : readNumber(of: field, bytes, from: &index)
        let word = start..<index
        bytes.skipWhiteSpace(from: &index)
        guard index < bytes.count else { return nil }
        guard bytes[index] == ASCII.carriageReturn, !word.isEmpty else {
            guard bytes[index] == ASCII.carriageReturn || ASCII.isValue(bytes[index]) else { return nil }
            throw HeaderFault(isWord ? .wordInvalid : .numberInvalid, at: index)
        }
        guard isWord else { return number }
        if let place = table.place(of: bytes.extracting(word), in: field) { return place }
        guard table.open & field.bit != 0 else { throw HeaderFault(.wordUnknown, at: index) }
        // No word of the field has this place.
        return .max
    }

    private func readWord(_ bytes: Span<UInt8>, from index: inout Int) throws(HeaderFault) -> UInt64 {
        let start = index
        while index < bytes.count, ASCII.isToken(bytes[index]) {
            guard index - start < 32 else { throw HeaderFault(.wordInvalid, at: index) }
            index += 1
        }
        return 0
    }

    private func readNumber(
        of field: HeaderField,
        _ bytes: Span<UInt8>,
        from index: inout Int
    ) throws(HeaderFault) -> UInt64 {
        let (start, range) = (index, ranges[field.rawValue])
        let (tens, ones) = range.maximum.quotientAndRemainder(dividingBy: 10)
        var value: UInt64 = 0
        while index < bytes.count, ASCII.isDigit(bytes[index]) {
            // A leading zero is the only digit.
            guard index == start || bytes[start] != ASCII.zero else { throw HeaderFault(.numberInvalid, at: index) }
            let digit = UInt64(bytes[index] &- ASCII.zero)
            guard value < tens || (value == tens && digit <= ones) else {
                throw HeaderFault(field == .contentLength ? .contentLengthTooLarge : .numberOutOfRange, at: index)
            }
            value = value &* 10 &+ digit
            index += 1
        }
        guard index > start, index < bytes.count, value < range.minimum else { return value }
        guard bytes[index] == ASCII.carriageReturn || ASCII.isWhiteSpace(bytes[index]) else { return value }
        throw HeaderFault(.numberOutOfRange, at: index)
    }
}

extension Span<UInt8> {
    fileprivate func skipWhiteSpace(from index: inout Int) {
        while index < count, ASCII.isWhiteSpace(self[index]) { index += 1 }
    }
}

/// The first line of a header, which is checked byte by byte.
enum StartLine: Sendable {
    /// `HTTP/1.1 200`, or version 1.0, with any reason phrase or none.
    case message
    /// `POST /<name> HTTP/1.1`.
    case request

    /// The start line of nearly every message, which is compared at once.
    private static let usual = Array("HTTP/1.1 200 OK\r\n".utf8)
    private static let usualWords = {
        let bytes = usual[...]
        return (bytes.span.word(at: 0), bytes.span.word(at: 8))
    }()
    /// What precedes the reason of a message, and the name of a request, and what follows that.
    private static let status = Array("HTTP/1.1 200".utf8), method = Array("POST /".utf8)
    private static let version = Array(" HTTP/1.1\r".utf8)

    /// Returns the number of bytes of the line at the front of `bytes`; nil if it is incomplete.
    ///
    /// A former call has found the first `checkedCount` bytes right.
    func length(in bytes: Span<UInt8>, checkedCount: Int) throws(HeaderFault) -> Int? {
        if self == .message, bytes.count >= Self.usual.count, bytes.word(at: 0) == Self.usualWords.0,
            bytes.word(at: 8) == Self.usualWords.1, bytes[16] == ASCII.lineFeed
        {
            return Self.usual.count
        }
        let nameEnd = Self.nameEnd(in: bytes)
        for index in checkedCount..<bytes.count {
            let isEnd = index > 0 && bytes[index - 1] == ASCII.carriageReturn
            guard isEnd ? bytes[index] == ASCII.lineFeed : isAllowed(bytes[index], at: index, nameEnd) else {
                throw HeaderFault(self == .message ? .startLineMalformed : .requestLineMalformed, at: index)
            }
            if isEnd { return index + 1 }
        }
        return nil
    }

    /// Returns the name in a complete request line; nil for a message.
    func name(in line: Span<UInt8>) -> Range<Int>? {
        self == .request ? Self.method.count..<Self.nameEnd(in: line) : nil
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
