/// The numbers that a field may have, and their kind, which determines the error for any other number.
struct NumberRange: Sendable {
    /// What a number counts.
    enum Kind: UInt8, Sendable {
        case length, dimension, orientation, finishReason, time, other
    }

    let minimum: UInt64
    let maximum: UInt64
    let kind: Kind

    /// The largest number of 10 digits, which is the most that any limit can be; only this project's own fields use all
    /// 64 bits.
    static var largestLimit: UInt64 { 9_999_999_999 }

    @inline(__always)
    init(_ kind: Kind, _ minimum: UInt64, _ maximum: UInt64) {
        self.kind = kind
        self.minimum = minimum
        self.maximum = maximum
    }

    /// Creates a range of the API's numbers.
    init(_ range: ClosedRange<Int>) {
        self.init(.other, UInt64(clamping: range.lowerBound), UInt64(clamping: range.upperBound))
    }

    /// The error for a number under the minimum, detected at its end.
    var deficit: WireError.Code { kind == .dimension ? .dimensionZero : excess }

    /// The error for a number over the maximum, detected at the digit that exceeds it.
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
    /// Every 64-bit number: a timestamp, or a counter.
    @inline(__always)
    static var any: Self { .init(.time, 0, .max) }

    /// No number at all.
    static var none: Self { .init(.other, 1, 0) }

    /// The codes of ``ControlRequest/FinishReason``, which are consecutive.
    static var finishReason: Self {
        .init(
            .finishReason,
            UInt64(clamping: ControlRequest.FinishReason.stoppedByUser.rawValue),
            UInt64(clamping: ControlRequest.FinishReason.error.rawValue)
        )
    }

    /// The versions of the control channel.
    static var version: Self { .init(1...9_999) }

    /// Returns a limit as a maximum: at least 0, and at most 10 digits.
    static func maximum(of limit: Int) -> UInt64 { min(UInt64(clamping: limit), largestLimit) }
}
