import Foundation
import FrameSocket
import FrameTransport
import FrameWire
import TestDescriptions
import Testing

/// What screen-share kits offer, each from one process to another.
///
/// docs/features.md names these tests.
@Suite(.serialized) struct FeatureTests {
    private let place = Workplace.new
    private let screen = Places.fixture("screens/phone-scroll/000.png")
    private let photo = Places.fixture("photos/chelsea-451x300.png")

    // MARK: Control channel

    @Test func `a foreign host pauses, resumes, pings and stops`() async throws {
        let host = try await place.host("2:pause", "2:resume", "4:ping=77", "5:unknown", "6:stop=10006")
        let sender = try place.framesocket(["send", place.socket, photo, "--loop", "0", "--fps", "50", "--json"])
        let told = await host.ended(0)
        let events = try told.events
        #expect(try told.events("error") == [])
        #expect(try told.events("quiet").count == 1)
        let states = events.filter { $0.name == "status" }
        #expect(states.first?.text("state") == "live")
        #expect(states.contains { $0.text("state") == "paused" && $0.text("pong") == "4711" })
        #expect(states.contains { $0.text("state") == "live" && $0.text("pong") == "77" })
        #expect(states.last?.text("state") == "stopped" && states.last?.text("reason") == "10006")
        // Asked to stop, a sender ends well.
        await sender.ended(0)
    }

    /// Shows P46.
    @Test func `a host prefers a size, a rate and a quality, and asks for a frame`() async throws {
        let host = try await place.host("1:prefer-size=300x300", "6:prefer-rate=5000", "7:refresh", "10:stop")
        let sender = try place.framesocket(["send", place.socket, screen, "--loop", "0", "--fps", "20", "--json"])
        let told = await host.ended(0)
        let frames = try told.events("frame")
        #expect(frames.first?["width"] == 1125)
        #expect(frames.contains { $0["width"] == 138 && $0["height"] == 300 })
        // What a later request leaves out goes back to the sender's own choice.
        #expect(frames.last?["width"] == 1125)
        let ending = await sender.ended(0)
        let summary = try #require(try ending.events("sent").first)
        #expect(try #require(summary["dropped"]) > 0)
    }

    // MARK: Values

