import Foundation
import FrameSocketTesting
import TestSupport
import Testing

/// The senders and receivers of docs/peers, against framesocket and each other.
@Suite(.serialized) struct DocumentedPeerTests {
    /// What a peer is written in.
    enum Language: String, CaseIterable, Sendable {
        case python = "py"
        case c
    }

    private let place = Workplace.new

    /// Starts `sender` or `receiver` of a language at the socket.
    private func start(_ name: String, _ language: Language, _ arguments: [String]) async throws -> Program {
        let source = Places.package + "docs/peers/\(name).\(language.rawValue)"
        switch language {
        case .python:
            // Without packages: the standard library alone must do.
            return try place.start(Places.python, ["-B", "-I", "-S", source, place.socket] + arguments)
        case .c: return try place.start(try await Self.compiled.value.path(name), [place.socket] + arguments)
        }
    }

    /// Where `sender` and `receiver` are, compiled once for all cases.
    private static let compiled = Task { () -> Workplace in
        let place = try Workplace()
        for name in ["sender", "receiver"] {
            let warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
            let source = Places.package + "docs/peers/\(name).c"
            let compiler = try place.start(Places.tool("cc"), warnings + ["-o", place.path(name), source])
            let ending = await compiler.ended()
            try #require(ending.status == 0, "\(ending)")
        }
        return place
    }

    /// Waits until somebody listens at the socket.
    private func listening() async throws {
        try #require(await becomesTrue { (try? PeerSocket.connected(to: place.socket)) != nil })
    }

    /// Paths of JPEGs of several kinds, one of them below the size that must be padded.
    private func files() throws -> [String] {
        let small = try #require(RecordedStream.smallFrames.bodies.first)
        try #require(small.count < 10_240)
        let names = ["420", "444", "gray", "422", "exif-6"].map { "jpeg/chelsea-\($0).jpg" }
        return try (names + ["jpeg/phone-563x1219.jpg"]).map(Places.fixture) + [place.file("small.jpg", small)]
    }

    /// Shows P35.
    @Test(arguments: Language.allCases, [[], ["--prefer-quality", "50"]])
    func `what the peer's sender sends arrives byte for byte, whatever the receiver says`(
        language: Language,
        options: [String]
    ) async throws {
        let paths = try files()
        // It comes first, and waits.
        let sender = try await start("sender", language, paths + paths)
        let count = String(2 * paths.count)
        let receiver = try await place.receiver(
            ["--count", count, "--decode", "--json", "--output", place.path("out")] + options
        )
        let ending = await receiver.ended(0)
        #expect(try ending.events("error") == [])
        await sender.ended(0)
        let sent = try paths.map { try Data.bytes(at: $0).padded }
        #expect(try place.contents(of: "out") == sent + sent)
        let frames = try ending.events("frame")
        #expect(frames.allSatisfy { $0["width"] == $0["jpegWidth"] && $0["height"] == $0["jpegHeight"] })
    }

    @Test(arguments: Language.allCases)
    func `what framesocket sends arrives at the peer's receiver byte for byte`(language: Language) async throws {
        let paths = try files()
        let receiver = try await start("receiver", language, [place.path("out")])
        let options = ["--wait", "60", "--passthrough", "--loop", "10", "--orientation", "6"]
        try await place.framesocket(["send", place.socket] + options + paths).ended(0)
        let ending = await receiver.ended(0)
        let sent = try paths.map { try Data.bytes(at: $0).padded }
        #expect(try place.contents(of: "out") == Array(repeating: sent, count: 10).flatMap(\.self))
        #expect(ending.lines.count == 10 * paths.count)
        #expect(ending.lines.allSatisfy { $0.contains(" orientation 6 ") })
    }

