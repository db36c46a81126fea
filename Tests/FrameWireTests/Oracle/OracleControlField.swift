@testable import FrameWire

/// The fields that requests give a meaning.
enum OracleControlField: Int, CaseIterable {
    case contentLength, transferEncoding, version, wantsPictures, wantsAudio, finishReason
    case frameRate, width, height, quality, byteRate, ping

    var name: String {
        switch self {
        case .contentLength: "Content-Length"
        case .transferEncoding: "Transfer-Encoding"
        case .version: "Control-Version"
        case .wantsPictures: "Wants-Pictures"
        case .wantsAudio: "Wants-Audio"
        case .finishReason: "Finish-Reason"
        case .frameRate: "Prefer-Frame-Rate"
        case .width: "Prefer-Width"
        case .height: "Prefer-Height"
        case .quality: "Prefer-Quality"
        case .byteRate: "Prefer-Byte-Rate"
        case .ping: "Ping-Number"
        }
    }

    /// Returns nil for a name without a meaning in any request.
    init?(name: [UInt8]) {
        let field = Self.allCases.first { ASCII.isSameName(name, Array($0.name.utf8)) }
        guard let field else { return nil }
        self = field
    }

    /// The numbers that the field may have.
    func range(within limits: ControlLimits) -> NumberRange {
        switch self {
        case .contentLength: .init(.length, 0, NumberRange.maximum(of: limits.maximumContentLength))
        case .version: .version
        case .wantsPictures, .wantsAudio: .init(0...1)
        case .finishReason: .finishReason
        case .frameRate: .init(1...1_000_000)
        case .width, .height: .init(.dimension, 1, 16_384)
        case .quality: .init(1...100)
        case .byteRate: .init(1...9_999_999_999)
        case .ping, .transferEncoding: .any
        }
    }
}
