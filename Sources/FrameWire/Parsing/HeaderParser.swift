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
    private let limits: FrameMessageDecoder.Limits
    private let table = HeaderField.table
    /// The numbers that each field may have, by the fields' raw values.
    private let ranges: [NumberRange]

    private var start: StartLine
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
    private(set) var fields = HeaderFields()

    /// The known request of this name; nil if there is none.
    private(set) var request: ControlName?
    /// Whether a field of the request is wrong that does not frame the body: the request is read, and counts for nothing.
    private(set) var isInvalid = false

    init(_ kind: StartLine.Kind, limits: FrameMessageDecoder.Limits) {
        (start, self.limits) = (StartLine(kind), limits)
        ranges = HeaderField.table.values.map { NumberRange($0, limits) }
    }

    /// The number of bytes consumed of an unfinished header; 0 between headers.
    var byteCount: Int { lineStart + line.count }

    /// Consumes bytes from `index` to the end of the header, and returns true when it is reached.
    ///
    /// The index of a fault is that of the wrong byte in the header.
    mutating func take(_ bytes: Span<UInt8>, from index: inout Int) throws(HeaderFault) -> Bool {
        while index < bytes.count {
            if line.isEmpty {
                let room = max(limits.maximumHeaderBytes - lineStart, 0)
                let rest = bytes.extracting(index..<(index + min(bytes.count - index, room)))
                if let end = try readWhole(rest) {
                    (lineStart, index) = (lineStart + end, index + end)
                    if isEnded { return true }
                    continue
                }
            }
            let end = bytes.firstIndex(of: ASCII.lineFeed, from: index).map { $0 + 1 } ?? bytes.count
            try takePiece(bytes.extracting(index..<end))
            index = end
            if isEnded { return true }
        }
        return false
    }

    /// Throws the fault of an incomplete line, if it has one, at the end of the stream.
    mutating func finish() throws(HeaderFault) {
        var line: [UInt8] = []
        swap(&line, &self.line)
        // An array itself has a span only since iOS 26 and macOS 26.
        let text = line[...]
        do throws(HeaderFault) {
            _ = try read(text.span)
        } catch {
            throw located(error, in: text.span)
        }
    }

    /// Prepares for the next header.
    @inline(__always)
    mutating func reset() {
        start.reset()
        fields.reset()
        (fieldCount, lineStart, isEnded, isInvalid) = (0, 0, false, false)
    }

    // MARK: Lines

    /// Reads the line at the front of `bytes` if it is complete, and returns the number of its bytes.
    @inline(__always)
    private mutating func readWhole(_ bytes: Span<UInt8>) throws(HeaderFault) -> Int? {
        do throws(HeaderFault) {
            return try read(bytes)
        } catch {
            // What is wrong in another line counts when the line is complete.
            guard !start.isComplete || bytes.firstIndex(of: ASCII.lineFeed, from: 0) != nil else { return nil }
            throw located(error, in: bytes)
        }
    }

    /// Consumes a piece of a line that is incomplete or over the limit.
    @inline(never)
    private mutating func takePiece(_ piece: Span<UInt8>) throws(HeaderFault) {
        let count = min(piece.count, max(limits.maximumHeaderBytes - byteCount, 0))
        // Moved out, because reading changes the parser.
        var line: [UInt8] = []
        swap(&line, &self.line)
        for index in 0..<count { line.append(piece[index]) }
        let text = line[...]
        do throws(HeaderFault) {
            if count < piece.count || line.last == ASCII.lineFeed || !start.isComplete, let end = try read(text.span) {
                lineStart += end
                line.removeAll(keepingCapacity: true)
            }
        } catch {
            throw located(error, in: text.span)
        }
        guard count == piece.count else {
            let detail = Excerpt.text(of: text.span, endingAt: line.count, with: piece[count])
            throw HeaderFault(.headTooLong, at: lineStart + line.count, detail: detail)
        }
        swap(&line, &self.line)
    }

    /// Reads the line at the front of `bytes`, and returns the number of its bytes; nil, without an effect, if it is
    /// incomplete.
    @inline(__always)
    private mutating func read(_ bytes: Span<UInt8>) throws(HeaderFault) -> Int? {
        guard !bytes.isEmpty else { return nil }
        if !start.isComplete {
            guard let end = try start.check(bytes) else { return nil }
            beginHeader(bytes)
            return end
        }
        guard bytes[0] == ASCII.carriageReturn else { return try readField(bytes) }
        guard let end = try endOfLine(bytes, at: 0) else { return nil }
        isEnded = true
        return end
    }

    @inline(never)
    private func located(_ fault: HeaderFault, in line: Span<UInt8>) -> HeaderFault {
        let detail = Excerpt.text(of: line, endingAt: fault.index, with: line[fault.index])
        return HeaderFault(fault.code, at: lineStart + fault.index, detail: detail)
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

    /// Notes which fields have a meaning behind this start line.
    private mutating func beginHeader(_ line: Span<UInt8>) {
        guard let nameRange = start.nameRange else {
            meaning = HeaderField.ofMessages
            return
        }
        request = ControlName.named(line.extracting(nameRange))
        meaning = HeaderField.framing | (request?.fields ?? 0)
    }

    // MARK: Fields

    /// Reads the field at the front of `bytes`; likewise.
    private mutating func readField(_ bytes: Span<UInt8>) throws(HeaderFault) -> Int? {
        guard fieldCount < limits.maximumFields else { throw HeaderFault(.headTooManyFields) }
        var index: Int
        var known: HeaderField?
        if let colon = bytes.firstIndex(of: ASCII.colon, from: 0),
            let field = table.field(named: bytes.extracting(..<colon))
        {
            index = colon
            if meaning & field.bit != 0 { known = field }
        } else {
            index = 0
            while index < bytes.count, ASCII.isToken(bytes[index]) { index += 1 }
            guard index < bytes.count else { return nil }
            guard index > 0, bytes[index] == ASCII.colon else { throw HeaderFault(.lineMalformed, at: index) }
        }
        var value: UInt64?
        if let known {
            do throws(HeaderFault) {
                value = try readValue(of: known, bytes, from: &index)
            } catch {
                guard request != nil, known.bit & HeaderField.framing == 0 else { throw error }
                index = error.index
            }
        }
        while index < bytes.count, ASCII.isValue(bytes[index]) { index += 1 }
        guard let end = try endOfLine(bytes, at: index) else { return nil }
        fieldCount += 1
        if let known {
            if let value { fields.store(value, in: known) } else { isInvalid = true }
        }
        return end
    }

    /// Reads the value of a field behind its colon at `index`, which becomes the index behind it.
    ///
    /// Nil if the bytes end with it, or a byte follows that no value has.
    @inline(__always)
    private mutating func readValue(
        of field: HeaderField,
        _ bytes: Span<UInt8>,
        from index: inout Int
    ) throws(HeaderFault) -> UInt64? {
        guard table.refused & field.bit == 0 else { throw HeaderFault(.fieldUnsupported, at: index) }
        guard !fields.has(field) else { throw HeaderFault(.fieldDuplicate, at: index) }
        index += 1
        bytes.skipWhiteSpace(from: &index)
        guard table.words & field.bit == 0 else { return try readWord(of: field, bytes, from: &index) }
        return try readNumber(of: field, bytes, from: &index)
    }

    @inline(__always)
    private mutating func readNumber(
        of field: HeaderField,
        _ bytes: Span<UInt8>,
        from index: inout Int
    ) throws(HeaderFault) -> UInt64? {
        let start = index
        let range = ranges[field.rawValue]
        let (value, end) = bytes.number(from: start, maximum: range.maximum)
        // A leading zero is the only digit.
        if end > start, bytes[start] == ASCII.zero, start + 1 < bytes.count, ASCII.isDigit(bytes[start + 1]) {
            throw HeaderFault(.numberInvalid, at: start + 1)
        }
        if end < bytes.count, ASCII.isDigit(bytes[end]) {
            throw HeaderFault(field == .contentLength ? .contentLengthTooLarge : .numberOutOfRange, at: end)
        }
        index = end
        guard try isEnd(of: start..<index, bytes, else: .numberInvalid) else { return nil }
        guard value >= range.minimum else { throw HeaderFault(.numberOutOfRange, at: index) }
        return try isEnd(ofLineIn: bytes, from: &index, else: .numberInvalid) ? value : nil
    }

    private mutating func readWord(
        of field: HeaderField,
        _ bytes: Span<UInt8>,
        from index: inout Int
    ) throws(HeaderFault) -> UInt64? {
        let start = index
        while index < bytes.count, ASCII.isToken(bytes[index]) {
            guard index - start < 32 else { throw HeaderFault(.wordInvalid, at: index) }
            index += 1
        }
        let word = start..<index
        guard try isEnd(of: word, bytes, else: .wordInvalid),
            try isEnd(ofLineIn: bytes, from: &index, else: .wordInvalid)
        else { return nil }
        guard let value = table.value(of: bytes.extracting(word), in: field) else {
            throw HeaderFault(.wordUnknown, at: index)
        }
        return value
    }

    /// Whether white space or a carriage return follows a number or word.
    ///
    /// False if the bytes end with it, or a byte follows that no value has, which is an error of its own.
    @inline(__always)
    private func isEnd(
        of value: Range<Int>,
        _ bytes: Span<UInt8>,
        else code: WireError.Code
    ) throws(HeaderFault) -> Bool {
        guard value.upperBound < bytes.count else { return false }
        let next = bytes[value.upperBound]
        if !value.isEmpty, next == ASCII.carriageReturn || ASCII.isWhiteSpace(next) { return true }
        guard next == ASCII.carriageReturn || ASCII.isValue(next) else { return false }
        throw HeaderFault(code, at: value.upperBound)
    }

    /// Whether a carriage return follows, behind optional white space; likewise.
    @inline(__always)
    private func isEnd(
        ofLineIn bytes: Span<UInt8>,
        from index: inout Int,
        else code: WireError.Code
    ) throws(HeaderFault) -> Bool {
        bytes.skipWhiteSpace(from: &index)
        guard index < bytes.count else { return false }
        guard bytes[index] != ASCII.carriageReturn else { return true }
        guard ASCII.isValue(bytes[index]) else { return false }
        throw HeaderFault(code, at: index)
    }
}

