/// Collects what the fields of one head say, digit by digit, and holds it to the limits.
struct FrameFields: Sendable {
    /// The digits of a number that deployed peers know; our own fields may use all of 64 bits.
    static var maximumDigits: Int { 10 }

    private let limits: WireLimits
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
        self.limits = limits
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
        if let code = excess(of: value, digits: digitCount, in: current) { throw HeadFault(code) }
    }

    /// Ends the value, at the carriage return.
    mutating func endValue() throws(HeadFault) {
        guard let current else { return }
        guard digitCount > 0 else { throw HeadFault(.numberEmpty) }
        try judgeEnd(of: current)
        store(value, in: current)
    }

    /// What the head as a whole lacks or has too much of, once it ended.
    var fault: HeadFault? {
        if let missing = FrameField.required.first(where: { !has($0) }) {
            return HeadFault(.fieldMissing, detail: missing.name)
        }
        let (pixels, overflows) = width.multipliedReportingOverflow(by: height)
        guard !overflows, pixels <= UInt64(clamping: limits.maximumPixels) else {
            return HeadFault(.pixelsTooMany, detail: "\(width) x \(height)")
        }
        return nil
    }

    /// The head that the fields make; of use only without a ``fault``.
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

    func has(_ field: FrameField) -> Bool { seen & field.bit != 0 }

    /// Why a value that has come to `value` is too much for its field, whatever may follow; nil where it is not.
    func excess(of value: UInt64, digits: Int, in field: FrameField) -> WireError.Code? {
        switch field {
        case .contentLength:
            if value > UInt64(clamping: limits.maximumContentLength) { return .contentLengthTooLarge }
        case .width, .height:
            if value > UInt64(clamping: limits.maximumDimension) { return .dimensionTooLarge }
        case .orientation:
            if value > 8 { return .orientationOutOfRange }
        case .presentationTime, .sequence, .transferEncoding:
            return nil
        }
        return digits > Self.maximumDigits ? .numberTooLong : nil
    }

    mutating func store(_ value: UInt64, in field: FrameField) {
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
        if value == 0, field == .width || field == .height { throw HeadFault(.dimensionZero) }
    }
}
