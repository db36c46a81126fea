import Foundation
import FrameSocketTesting
import Testing

/// `framesocket send` into receivers of other projects, and into one that breaks as the deployed ones do.
@Suite(.serialized) struct ForeignReceiverTests {
    private let place = Workplace.new

    private static let parsers = ["receive_http_client", "receive_httptools", "receive_h11"]

    /// The paths of files with the first bodies of the stream of small frames, all under 10,240 bytes.
    private func smallFiles(_ count: Int) throws -> [String] {
        let bodies = RecordedStream.smallFrames.bodies.prefix(count)
        try #require(bodies.allSatisfy { $0.count < 10_240 })
        return try bodies.enumerated().map { try place.file("small-\($0).jpg", $1) }
    }

    /// Sends, and gives what the peer tells of the frames that it took.
    private func frames(at peer: Program, _ arguments: [String]) async throws -> [Event] {
        let sender = try place.framesocket(["send", place.socket, "--wait", "60"] + arguments)
        await sender.ended(0)
        let ending = await peer.ended(0)
        #expect(try ending.events.last?["frames"] == 100)
        return try ending.events("frame")
    }

    // MARK: Parsers of HTTP, with Pillow as decoder

    @Test(arguments: parsers)
    func `a hundred JPEGs arrive unchanged, and small ones with their padding`(parser: String) async throws {
        let names = ["chelsea-420", "chelsea-444", "chelsea-gray", "chelsea-progressive", "phone-563x1219"]
        let paths = try names.map { Places.fixture("jpeg/\($0).jpg") } + smallFiles(5)
        let peer = try place.peer(parser, "--out", place.path("out"))
        let options = ["--passthrough", "--force", "--loop", "10", "--orientation", "8"]
        let frames = try await frames(at: peer, paths + options)
        #expect(frames.count == 100)
        #expect(
            frames.allSatisfy {
                $0["orientation"] == 8 && $0["width"] == $0["jpegWidth"] && $0["height"] == $0["jpegHeight"]
            }
        )
        let sent = try paths.map { try Data.bytes(at: $0).padded }
        #expect(try place.contents(of: "out") == Array(repeating: sent, count: 10).flatMap(\.self))
    }

    // MARK: ffmpeg

    @Test func `ffmpeg listens and decodes a hundred frames to the pixels of the files`() async throws {
        let paths = ["420", "422", "444", "gray"].map { Places.fixture("jpeg/chelsea-\($0).jpg") }
        let ffmpeg = ["-nostdin", "-loglevel", "error", "-f", "mjpeg"]
        let output = ["-fps_mode", "passthrough", "-pix_fmt", "yuvj444p", "-f", "framemd5", "-"]
        let receiver = try place.start(
            Places.tool("ffmpeg"),
            ffmpeg + ["-listen", "1", "-i", "unix:\(place.socket)"] + output
        )
        let sender = try place.framesocket(
            ["send", place.socket, "--wait", "60", "--passthrough", "--loop", "25"] + paths
        )
        await sender.ended(0)
        let received = await receiver.ended(0)

        var expected: [Substring] = []
        for path in paths {
            expected += try await place.start(Places.tool("ffmpeg"), ffmpeg + ["-i", path] + output).ended().checksums
        }
        try #require(expected.count == 4)
        #expect(received.checksums == Array(repeating: expected, count: 25).flatMap(\.self))
    }

    // MARK: The existing Jitsi receivers and their fault

    @Test(arguments: [[], ["--greedy"]])
    func `padding keeps an existing Jitsi receiver running`(options: [String]) async throws {
        let paths = try smallFiles(20)
        let peer = try place.start(
            Places.python,
            ["-B", Places.peer("receive_deployed"), place.socket, "--out", place.path("out")] + options
        )
        #expect(try await frames(at: peer, paths + ["--passthrough", "--loop", "5"]).count == 100)
        let sent = try paths.map { try Data.bytes(at: $0).padded }
        #expect(try place.contents(of: "out") == Array(repeating: sent, count: 5).flatMap(\.self))
    }

    @Test func `an existing Jitsi receiver freezes without padding`() async throws {
        let peer = try place.peer("receive_deployed", "--greedy")
        let arguments = try smallFiles(20) + ["--passthrough", "--loop", "5", "--no-padding"]
        let sender = try place.framesocket(["send", place.socket, "--wait", "60"] + arguments)
        await sender.ended(0)
        let ending = await peer.ended(65)
        #expect(try ending.events("error").map { $0.text("code") } == ["wedged"])
        #expect(try ending.events("frame").count < 100)
    }
}