extension Span<UInt8> {
    @inline(__always)
    fileprivate func skipWhiteSpace(from index: inout Int) {
        while index < count, ASCII.isWhiteSpace(self[index]) { index += 1 }
    }

    /// Returns the number at `start`, and the index behind its digits or of the first one with which it exceeds `maximum`.
    @inline(never)
    fileprivate func number(from start: Int, maximum: UInt64) -> (value: UInt64, end: Int) {
        let (tens, ones) = maximum.quotientAndRemainder(dividingBy: 10)
        var (value, index): (UInt64, Int) = (0, start)
        while index < count {
            let digit = UInt64(self[index] &- ASCII.zero)
            guard digit < 10, value < tens || (value == tens && digit <= ones) else { break }
            value = value &* 10 &+ digit
            index += 1
        }
        return (value, index)
    }
}

/// The numbers that a field may have, with the decoder's limits.
private struct NumberRange: Sendable {
    let minimum, maximum: UInt64

    init(_ value: FieldValue, _ limits: FrameMessageDecoder.Limits) {
        switch value {
        case .number(let range):
            (minimum, maximum) = (UInt64(clamping: range.lowerBound), UInt64(clamping: range.upperBound))
        case .limited(let minimum, let limit):
            self.minimum = minimum
            maximum = UInt64(clamping: min(limits[keyPath: limit], FieldValue.largestLimit))
        case .any, .word, .refused: (minimum, maximum) = (0, .max)
        }
    }
}

