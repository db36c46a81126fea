import TestSupport

@testable import FrameWire

/// Random streams of headers, mostly well formed ones, for comparing parsers.
enum FieldStream {
    /// Which messages and requests a stream has.
    enum Version {
        /// Those that the first parsers knew, and none of the fields that came later.
        case first
        /// All of them, and fields of all of them.
        case present

        var requestNames: [String] {
            switch self {
            case .first: ["hello", "pause", "resume", "stop", "prefer", "refresh", "ping"]
            // The body of an `info` means something, which is the subject of SessionInfoTests.
            case .present: ControlName.allCases.map(\.rawValue).filter { $0 != "info" }
            }
        }

        fileprivate var names: [String] {
            switch self {
            case .first:
                OracleMessageField.allCases.map(\.name) + OracleControlField.allCases.map(\.name) + FieldStream.others
            case .present:
                MessageField.allCases.map(\.definition.name) + ControlField.allCases.map(\.definition.name)
                    + FieldStream.others
            }
        }

        fileprivate var sets: [[String]] {
            switch self {
            case .first: FieldStream.firstSets
            case .present: FieldStream.firstSets + FieldStream.sharedSets
            }
        }

        fileprivate var kinds: [String] {
            switch self {
            case .first: ["audio", "status", "other"]
            case .present: ["audio", "status", "other", "shared-buffer", "shared-frame", "shared-frame"]
            }
        }
    }

    private static let others = ["X-Other", "Buffer-Widths", "content-LENGTH", "Buffer-^idth"]

    private static let values = [
        "0", "1", "2", "8", "9", "100", "562", "1218", "16384", "16385", "44100", "48000", "262144", "262145", "10006",
        "10011", "33554432", "33554433", "9999999999", "10000000000", "18446744073709551615", "18446744073709551616",
        "007", "-1", "+4", "4, 4", "", " 5 ", "5\t", "audio", "status", "video", "app", "microphone", "live", "paused",
        "stopped", "Live", "two words", "identity", "\u{7F}", "1\r", "1\n", String(repeating: "w", count: 33),
    ]

    private static let usual: [String: [String]] = [
        "Content-Length": ["0", "4", "20"], "Buffer-Width": ["562"], "Buffer-Height": ["1218"],
        "Buffer-Orientation": ["0", "8"], "Audio-Kind": ["app", "microphone"], "Audio-Sample-Rate": ["44100"],
        "Audio-Channels": ["1", "2"], "Sender-State": ["live", "paused", "stopped"],
        "Finish-Reason": ["10001", "10010"], "Control-Version": ["1"],
        "Wants-Pictures": ["0", "1"], "Wants-Audio": ["0", "1"], "Prefer-Frame-Rate": ["29970"],
        "Prefer-Width": ["720"], "Prefer-Height": ["1280"], "Prefer-Quality": ["80"], "Prefer-Byte-Rate": ["500000"],
        "Shared-Buffer": ["0", "7"], "Shared-Bytes": ["1", "1073741824"], "Shared-Format": ["bgra", "gray", "nv12"],
        "Shared-Offset": ["0", "1073741824"], "Shared-Stride": ["1", "2248"], "Shared-Offset-2": ["684516"],
        "Shared-Stride-2": ["562"], "Changed-Row": ["0", "65535"], "Changed-Rows": ["0", "65535"],
        "Shared-Memory": ["1", "9999"],
    ]

    /// The sets of fields that make a message or request whole.
    private static let firstSets = [
        ["Content-Length", "Buffer-Width", "Buffer-Height", "Buffer-Orientation"],
        ["Content-Length", "Message-Type", "Audio-Kind", "Audio-Sample-Rate", "Audio-Channels"],
        ["Content-Length", "Message-Type", "Sender-State", "Finish-Reason", "Control-Version"],
        ["Content-Length", "Control-Version", "Wants-Pictures", "Wants-Audio"],
        [
            "Content-Length", "Prefer-Frame-Rate", "Prefer-Width", "Prefer-Height", "Prefer-Quality",
            "Prefer-Byte-Rate",
        ],
        ["Content-Length", "Finish-Reason"], ["Content-Length", "Ping-Number"], ["Content-Length"],
    ]

    private static let sharedSets: [[String]] = [
        ["Content-Length", "Message-Type", "Shared-Buffer", "Shared-Bytes"],
        [
            "Content-Length", "Message-Type", "Shared-Buffer", "Buffer-Width", "Buffer-Height", "Buffer-Orientation",
            "Shared-Format", "Shared-Offset", "Shared-Stride", "Shared-Offset-2", "Shared-Stride-2",
        ],
        [
            "Content-Length", "Message-Type", "Shared-Buffer", "Buffer-Width", "Buffer-Height", "Buffer-Orientation",
            "Shared-Format", "Shared-Offset", "Shared-Stride", "Shared-Offset-2", "Shared-Stride-2", "Changed-Row",
            "Changed-Rows",
        ],
        ["Content-Length", "Control-Version", "Wants-Pictures", "Shared-Memory"],
        ["Content-Length", "Shared-Buffer"],
    ]

    /// A few messages with bodies of a few bytes, which need not be those that their headers state.
    static func messages(_ version: Version, _ random: inout SplitMix) -> [UInt8] {
        var stream: [UInt8] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            stream += message(version, startLine: "HTTP/1.1 200 OK", &random)
            stream += [UInt8](repeating: 7, count: [0, 4, 20].randomElement(using: &random) ?? 0)
        }
        return stream
    }

    /// A few requests, likewise.
    static func requests(_ version: Version, _ random: inout SplitMix) -> [UInt8] {
        var stream: [UInt8] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let name = (version.requestNames + ["other", ""]).randomElement(using: &random) ?? ""
            stream += message(version, startLine: "POST /\(name) HTTP/1.1", &random)
            stream += [UInt8](repeating: 7, count: [0, 4, 20].randomElement(using: &random) ?? 0)
        }
        return stream
    }

    /// The default limits, or some that many streams exceed.
    static func limits(_ random: inout SplitMix) -> FrameMessageDecoder.Limits {
        var limits = FrameMessageDecoder.Limits()
        if Bool.random(using: &random) { limits.maximumDimension = 1_000 }
        if Bool.random(using: &random) { limits.maximumContentLength = 19 }
        return limits
    }

    /// A message or request of a set of fields, mostly usual ones, in any order.
    private static func message(_ version: Version, startLine: String, _ random: inout SplitMix) -> [UInt8] {
        var names = (version.sets.randomElement(using: &random) ?? []).shuffled(using: &random)
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let place = Int.random(in: 0...names.count, using: &random)
            names.insert(version.names.randomElement(using: &random) ?? "", at: place)
        }
        if Int.random(in: 0..<6, using: &random) == 0 { _ = names.popLast() }
        var text = startLine + "\r\n"
        for name in names {
            let isUsual = Int.random(in: 0..<12, using: &random) > 0
            let usual = name == "Message-Type" ? version.kinds : Self.usual[name]
            let value = (isUsual ? usual : nil) ?? values
            text += name + [":", ": ", ":\t "][Int.random(in: 0...2, using: &random)]
            text += (value.randomElement(using: &random) ?? "") + "\r\n"
        }
        return Array((text + "\r\n").utf8)
    }
}
