/// The numbers that a field may have, and what is wrong with those that it may not.
struct NumberRange: Sendable {
    let minimum: UInt64
    let maximum: UInt64

    /// What is wrong with a number under the minimum, judged at its end.
    let deficit: WireError.Code

    /// What is wrong with a number over the maximum, judged at the digit that takes it there.
    let excess: WireError.Code

    /// The largest number of 10 digits, which no limit lifts; only our own fields use all of 64 bits.
    static var largestLimit: UInt64 { 9_999_999_999 }

    @inline(__always)
    init(_ minimum: UInt64, _ maximum: UInt64, else deficit: WireError.Code, or excess: WireError.Code) {
        self.minimum = minimum
        self.maximum = maximum
        self.deficit = deficit
        self.excess = excess
    }

    /// Every number of 64 bits.
    static var any: Self { .init(0, .max, else: .numberOverflow, or: .numberOverflow) }

    /// The numbers from one to another.
    static func range(_ range: ClosedRange<UInt64>, else code: WireError.Code = .numberOutOfRange) -> Self {
        .init(range.lowerBound, range.upperBound, else: code, or: code)
    }

    /// A count of bytes up to a limit, which 10 digits bound.
    static func length(upTo limit: Int) -> Self {
        .init(0, min(UInt64(clamping: limit), largestLimit), else: .contentLengthTooLarge, or: .contentLengthTooLarge)
    }

    /// A side of a picture up to a limit, which 10 digits bound.
    static func dimension(upTo limit: Int) -> Self {
        .init(1, min(UInt64(clamping: limit), largestLimit), else: .dimensionZero, or: .dimensionTooLarge)
    }
}

/// Takes a value of decimal digits, with white space behind it or not, byte by byte.
struct NumberReader: Sendable {
    private var value: UInt64 = 0
    private var digitCount = 0
    private var isAfterDigits = false

    /// Takes a byte of the value, from its first that is not white space on.
    mutating func take(_ byte: UInt8, within range: NumberRange) throws(HeadFault) {
        if ASCII.isWhiteSpace(byte) {
            if value < range.minimum { throw HeadFault(range.deficit) }
            isAfterDigits = true
            return
        }
        let digit = byte &- ASCII.zero
        guard digit < 10, !isAfterDigits else { throw HeadFault(.numberInvalid) }
        guard digitCount == 0 || value != 0 else { throw HeadFault(.numberLeadingZero) }
        let (tens, overflowsTens) = value.multipliedReportingOverflow(by: 10)
        let (sum, overflowsSum) = tens.addingReportingOverflow(UInt64(digit))
        guard !overflowsTens, !overflowsSum else { throw HeadFault(.numberOverflow) }
        value = sum
        digitCount += 1
        guard value <= range.maximum else { throw HeadFault(range.excess) }
    }

    /// Returns the number, at the carriage return.
    func end(within range: NumberRange) throws(HeadFault) -> UInt64 {
        guard digitCount > 0 else { throw HeadFault(.numberEmpty) }
        if value < range.minimum { throw HeadFault(range.deficit) }
        return value
    }
}
