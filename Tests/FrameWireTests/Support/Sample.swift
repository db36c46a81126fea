import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// A message or request as it is written, and what it says.
struct Sample: Sendable, CustomTestStringConvertible {
    let kind: Transcript.Kind
    /// The name of a request.
    let name: String
    let lines: [String]
    let body: String
    /// The fields that it cannot do without, in the order in which they are reported missing.
    let required: [String]
    let item: Transcript.Item
    let encoded: [UInt8]

    var testDescription: String { shortened("\(kind) \(name) " + lines.joined(separator: ", "), to: 100) }

    var text: String { Streams.header(lines, start: Streams.start(kind, name: name)) + body }

    func text(_ lines: [String]) -> String { Streams.header(lines, start: Streams.start(kind, name: name)) + body }

    /// The value of `Message-Type`; nil for a frame and a request.
    var type: String? {
        lines.first { $0.hasPrefix("Message-Type: ") }.map { String($0.dropFirst("Message-Type: ".count)) }
    }

    private init(
        _ message: FrameMessageDecoder.Message,
        _ lines: [String],
        body: String = "",
        required: [String],
        _ encoded: [UInt8]
    ) {
        (kind, name, self.lines, self.body) = (.messages, "", lines, body)
        (self.required, item, self.encoded) = (required, .message(message), encoded + body.bytes)
    }

    private init(_ request: ControlRequest, _ lines: [String] = [], required: [String] = []) {
        (kind, name, body) = (.requests, request.name, "")
        self.lines = ["Content-Length: 0"] + lines
        (self.required, item, encoded) = (["Content-Length"] + required, .request(request), request.encoded())
    }

    static let size = BufferSize(width: 562, height: 1_218)
    static let timing = ["Buffer-Presentation-Time: 1700000000", "Buffer-Sequence: 0"]

    static var all: [Sample] { frames + audio + statuses + [info] + shared + requests }

    private static var frames: [Sample] {
        let lines = ["Content-Length: 4", "Buffer-Width: 562", "Buffer-Height: 1218", "Buffer-Orientation: 6"]
        let required = ["Content-Length", "Buffer-Width", "Buffer-Height", "Buffer-Orientation"]
        let plain = FrameHeader(contentLength: 4, info: FrameInfo(bufferSize: size, orientation: .right))
        var timed = plain
        (timed.info.timestamp, timed.info.sequence) = (1_700_000_000, 0)
        return [
            Sample(.frame(plain), lines, body: "BODY", required: required, plain.encoded()),
            Sample(.frame(timed), lines + timing, body: "BODY", required: required, timed.encoded()),
        ]
    }

    private static var audio: [Sample] {
        let body = "PCMPCMPCMPCMPCMP"
        let required = ["Content-Length", "Audio-Kind", "Audio-Sample-Rate", "Audio-Channels"]
        func lines(_ kind: String) -> [String] {
            [
                "Content-Length: 16", "Message-Type: audio", "Audio-Kind: \(kind)", "Audio-Sample-Rate: 44100",
                "Audio-Channels: 2",
            ]
        }
        let app = AudioHeader(contentLength: 16, kind: .app, sampleRate: 44_100, channels: 2)
        var voice = app
        (voice.kind, voice.timestamp, voice.sequence) = (.microphone, 1_700_000_000, 0)
        return [
            Sample(.audio(app), lines("app"), body: body, required: required, app.encoded()),
            Sample(.audio(voice), lines("microphone") + timing, body: body, required: required, voice.encoded()),
        ]
    }

    private static var statuses: [Sample] {
        func sample(_ status: SenderStatus, _ lines: [String], required: [String] = []) -> Sample {
            Sample(
                .status(status),
                ["Content-Length: 0", "Message-Type: status"] + lines,
                required: ["Content-Length", "Sender-State", "Control-Version"] + required,
                status.encoded()
            )
        }
        var refusing = SenderStatus(state: .live, pong: 3)
        refusing.refusedPreferences = .max
        return [
            sample(SenderStatus(state: .live), ["Sender-State: live", "Control-Version: 1"]),
            sample(
                SenderStatus(state: .paused, pong: .max, version: 9_999),
                ["Sender-State: paused", "Control-Version: 9999", "Pong-Number: 18446744073709551615"]
            ),
            sample(
                refusing,
                [
                    "Sender-State: live", "Control-Version: 1", "Pong-Number: 3",
                    "Refused-Preferences: 18446744073709551615",
                ]
            ),
            sample(
                SenderStatus(state: .stopped(.superseded), pong: 0),
                ["Sender-State: stopped", "Finish-Reason: 10007", "Control-Version: 1", "Pong-Number: 0"],
                required: ["Finish-Reason"]
            ),
        ]
    }

