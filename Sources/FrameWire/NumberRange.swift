/// The numbers that a field may have, and what kind of number it is, which says what is wrong with any other.
struct NumberRange: Sendable {
    /// What a number counts.
    enum Kind: UInt8, Sendable {
        case length, dimension, orientation, finishReason, time, other
    }

    let minimum: UInt64
    let maximum: UInt64
    let kind: Kind

    /// The largest number of 10 digits, which no limit lifts; only our own fields use all of 64 bits.
    static var largestLimit: UInt64 { 9_999_999_999 }

    @inline(__always)
    init(_ kind: Kind, _ minimum: UInt64, _ maximum: UInt64) {
        self.kind = kind
        self.minimum = minimum
        self.maximum = maximum
    }

    /// Numbers that stand in a range of the API.
    init(_ range: ClosedRange<Int>) {
        self.init(.other, UInt64(clamping: range.lowerBound), UInt64(clamping: range.upperBound))
    }

    /// What is wrong with a number under the minimum, judged at its end.
    var deficit: WireError.Code { kind == .dimension ? .dimensionZero : excess }

    /// What is wrong with a number over the maximum, judged at the digit that takes it there.
    var excess: WireError.Code {
        switch kind {
        case .length: .contentLengthTooLarge
        case .dimension: .dimensionTooLarge
        case .orientation: .orientationOutOfRange
        case .finishReason: .finishReasonUnknown
        case .time: .numberOverflow
        case .other: .numberOutOfRange
        }
    }
}

extension NumberRange {
    /// Every number of 64 bits: a time, or what is counted like one.
    @inline(__always)
    static var any: Self { .init(.time, 0, .max) }

    /// No number at all.
    static var none: Self { .init(.other, 1, 0) }

    /// The codes of the reasons to finish, which follow one another.
    static var finishReason: Self {
        .init(
            .finishReason,
            UInt64(clamping: FinishReason.stoppedByUser.rawValue),
            UInt64(clamping: FinishReason.error.rawValue)
        )
    }

    /// The versions of the control channel.
    static var version: Self { .init(1...9_999) }

    /// A limit as a maximum: at least 0, and of 10 digits at most.
    static func maximum(of limit: Int) -> UInt64 { min(UInt64(clamping: limit), largestLimit) }
}