/// The first line of a header, which is checked byte by byte.
struct StartLine: Sendable {
    /// What a header begins.
    enum Kind: Sendable {
        /// `HTTP/1.1 200`, or version 1.0, with any reason phrase or none.
        case message
        /// `POST /<name> HTTP/1.1`.
        case request
    }

    /// The start line of nearly every message, which is compared at once.
    private static let usual = Array("HTTP/1.1 200 OK\r\n".utf8)
    private static let usualWords = {
        let bytes = usual[...]
        return (bytes.span.word(at: 0), bytes.span.word(at: 8))
    }()

    let kind: Kind
    /// What precedes the reason of a message or the name of a request, and what follows the name.
    private let beginning, version: [UInt8]
    private var checkedCount = 0
    /// Whether the line feed has been reached.
    private(set) var isComplete = false
    /// The index of the space behind a request's name.
    private var nameEnd: Int?

    init(_ kind: Kind) {
        self.kind = kind
        beginning = Array((kind == .message ? "HTTP/1.1 200" : "POST /").utf8)
        version = Array("HTTP/1.1\r".utf8)
    }

    /// The place of a request's name in a complete line; nil for a message.
    var nameRange: Range<Int>? { nameEnd.map { beginning.count..<$0 } }

    @inline(__always)
    mutating func reset() { (checkedCount, isComplete, nameEnd) = (0, false, nil) }

    /// Checks the bytes of a line, or of its beginning, that have not been checked, and returns the number of bytes of the
    /// line once it is complete.
    mutating func check(_ bytes: Span<UInt8>) throws(HeaderFault) -> Int? {
        if kind == .message, bytes.count >= Self.usual.count, bytes.word(at: 0) == Self.usualWords.0,
            bytes.word(at: 8) == Self.usualWords.1, bytes[16] == ASCII.lineFeed
        {
            isComplete = true
            return Self.usual.count
        }
        var index = checkedCount
        while index < bytes.count {
            let isEnd = index > 0 && bytes[index - 1] == ASCII.carriageReturn
            guard isEnd ? bytes[index] == ASCII.lineFeed : isAllowed(bytes[index], at: index) else {
                throw HeaderFault(kind == .message ? .startLineMalformed : .requestLineMalformed, at: index)
            }
            index += 1
            guard !isEnd else {
                isComplete = true
                return index
            }
        }
        checkedCount = index
        return nil
    }

    @inline(__always)
    private mutating func isAllowed(_ byte: UInt8, at index: Int) -> Bool {
        if index < beginning.count {
            // The version of a message may be 1.0.
            return byte == beginning[index] || (index == 7 && byte == ASCII.zero)
        }
        switch kind {
        case .message:
            // One space precedes the reason.
            let place = index - beginning.count
            return byte == ASCII.carriageReturn
                || (place == 0 ? byte == ASCII.space : ASCII.isVisible(byte) || (place > 1 && byte == ASCII.space))
        case .request:
            guard let nameEnd else {
                if byte == ASCII.space { nameEnd = index }
                return byte == ASCII.space || ASCII.isVisible(byte)
            }
            let place = index - nameEnd - 1
            return place < version.count && byte == version[place]
        }
    }
}
