/// Splits a header into lines, names and values, byte by byte, regardless of what its fields mean.
///
/// The cost is linear in the number of bytes, however they arrive. Only the beginning of the current line is stored:
/// enough for every name that has a meaning, and for the detail of an error.
struct HeaderScanner<Start: StartLine>: Sendable {
    /// The role of a byte.
    enum Step {
        /// Nothing that concerns code outside the scanner.
        case more
        /// The colon after a field name, which is in ``HeaderScanner/line``.
        case name
        /// A byte of a value, including white space within or after it.
        case value
        /// The carriage return after a value.
        case valueEnd
        /// The line feed that ends the header.
        case headerEnd
    }

    private enum State: UInt8 {
        case startLine, lineStart, name, valueStart, value, lineEnd, headerEnd
    }

    /// The number of bytes of a line that are stored.
    static var keptLineBytes: Int { 64 }

    private let maximumHeaderBytes: Int
    private let maximumFields: Int
    private var state = State.startLine
    private var fieldCount = 0

    /// The first line of the header, as far as it has been read.
    private(set) var start = Start()

    /// The number of bytes of the header consumed so far.
    private(set) var byteCount = 0

    /// The beginning of the current line, at most ``keptLineBytes``, without the byte being validated.
    private(set) var line: [UInt8] = []

    /// Whether the current line is longer than ``line``.
    private(set) var isLineCut = false

    init(maximumHeaderBytes: Int, maximumFields: Int) {
        self.maximumHeaderBytes = maximumHeaderBytes
        self.maximumFields = maximumFields
    }

    /// Validates the next byte.
    ///
    /// The limits are checked first, so that no work is ever done for a byte that exceeds them.
    mutating func take(_ byte: UInt8) throws(HeaderFault) -> Step {
        guard byteCount < maximumHeaderBytes else { throw HeaderFault(.headTooLong) }
        byteCount += 1
        switch state {
        case .startLine:
            if try start.take(byte) { state = .lineEnd }
            return .more
        case .lineStart:
            return try takeLineStart(byte)
        case .name:
            return try takeName(byte)
        case .valueStart, .value:
            return try takeValue(byte)
        case .lineEnd:
            guard byte == ASCII.lineFeed else { throw HeaderFault(.lineBareCarriageReturn) }
            state = .lineStart
            return .more
        case .headerEnd:
            guard byte == ASCII.lineFeed else { throw HeaderFault(.lineBareCarriageReturn) }
            return .headerEnd
        }
    }

    /// Whether the next byte is the header's first.
    var isAtStart: Bool { byteCount == 0 }

    /// Whether the next byte begins a field or the blank line.
    var isAtLineStart: Bool { state == .lineStart }

    /// Whether a line of `count` bytes that is not a field is within the limits.
    @inline(__always)
    func hasRoom(forLineOf count: Int) -> Bool { byteCount + count <= maximumHeaderBytes }

    /// Whether a field line of `count` bytes is within the limits.
    @inline(__always)
    func hasRoom(forFieldOf count: Int) -> Bool { hasRoom(forLineOf: count) && fieldCount < maximumFields }

    /// Skips a complete start line, within the limits, that the caller has validated.
    @inline(__always)
    mutating func skipStartLine(byteCount count: Int) {
        byteCount += count
        state = .lineStart
    }

    /// Skips a complete field, within the limits, that the caller has validated.
    @inline(__always)
    mutating func skipField(byteCount count: Int) {
        byteCount += count
        fieldCount += 1
    }

    /// Stores the byte just validated, if there is still room for the line's beginning.
    mutating func keep(_ byte: UInt8) {
        if byte == ASCII.lineFeed {
            line.removeAll(keepingCapacity: true)
            isLineCut = false
        } else if line.count < Self.keptLineBytes {
            line.append(byte)
        } else {
            isLineCut = true
        }
    }

    /// Prepares for the next header.
    @inline(__always)
    mutating func reset() {
        state = .startLine
        start = Start()
        fieldCount = 0
        byteCount = 0
        if !line.isEmpty { line.removeAll(keepingCapacity: true) }
        isLineCut = false
    }

    private mutating func takeLineStart(_ byte: UInt8) throws(HeaderFault) -> Step {
        if byte == ASCII.carriageReturn {
            state = .headerEnd
            return .more
        }
        guard fieldCount < maximumFields else { throw HeaderFault(.headTooManyFields) }
        fieldCount += 1
        switch byte {
        case ASCII.lineFeed: throw HeaderFault(.lineBareLineFeed)
        case ASCII.space, ASCII.tab: throw HeaderFault(.fieldFolded)
        case ASCII.colon: throw HeaderFault(.fieldEmptyName)
        default: break
        }
        guard ASCII.isToken(byte) else { throw HeaderFault(.fieldInvalidName) }
        state = .name
        return .more
    }

    private mutating func takeName(_ byte: UInt8) throws(HeaderFault) -> Step {
        if ASCII.isToken(byte) { return .more }
        switch byte {
        case ASCII.colon:
            state = .valueStart
            return .name
        case ASCII.space, ASCII.tab: throw HeaderFault(.fieldSpaceBeforeColon)
        case ASCII.carriageReturn, ASCII.lineFeed: throw HeaderFault(.fieldNoColon)
        default: throw HeaderFault(.fieldInvalidName)
        }
    }

    private mutating func takeValue(_ byte: UInt8) throws(HeaderFault) -> Step {
        if byte == ASCII.carriageReturn {
            state = .lineEnd
            return .valueEnd
        }
        guard ASCII.isValue(byte) else {
            throw HeaderFault(byte == ASCII.lineFeed ? .lineBareLineFeed : .fieldInvalidValue)
        }
        if state == .valueStart, ASCII.isWhiteSpace(byte) { return .more }
        state = .value
        return .value
    }
}

/// Makes a peer's bytes safe to print.
enum Excerpt {
    /// Returns `line`, `...` if it was shortened, and `byte`, all in printable ASCII and in double quotes.
    static func text(of line: [UInt8], isCut: Bool, endingWith byte: UInt8? = nil) -> String {
        var text = "\""
        for byte in line { text += escape(byte) }
        if isCut { text += "..." }
        return text + (byte.map(escape) ?? "") + "\""
    }

    private static func escape(_ byte: UInt8) -> String {
        switch byte {
        case ASCII.carriageReturn: "\\r"
        case ASCII.lineFeed: "\\n"
        case ASCII.tab: "\\t"
        case UInt8(ascii: "\\"): "\\\\"
        case UInt8(ascii: "\""): "\\\""
        case 0x20..<0x7F: String(UnicodeScalar(byte))
        default: "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
    }
}
