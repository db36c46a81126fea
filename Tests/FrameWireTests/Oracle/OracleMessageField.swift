@testable import FrameWire

/// The fields that messages give a meaning; every other one is skipped.
enum OracleMessageField: UInt8, CaseIterable {
    case contentLength, width, height, orientation, timestamp, sequence, transferEncoding
    case messageType, audioKind, sampleRate, channels, state, finishReason, version, pong, refusedPreferences

    /// The fields without which a header is no frame, in the order in which they are reported missing.
    static let required: [OracleMessageField] = [.contentLength, .width, .height, .orientation]

    /// The name as existing Jitsi peers write it; it compares without case.
    var name: String {
        switch self {
        case .contentLength: "Content-Length"
        case .width: "Buffer-Width"
        case .height: "Buffer-Height"
        case .orientation: "Buffer-Orientation"
        case .timestamp: "Buffer-Presentation-Time"
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
        case .refusedPreferences: "Refused-Preferences"
        }
    }

    /// The bits of those without which a header is no frame.
    static var requiredBits: UInt16 {
        contentLength.bit | width.bit | height.bit | orientation.bit
    }

    /// Returns nil for a name without a meaning here.
    init?(name: [UInt8]) {
        guard let first = name.first else { return nil }
        // A name's length and first letter leave one field to compare it with.
        let candidate: OracleMessageField
        switch (name.count, first | 0x20) {
        case (14, UInt8(ascii: "c")): candidate = .contentLength
        case (12, UInt8(ascii: "b")): candidate = .width
        case (13, UInt8(ascii: "b")): candidate = .height
        case (18, _): candidate = .orientation
        case (24, _): candidate = .timestamp
        case (15, UInt8(ascii: "b")): candidate = .sequence
        case (17, UInt8(ascii: "t")): candidate = .transferEncoding
        case (12, UInt8(ascii: "m")): candidate = .messageType
        case (10, _): candidate = .audioKind
        case (17, _): candidate = .sampleRate
        case (14, _): candidate = .channels
        case (12, _): candidate = .state
        case (13, _): candidate = .finishReason
        case (15, _): candidate = .version
        case (11, _): candidate = .pong
        case (19, _): candidate = .refusedPreferences
        default: return nil
        }
        guard ASCII.isSameName(name, Array(candidate.name.utf8)) else { return nil }
        self = candidate
    }

    /// Whether the value is a word instead of a number.
    var isWord: Bool { self == .messageType || self == .audioKind || self == .state }

    /// A bit of its own, for a set of fields.
    var bit: UInt16 { 1 << UInt16(rawValue) }
}
