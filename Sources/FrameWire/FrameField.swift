/// The fields that this wire gives a meaning; every other one is skipped.
enum FrameField: UInt8, CaseIterable {
    case contentLength, width, height, orientation, presentationTime, sequence, transferEncoding

    /// The fields without which a head is no frame, in the order in which they are reported missing.
    static let required: [FrameField] = [.contentLength, .width, .height, .orientation]

    /// The name as deployed peers write it; it compares without case.
    var name: String {
        switch self {
        case .contentLength: "Content-Length"
        case .width: "Buffer-Width"
        case .height: "Buffer-Height"
        case .orientation: "Buffer-Orientation"
        case .presentationTime: "Buffer-Presentation-Time"
        case .sequence: "Buffer-Sequence"
        case .transferEncoding: "Transfer-Encoding"
        }
    }

    /// The bits of those.
    static var requiredBits: UInt8 {
        contentLength.bit | width.bit | height.bit | orientation.bit
    }

    /// Returns nil for a name without a meaning here.
    init?(name: [UInt8]) {
        let candidate: FrameField
        switch name.count {
        case 14: candidate = .contentLength
        case 12: candidate = .width
        case 13: candidate = .height
        case 18: candidate = .orientation
        case 24: candidate = .presentationTime
        case 15: candidate = .sequence
        case 17: candidate = .transferEncoding
        default: return nil
        }
        guard ASCII.isSameName(name, candidate.name) else { return nil }
        self = candidate
    }

    /// The least number that the field may have.
    @inline(__always)
    var minimum: UInt64 { self == .width || self == .height ? 1 : 0 }

    /// What is wrong with a number that is too much for the field.
    var excessCode: WireError.Code {
        switch self {
        case .contentLength: .contentLengthTooLarge
        case .width, .height: .dimensionTooLarge
        case .orientation: .orientationOutOfRange
        case .presentationTime, .sequence, .transferEncoding: .numberOverflow
        }
    }

    /// A bit of its own, for a set of fields.
    var bit: UInt8 { 1 << rawValue }
}