    /// An info without values.
    private static var info: Sample {
        var info = ControlRequest.SessionInfo()
        (info.size, info.frameRateInMillihertz, info.offersAudio) = (size, 15_000, true)
        return Sample(
            .info(info),
            [
                "Content-Length: 0", "Message-Type: info", "Buffer-Width: 562", "Buffer-Height: 1218",
                "Frame-Rate: 15000", "Offers-Audio: 1",
            ],
            required: ["Content-Length", "Buffer-Width", "Buffer-Height"],
            info.encoded()
        )
    }

    /// Announcements, and frames of every pixel format; the last one has every field.
    static var shared: [Sample] {
        let buffer = SharedFrameHeader.Buffer(index: 2, byteCount: 4_096)
        let announcement = Sample(
            .sharedBuffer(buffer),
            ["Content-Length: 0", "Message-Type: shared-buffer", "Shared-Buffer: 2", "Shared-Bytes: 4096"],
            required: ["Content-Length", "Shared-Buffer", "Shared-Bytes"],
            buffer.encoded()
        )
        return [announcement] + PixelFormat.allCases.map { sharedFrame($0) }
            + [sharedFrame(.i420, rows: 1..<3, timing: true)]
    }

    private static func sharedFrame(_ format: PixelFormat, rows: Range<Int>? = nil, timing: Bool = false) -> Sample {
        let planes = [(64, 8), (128, 4), (192, 3)].prefix(format.planeCount)
        let positions = zip(["", "-2", "-3"], planes).flatMap { suffix, plane in
            ["Shared-Offset\(suffix): \(plane.0)", "Shared-Stride\(suffix): \(plane.1)"]
        }
        let changes = rows.map { ["Changed-Row: \($0.lowerBound)", "Changed-Rows: \($0.count)"] } ?? []
        var header = SharedFrameHeader(
            buffer: 2,
            format: format,
            info: FrameInfo(bufferSize: BufferSize(width: 5, height: 3), orientation: .right),
            planes: planes.map { .init(offset: $0.0, bytesPerRow: $0.1) },
            changedRows: rows
        )
        if timing { (header.info.timestamp, header.info.sequence) = (1_700_000_000, 0) }
        let image = ["Buffer-Width: 5", "Buffer-Height: 3", "Buffer-Orientation: 6"]
        return Sample(
            .sharedFrame(header),
            ["Content-Length: 0", "Message-Type: shared-frame", "Shared-Buffer: 2"] + image
                + ["Shared-Format: \(format.rawValue)"] + positions + changes + (timing ? Self.timing : []),
            required: (["Content-Length", "Shared-Buffer", "Buffer-Width", "Buffer-Height", "Buffer-Orientation"]
                + ["Shared-Format"] + (positions + changes).map { String($0.prefix { $0 != ":" }) }),
            header.encoded()
        )
    }

    /// A frame in shared memory with every field that a message can have.
    static var fullSharedFrame: Sample { sharedFrame(.i420, rows: 1..<3, timing: true) }

    static var requests: [Sample] {
        func hello(_ hello: ControlRequest.Hello, _ lines: [String]) -> Sample {
            Sample(.hello(hello), lines, required: ["Control-Version"])
        }
        let release = Sample(releaseOf: 7)
        let size = BufferSize(width: 720, height: 1_280)
        let all = ControlRequest.Preferences(frameRateInMillihertz: 29_970, size: size, quality: 80, byteRate: 9)
        return [
            hello(.init(), ["Control-Version: 1", "Wants-Pictures: 1", "Wants-Audio: 0"]),
            hello(.init(wants: []), ["Control-Version: 1", "Wants-Pictures: 0", "Wants-Audio: 0"]),
            hello(
                .init(version: 9_999, wants: [.frames, .audio], sharedMemory: 1, wantsInfo: true),
                ["Control-Version: 9999", "Wants-Pictures: 1", "Wants-Audio: 1", "Shared-Memory: 1", "Wants-Info: 1"]
            ),
            Sample(.pause), Sample(.resume), Sample(.refresh), Sample(.decline), release,
            Sample(.stop(.callEnded), ["Finish-Reason: 10006"], required: ["Finish-Reason"]),
            Sample(.prefer(ControlRequest.Preferences())),
            Sample(
                .prefer(all),
                [
                    "Prefer-Frame-Rate: 29970", "Prefer-Width: 720", "Prefer-Height: 1280", "Prefer-Quality: 80",
                    "Prefer-Byte-Rate: 9",
                ],
                required: ["Prefer-Width", "Prefer-Height"]
            ),
            Sample(.prefer(ControlRequest.Preferences(quality: 1)), ["Prefer-Quality: 1"]),
            Sample(.ping(0), ["Ping-Number: 0"], required: ["Ping-Number"]),
            Sample(.ping(.max), ["Ping-Number: 18446744073709551615"], required: ["Ping-Number"]),
        ]
    }

    private init(releaseOf buffer: Int) {
        (kind, name, body) = (.requests, "release", "")
        lines = ["Content-Length: 0", "Shared-Buffer: \(buffer)"]
        required = ["Content-Length", "Shared-Buffer"]
        (item, encoded) = (.release(buffer: buffer), ControlRequest.encodedRelease(of: buffer))
    }
}
