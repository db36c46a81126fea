/// The fields that messages give a meaning; every other one is skipped.
enum FrameField: UInt8, CaseIterable {
    case contentLength, width, height, orientation, presentationTime, sequence, transferEncoding
    case messageType, audioKind, sampleRate, channels, state, finishReason, version, pong

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
        case .messageType: "Message-Type"
        case .audioKind: "Audio-Kind"
        case .sampleRate: "Audio-Sample-Rate"
        case .channels: "Audio-Channels"
        case .state: "Sender-State"
        case .finishReason: "Finish-Reason"
        case .version: "Control-Version"
        case .pong: "Pong-Number"
        }
    }

    /// The bits of those without which a head is no frame.
    static var requiredBits: UInt16 {
        contentLength.bit | width.bit | height.bit | orientation.bit
    }

    /// Returns nil for a name without a meaning here.
    init?(name: [UInt8]) {
        guard let field = Self.allCases.first(where: { ASCII.isSameName(name, $0.name) }) else { return nil }
        self = field
    }

    /// Whether the value is a word instead of a number.
    var isWord: Bool { self == .messageType || self == .audioKind || self == .state }

    /// A bit of its own, for a set of fields.
    var bit: UInt16 { 1 << UInt16(rawValue) }
}