    /// Shows P326, P329.
    @Test func `both sides learn what the other one states, before the frames, and no counter shows it`() async throws {
        let metrics = place.path("metrics")
        let receiver = try await place.receiver("--json", "--info", "role=viewer", "--metrics", metrics)
        let sender = try place.framesocket([
            "send", place.socket, photo, "--loop", "0", "--fps", "40", "--rate", "50", "--json",
            "--info", "channelName=lobby", "--info", "user=Ana Ü = \"1\"", "--info=empty=",
        ])
        // Of a sender that paces, no number of frames has to come; the values have to, and a frame behind them.
        try await sender.printed(#""event":"info""#)
        try await receiver.printed(#""event":"info""#)
        try await receiver.lines(receiver.lines(1).count + 1)
        let sent = await sender.ended(by: .interrupt, 130)
        try await receiver.printed(#""event":"closed""#)
        let told = await receiver.ended(by: .interrupt, 130)
        let events = try told.events
        let infos = try told.events("info")
        let values = ["channelName": "lobby", "user": "Ana Ü = \"1\"", "empty": ""]
        let info = try #require(infos.first, "\(told)")
        #expect(infos.count == 1 && info.texts("values") == values && info["audio"] == 0, "\(told)")
        #expect(info["framesPerSecond"] == 50 && info["width"] == 451 && info["height"] == 300)
        // The frames that arrive from then on have that size.
        let frames = events.drop { $0.name != "info" }.filter { $0.name == "frame" }
        #expect(!frames.isEmpty && frames.allSatisfy { $0["width"] == 451 })
        #expect(try sent.events("info").map { $0.texts("values") } == [["role": "viewer"]])
        #expect(try !String(contentsOfFile: metrics, encoding: .utf8).contains("lobby"))
    }

    @Test func `a receiver that only says hello learns the values, and a plain one learns nothing`() async throws {
        for (options, isTold) in [(["--hello"], true), ([], false)] {
            let receiver = try await place.receiver(["--count", "20"] + options)
            let sent = try await place.send(photo, "--loop", "20", "--fps", "40", "--json", "--info", "a=b\u{1B}[2J")
            let told = await receiver.ended()
            #expect(told.status == 0 && sent.status == 0)
            #expect(try sent.events("info") == [])
            // A terminal obeys nothing of it.
            #expect(told.errors.contains(#"sender 1 states a="b\u001b[2J""#) == isTold, "\(told)")
        }
    }

    // MARK: Versions

    @Test func `a receiver that does not accept the sender's version is a failure that says which to update`()
        async throws
    {
        let host = try await place.host("2:stop=10004")
        let sent = try await place.send(photo, "--loop", "0", "--json").checked(
            69,
            ["version 1 of the control channel"]
        )
        #expect(sent.errors.contains("update the sender"), "\(sent)")
        await host.ended(0)
    }

    // MARK: Finish reasons

    @Test func `an orderly stop by the host is not a failure on either side, and has its code`() async throws {
        let receiver = try await place.receiver(["--json", "--stop-after", "3"])
        let sender = try place.framesocket(["send", place.socket, photo, "--loop", "0"])
        let ending = await receiver.ended(0)
        let closed = try #require(try ending.events("closed").first)
        #expect(closed.text("reason") == "closedLocally")
        #expect(closed.text("finish") == "requestedByHost" && closed["finishCode"] == 10_002)
        await sender.ended(0)
    }

    // MARK: Handshake

    @Test func `tokens in files open a path and a port, and a wrong token opens neither`() async throws {
        let token = try place.secret("token", Array("a secret of both\n".utf8))
        let wrong = try place.secret("wrong", Array("another secret!!\n".utf8))
        for endpoint in [place.socket, "tcp:0"] {
            let receiver = try place.framesocket([
                "receive", endpoint, "--token-file", token, "--json", "--count", "2",
            ])
            let listening = try Event(try #require(try await receiver.lines(1).first))
            let path = try #require(listening.text("path"))
            let address = endpoint == "tcp:0" ? "tcp:" + path.split(separator: ":")[1] : path
            let intruder = try place.framesocket(["send", address, photo, "--token-file", wrong, "--wait", "0.5"])
            await intruder.ended(69)
            let sender = try place.framesocket(["send", address, photo, "--loop", "2", "--token-file", token])
            await sender.ended(0)
            let ending = await receiver.ended(0)
            #expect(try ending.events("connected").count == 1)
            #expect(try ending.events("frame").count == 2)
        }
    }

    @Test func `one attempt has the time that a port and tokens take, and says what is wrong without a server`()
        async throws
    {
        let token = try place.secret("token", Array("a secret of both\n".utf8))
        for endpoint in [place.socket, "tcp:0"] {
            let receiver = try place.framesocket([
                "receive", endpoint, "--token-file", token, "--json", "--count", "1",
            ])
            let listening = try Event(try #require(try await receiver.lines(1).first))
            let path = try #require(listening.text("path"))
            let address = endpoint == "tcp:0" ? "tcp:" + path.split(separator: ":")[1] : path
            let arguments = ["send", address, photo, "--token-file", token, "--wait", "0"]
            try await place.framesocket(arguments).ended(0)
            await receiver.ended(0)
            try await place.framesocket(arguments).ended(69, "no server was reached: ")
        }
    }

    // MARK: Pacing

    @Test(arguments: [
        // Eleven, on a machine that keeps up: half the rate would be six, and no rate forty-one. If the source falls silent, the last
        // frame before that is sent too, and one that is due while the program waits for a turn may give way to the next.
        (["--fps", "120", "--rate", "30", "--loop", "41"], 8...20),
        // The last frame goes too.
        (["--every", "3", "--loop", "30"], 11...15),
        (["--fps", "100", "--skip-unchanged", "--loop", "30"], 1...1),
    ])
    func `frames that are not due stay with the sender`(options: [String], expected: ClosedRange<Int>) async throws {
        let receiver = try await place.receiver(["--json"])
        let sender = try place.framesocket(["send", place.socket, photo, "--json"] + options)
        let summary = try #require(try (await sender.ended()).events("sent").first)
        let sent = try #require(summary["frames"])
        #expect(expected.contains(sent), "\(sent) frames were sent")
        #expect(summary["offered"].map { $0 - sent } == summary["dropped"])
        receiver.send(.terminate)
        #expect(try (await receiver.ended()).events("frame").count == sent)
    }

    // MARK: Output size and orientation

    @Test(arguments: [
        (["--scale", "1/2"], 562, 1218), (["--fit", "640x640"], 296, 640), (["--width", "720"], 720, 1560),
        (["--agora"], 296, 640), (["--letterbox", "360x640"], 360, 640), (["--fill", "360x640"], 360, 640),
        (["--preset", "720p"], 592, 1280), (["--preset=360p-landscape"], 166, 360),
        (["--preset", "540p-portrait"], 444, 960), (["--preset", "2160p"], 1124, 2436),
        (["--rotate", "--orientation", "8"], 2436, 1125),
        (["--preset", "720p-landscape", "--rotate", "--orientation", "8"], 1280, 592),
    ])
    func `the size that is sent follows the option`(options: [String], width: Int, height: Int) async throws {
        let receiver = try await place.receiver(["--json", "--decode", "--count", "1"])
        let sender = try place.framesocket(["send", place.socket, screen] + options)
        let frame = try #require(try (await receiver.ended()).events("frame").first)
        #expect(frame["width"] == width && frame["height"] == height)
        #expect(frame["jpegWidth"] == width && frame["jpegHeight"] == height)
        #expect(frame["orientation"] == 1)
        await sender.ended(0)
    }

    // MARK: Time

    @Test func `presentation times and sequence numbers are preserved from capture to consumer`() async throws {
        let receiver = try await place.receiver("--json", "--count", "10")
        try await place.send(photo, "--loop", "10", "--fps", "50").checked(0)
        let frames = try await receiver.ended().events("frame")
        #expect(frames.map { $0["sequence"] } == Array(0..<10))
        let times = frames.compactMap { $0["timestamp"] }
        // A stall of this machine makes a step longer, and none shorter.
        #expect(times.count == 10 && zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 20_000_000 })
    }

    // MARK: Memory

    #if os(Linux)
        @Test(
            .leftOut(of: .address, .thread, because: "the sanitizer uses memory of its own"),
            arguments: [[], ["--rotate", "--orientation", "8"]]
        )
        func `a sender of rotated screens uses less than 40 MB of its own`(options: [String]) async throws {
            let receiver = try await place.receiver(["--json"])
            let screens = [Places.fixture("screens/desktop-typing"), Places.fixture("screens/phone-scroll")]
            let sender = try place.framesocket(
                ["send", place.socket] + screens + ["--loop", "0", "--fps", "20"] + options
            )
            // Twice through both sizes, so that each change has happened.
            try await receiver.lines(2 + 23)
            // With the program's file these are the 50 MB that a broadcast extension may have.
            #expect(try sender.peakMemory() < 40_000_000)
            await sender.ended(by: .interrupt, 130)
        }
    #endif
}