    @Test(arguments: Language.allCases, RecordedStream.all)
    func `the peer's receiver reads the streams of the fixtures correctly`(
        language: Language,
        stream: RecordedStream
    ) async throws {
        let receiver = try await start("receiver", language, [place.path("out")])
        try await place.peer("send_stream", stream.path, "--chunk", "random", "--seed", "11").ended(0)
        let ending = await receiver.ended()
        #expect(ending.status == (stream.cut == nil ? 0 : 65), "\(ending)")
        #expect(try place.contents(of: "out") == stream.bodies)
        #expect(ending.lines.count == stream.frames.count)
        for (line, frame) in zip(ending.lines, stream.frames) {
            #expect(line.contains("\(frame.width)x\(frame.height) orientation \(frame.orientation) "))
        }
    }

    /// Streams that are no frames, each wrong in its own way.
    static let malformed = [
        "GET / HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 1\n\n",
        "HTTP/1.1 404 Not Found\r\n\r\n",
        header("Content-Length : 3"), header("Content-Length: -3"), header("Content-Length: 03"),
        header("Content-Length: "),
        header("Content-Length: 33554433"), header("Content-Length: 99999999999"),
        header("Content-Length: 3\r\nContent-Length: 3"),
        header("Content-Length: 3\r\nBuffer-Width: 16385"), header("Content-Length: 3\r\nTransfer-Encoding: chunked"),
        header("Content-Length: 3\r\n folded"), header("Content-Length: 3\r\nNoColon"),
        header("Content-Length: 3\r\nX: \u{1}"),
        header("Content-Length: 3\r\nMessage-Type: audio"), header("X: 1"), header("Content-Length: 3\r\nX: \u{0}"),
        header("Content-Length: 3\r\nX: " + String(repeating: "x", count: 8_192)),
        header("Content-Length: 3" + String(repeating: "\r\nX: 1", count: 40)),
    ]

    /// A head with the size and orientation that a frame needs, and these lines.
    private static func header(_ lines: String) -> String {
        "HTTP/1.1 200 OK\r\n\(lines)\r\nBuffer-Height: 1\r\n"
            + (lines.contains("Buffer-Width") ? "" : "Buffer-Width: 1\r\n") + "Buffer-Orientation: 1\r\n\r\nabc"
    }

    @Test(arguments: Language.allCases, malformed.indices)
    func `the peer's receiver keeps the frame before an invalid one, and gives up`(
        language: Language,
        index: Int
    ) async throws {
        let good = Self.header("Content-Length: 3")
        let stream = try place.file("stream", Array((good + Self.malformed[index] + good).utf8))
        let receiver = try await start("receiver", language, [place.path("out")])
        _ = await (try place.peer("send_stream", stream)).ended()
        let ending = await receiver.ended()
        #expect(ending.status == 65, "\(Self.malformed[index].prefix(60)): \(ending)")
        #expect(!ending.errors.isEmpty)
        #expect(try place.contents(of: "out") == [Array("abc".utf8)])
    }

    @Test(arguments: Language.allCases)
    func `the peer's receiver replaces a dead socket and leaves a live one alone`(language: Language) async throws {
        // A socket that was bound and closed leaves its file behind.
        try PeerSocket.listening(at: place.socket).close()
        let first = try await start("receiver", language, [place.path("out")])
        try await listening()
        _ = await first.ended()

        _ = try await place.receiver("--json")
        let second = try await start("receiver", language, [place.path("out")]).ended(69)
        #expect(!second.errors.isEmpty)
        #expect(FileManager.default.fileExists(atPath: place.socket))
    }

    @Test(arguments: Language.allCases)
    func `the peer's sender reports that the receiver has left`(language: Language) async throws {
        let receiver = try await place.receiver("--count", "1", "--json")
        // Far more than the socket holds.
        let paths = Array(repeating: Places.fixture("jpeg/phone-563x1219.jpg"), count: 100)
        let sending = try await start("sender", language, paths).ended(1)
        #expect(sending.errors.contains("closed before everything was sent"))
        await receiver.ended(0)
    }

    @Test(arguments: Language.allCases)
    func `the peer's sender rejects a file that is not a JPEG`(language: Language) async throws {
        _ = try await place.receiver("--json")
        let text = try place.file("text.jpg", Array("no image".utf8))
        try await start("sender", language, [text]).ended(66)
    }
}
