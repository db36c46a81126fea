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

    /// Returns nil for a name without a meaning here.
    init?(name: [UInt8]) {
        guard let field = Self.allCases.first(where: { ASCII.areSameName($0.name.utf8, name) }) else { return nil }
        self = field
    }

    /// A bit of its own, for a set of fields.
    var bit: UInt8 { 1 << rawValue }
}
