/// Collects what the fields of one head say, digit by digit, and holds it to the limits.
struct FrameFields: Sendable {
    /// The largest number of 10 digits, which no limit lifts; only our own fields use all of 64 bits.
    static var largestNumber: UInt64 { 9_999_999_999 }

    private let maximumContentLength: UInt64
    private let maximumDimension: UInt64
    private let maximumPixels: UInt64

    private var seen: UInt8 = 0
    private var contentLength: UInt64 = 0
    private var width: UInt64 = 0
    private var height: UInt64 = 0
    private var orientation: UInt64 = 0
    private var presentationTime: UInt64 = 0
    private var sequence: UInt64 = 0

    /// The field whose value is being taken; nil within one that means nothing here.
    private var current: FrameField?
    private var value: UInt64 = 0
    private var digitCount = 0
    private var isAfterDigits = false

    init(limits: WireLimits) {
        maximumContentLength = min(UInt64(clamping: limits.maximumContentLength), Self.largestNumber)
        maximumDimension = min(UInt64(clamping: limits.maximumDimension), Self.largestNumber)
        maximumPixels = UInt64(clamping: limits.maximumPixels)
    }

    /// Begins the field of this name, at its colon.
    mutating func begin(name: [UInt8]) throws(HeadFault) {
        current = FrameField(name: name)
        guard let current else { return }
        guard current != .transferEncoding else { throw HeadFault(.fieldUnsupported) }
        guard !has(current) else { throw HeadFault(.fieldDuplicate) }
        value = 0
        digitCount = 0
        isAfterDigits = false
    }

    /// Takes a byte of the value, from its first that is not white space on.
    mutating func take(_ byte: UInt8) throws(HeadFault) {
        guard let current else { return }
        if ASCII.isWhiteSpace(byte) {
            try judgeEnd(of: current)
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
        guard value <= maximum(of: current) else { throw HeadFault(current.excessCode) }
    }

    /// Ends the value, at the carriage return.
    mutating func endValue() throws(HeadFault) {
        guard let current else { return }
        guard digitCount > 0 else { throw HeadFault(.numberEmpty) }
        try judgeEnd(of: current)
        store(value, in: current)
    }

    /// Takes a field whose value is known to be a number; false, with nothing changed, where it may not stand here.
    @inline(__always)
    mutating func takeWhole(_ value: UInt64, in field: FrameField) -> Bool {
        guard !has(field), value >= field.minimum, value <= maximum(of: field) else { return false }
        store(value, in: field)
        return true
    }

    /// Whether the head as a whole has what it needs, and no more pixels than it may.
    var isComplete: Bool { seen & FrameField.requiredBits == FrameField.requiredBits && hasFewEnoughPixels }

    /// What the head as a whole lacks or has too much of, once it ended; nil where it ``isComplete``.
    var fault: HeadFault? {
        if let missing = FrameField.required.first(where: { !has($0) }) {
            return HeadFault(.fieldMissing, detail: missing.name)
        }
        return hasFewEnoughPixels ? nil : HeadFault(.pixelsTooMany, detail: "\(width) x \(height)")
    }

    private var hasFewEnoughPixels: Bool {
        let (pixels, overflows) = width.multipliedReportingOverflow(by: height)
        return !overflows && pixels <= maximumPixels
    }

    /// The head that the fields make; of use only without a ``fault``.
    @inline(__always)
    var head: FrameHead {
        FrameHead(
            contentLength: Int(clamping: contentLength),
            bufferSize: BufferSize(width: Int(clamping: width), height: Int(clamping: height)),
            orientation: FrameOrientation(rawValue: UInt8(truncatingIfNeeded: orientation)) ?? .unknown,
            presentationTime: has(.presentationTime) ? presentationTime : nil,
            sequence: has(.sequence) ? sequence : nil
        )
    }

    /// Makes ready for the next head.
    mutating func reset() {
        seen = 0
    }

    @inline(__always)
    private func has(_ field: FrameField) -> Bool { seen & field.bit != 0 }

    @inline(__always)
    private func maximum(of field: FrameField) -> UInt64 {
        switch field {
        case .contentLength: maximumContentLength
        case .width, .height: maximumDimension
        case .orientation: 8
        case .presentationTime, .sequence, .transferEncoding: .max
        }
    }

    @inline(__always)
    private mutating func store(_ value: UInt64, in field: FrameField) {
        seen |= field.bit
        switch field {
        case .contentLength: contentLength = value
        case .width: width = value
        case .height: height = value
        case .orientation: orientation = value
        case .presentationTime: presentationTime = value
        case .sequence: sequence = value
        case .transferEncoding: break
        }
    }

    private func judgeEnd(of field: FrameField) throws(HeadFault) {
        if value < field.minimum { throw HeadFault(.dimensionZero) }
    }
}
