import Foundation
import FrameSocketTesting
import TestDescriptions
import Testing

/// What `framesocket send` sends of image files, and what it writes to the wire.
@Suite(.serialized) struct SendFileTests {
    private let place = Workplace.new
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    /// The events of the frames that arrive, whose bodies are in `out`.
    private func frames(_ count: Int, _ arguments: String...) async throws -> [Event] {
        let receiver = try place.framesocket([
            "receive", place.socket, "--count", "\(count)", "--decode", "--json", "--output", place.path("out"),
            "--overwrite",
        ])
        let sending = try place.framesocket(["send", place.socket, "--wait", "30"] + arguments)
        await sending.ended(0)
        let frames = try await receiver.ended().events("frame")
        try #require(frames.count == count)
        return frames
    }

    /// The bytes that a program which only listens reads.
    private func bytes(_ arguments: String...) async throws -> [UInt8] {
        let listener = try place.start(Places.tool("socat"), ["-u", "UNIX-LISTEN:\(place.socket)", "STDOUT"])
        try await place.framesocket(["send", place.socket, "--wait", "30"] + arguments).ended(0)
        return await listener.ended().output
    }

    // MARK: Files

    @Test func `a directory is sent in the order of its numbers, without what is named like no image`() async throws {
        let names = ["f10.jpg", "f9.JPG", "f11.jpeg", "note.txt", "f12.jpg.part"]
        try FileManager.default.createDirectory(atPath: place.path("images"), withIntermediateDirectories: false)
        for name in names { try FileManager.default.copyItem(atPath: jpeg, toPath: place.path("images/\(name)")) }
        let other = Places.fixture("jpeg/chelsea-444.jpg")
        try FileManager.default.removeItem(atPath: place.path("images/f10.jpg"))
        try FileManager.default.copyItem(atPath: other, toPath: place.path("images/f10.jpg"))
        _ = try await frames(4, place.path("images"), other, "--passthrough")
        let (first, second) = (try Data.bytes(at: jpeg), try Data.bytes(at: other))
        #expect(try place.contents(of: "out") == [first, second, first, second])
    }

    // MARK: Images

    @Test func `the orientation is sent, and the image is left as it is`() async throws {
        for orientation in 0...8 {
            let frame = try await frames(1, jpeg, "--passthrough", "--orientation", "\(orientation)")[0]
            #expect(frame["orientation"] == orientation)
            #expect(frame["rotation"] == [8: 90, 3: 180, 6: 270][orientation, default: 0])
            #expect(try Data.bytes(at: place.path("out/frame-000000.jpg")) == Data.bytes(at: jpeg))
        }
    }

    // MARK: The wire

    @Test func `plain messages equal those of existing Jitsi senders byte for byte`() async throws {
        let file = try Data.bytes(at: jpeg)
        let sent = try await bytes(jpeg, "--plain", "--passthrough", "--loop", "3", "--orientation", "6")
        let expected = message(file, orientation: 6)
        #expect(sent == expected + expected + expected)
    }

    // MARK: Cost

    #if os(Linux)
        @Test(.leftOut(of: .address, .thread, because: "the sanitizer waits for locks of its own"))
        func `a frame that is sent at a rate wakes few threads`() async throws {
            let receiver = try await place.receiver("--json")
            let sender = try place.framesocket([
                "send", place.socket, jpeg, "--passthrough", "--fps", "200", "--loop", "0", "--quiet",
            ])
            // Once everything has been started.
            let first = try await receiver.lines(50).count
            let sleeps = try sender.sleeps()
            let last = try await receiver.lines(first + 200).count
            let perFrame = Double(try sender.sleeps() - sleeps) / Double(last - first)
            #expect(perFrame < 5, "\(perFrame) for each frame")
        }
    #endif

    // MARK: Telling

    @Test func `what was sent is reported as an object, or to a person`() async throws {
        let receiver = try await place.receiver("--count", "4", "--output", place.path("out"))
        let ending = try await place.send(jpeg, "--loop", "4", "--passthrough", "--json")
        await receiver.ended(0)
        let bytes = 4 * (try Data.bytes(at: jpeg).count)
        let summary = try #require(try ending.events.first)
        #expect(
            summary.values == ["event": "sent", "offered": 4, "frames": 4, "bytes": bytes, "dropped": 0]
        )
        #expect(ending.lines.count == 1 && ending.errors.contains("sent 4 frames of 4"))
    }
}
