import Foundation
import FrameSocket
import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// The sound of a share, each from one process to another; docs/features.md names these tests too.
@Suite(.serialized) struct AudioFeatureTests {
    private let place = Workplace.new
    private let photo = Places.fixture("photos/chelsea-451x300.png")

    @Test(
        arguments: [
            ("", "$D/sound.wav", nil), ("cat $D/sound.wav |", "-", 0),
            ("mkfifo $D/p; cat $D/sound.wav >$D/p &", "$D/p", .max),
        ] as [(String, String, UInt32?)]
    )
    func `audio reaches a receiver that asks for it, sample by sample`(before: String, source: String, size: UInt32?)
        async throws
    {
        let samples = (0..<13_230).map { Int16(truncatingIfNeeded: $0 &* 7919) }
        _ = try place.file("sound.wav", wave([format(), data(samples, size: size)]))
        let receiver = try await place.receiver(["--audio", place.path("received.wav")])
        let sender = try place.shell("\(before) $F send $S \(photo) --audio \(source) --loop 20 --fps 10")
        await sender.ended(0)
        let received = await receiver.ended(by: .terminate)
        let sound = try Data.bytes(at: place.path("received.wav"))
        #expect(sound == wave([format(), data(samples)]), "\(sound.count) bytes; \(received)")
    }

    @Test func `a number of frames ends audio too, although the pipe that it comes from stays open`() async throws {
        _ = try place.file("sound.wav", wave([format(rate: 8_000), data([Int16](repeating: 1, count: 8_000 * 60))]))
        _ = try await place.receiver(["--audio", place.path("received.wav")])
        let sender = try place.shell(
            """
            mkfifo $D/hold; { cat $D/sound.wav; cat $D/hold; } |
            { $F send $S $X/jpeg/chelsea-420.jpg --loop 0 --fps 20 --audio - --stop-after 5; echo "status $?" >&2; }
            """
        )
        try await sender.told("status 0")
    }

    @Test func `a sentence says that the receiver wants no audio`() async throws {
        let wav = try place.file("sound.wav", wave([format(), data([Int16](repeating: 1, count: 100))]))
        for options in [[], ["--hello"]] {
            let (_, sent) = try await place.take(["receive", place.socket, "--json"] + options) {
                try await place.send(photo, "--audio", wav)
            }
            #expect(sent.status == 0 && sent.errors.contains("the receiver asked for no audio"), "\(sent)")
        }
    }

    /// A receiver may take a frame before it says what it wants.
    @Test func `a hello behind the only frame still brings the audio`() async throws {
        let wav = try place.file("sound.wav", wave([format(), data([Int16](repeating: 1, count: 100))]))
        let server = try PeerSocket.listening(at: place.socket)
        let sender = try place.framesocket(["send", place.socket, photo, "--audio", wav])
        let socket = try await server.accepted()
        #expect(try await socket.nextMessage(where: \.isFrame) != nil)
        try await socket.write(ControlRequest.hello(ControlRequest.Hello(wants: [.frames, .audio])).encoded())
        var hasAudio = false
        while let message = try await socket.nextMessage() {
            hasAudio = hasAudio || message.field("Message-Type") == "audio"
        }
        #expect(hasAudio)
        await sender.ended(0)
    }

    @Test func `a receiver that leaves before the audio ends is a failure`() async throws {
        let wav = try place.file(
            "sound.wav",
            wave([format(rate: 8_000), data([Int16](repeating: 1, count: 8_000 * 60))])
        )
        let receiver = try await place.receiver(["--audio", place.path("received.wav"), "--count", "2"])
        let ending = try await place.send(photo, photo, "--audio", wav)
        // Which of the two it finds first depends on what the receiver had read when it left.
        let causes = ["before all of the audio was sent", "before it had read everything"]
        #expect(ending.status == 69 && causes.contains { ending.errors.contains($0) }, "\(ending)")
        await receiver.ended(0)
    }

    @Test func `a foreign host receives the audio it asked for`() async throws {
        let host = try await place.host("8:stop", audio: true)
        let wav = try place.file("sound.wav", wave([format(), data([Int16](repeating: 1, count: 8192))]))
        let sender = try place.framesocket(["send", place.socket, photo, "--audio", wav, "--loop", "0", "--fps", "20"])
        let told = await host.ended(0)
        let sounds = try told.events("audio")
        #expect(sounds.first?["rate"] == 44_100 && sounds.first?["channels"] == 1)
        #expect(sounds.allSatisfy { $0.text("kind") == "app" })
        await sender.ended(0)
    }
}
