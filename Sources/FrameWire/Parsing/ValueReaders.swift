/// Reads a value of decimal digits, with optional trailing white space, byte by byte.
struct NumberReader: Sendable {
    private let range: NumberRange
    private var value: UInt64 = 0
    private var digitCount = 0
    private var isAfterDigits = false

    /// Begins a value that must be in a range.
    init(within range: NumberRange = .any) {
        self.range = range
    }

    /// Consumes a byte of the value, starting with the first one that is not white space.
    mutating func take(_ byte: UInt8) throws(HeaderFault) {
        if ASCII.isWhiteSpace(byte) {
            if value < range.minimum { throw HeaderFault(range.deficit) }
            isAfterDigits = true
            return
        }
        let digit = byte &- ASCII.zero
        guard digit < 10, !isAfterDigits else { throw HeaderFault(.numberInvalid) }
        guard digitCount == 0 || value != 0 else { throw HeaderFault(.numberLeadingZero) }
        let (tens, overflowsTens) = value.multipliedReportingOverflow(by: 10)
        let (sum, overflowsSum) = tens.addingReportingOverflow(UInt64(digit))
        guard !overflowsTens, !overflowsSum else { throw HeaderFault(.numberOverflow) }
        value = sum
        digitCount += 1
        guard value <= range.maximum else { throw HeaderFault(range.excess) }
    }

    /// Returns the number, at the carriage return.
    func end() throws(HeaderFault) -> UInt64 {
        guard digitCount > 0 else { throw HeaderFault(.numberEmpty) }
        if value < range.minimum { throw HeaderFault(range.deficit) }
        return value
    }
}

/// Reads a value of one word, with optional trailing white space, byte by byte.
struct WordReader: Sendable {
    /// The maximum number of bytes of a word.
    static var maximumByteCount: Int { 32 }

    private var bytes: [UInt8] = []
    private var isAfterWord = false

    /// Consumes a byte of the value, starting with the first one that is not white space.
    mutating func take(_ byte: UInt8) throws(HeaderFault) {
        if ASCII.isWhiteSpace(byte) {
            isAfterWord = true
            return
        }
        guard ASCII.isToken(byte), !isAfterWord else { throw HeaderFault(.wordInvalid) }
        guard bytes.count < Self.maximumByteCount else { throw HeaderFault(.wordTooLong) }
        bytes.append(byte)
    }

    /// Returns the word, at the carriage return.
    func end() throws(HeaderFault) -> [UInt8] {
        guard !bytes.isEmpty else { throw HeaderFault(.wordEmpty) }
        return bytes
    }
}
