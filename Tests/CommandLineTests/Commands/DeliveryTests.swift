import Foundation
import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// `framesocket send` and `replay` end with 0 only if a receiver has accepted every frame.
@Suite(.serialized) struct DeliveryTests {
    private let place = Workplace.new
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    /// What is sent: an image, or a recording of three frames.
    enum Source: String, CaseIterable, Sendable {
        case image, recording

        var frames: Int { self == .image ? 1 : 3 }
    }

    /// The arguments that send it to the socket.
    private func arguments(for source: Source) async throws -> [String] {
        if source == .image { return ["send", place.socket, jpeg] }
        let file = try place.file("source", await CommandTableTests.recording.value)
        return ["replay", file, place.socket, "--speed", "0"]
    }

    /// How a command ends that has ever more time for a server, until it has reached the one that is there.
    private func endingAtServer(_ command: (_ wait: String) throws -> Program) async throws -> Ending {
        for wait in ["0.3", "3"] {
            let ending = try await command(wait).ended()
            if !ending.errors.contains("no server was reached") { return ending }
        }
        return try await command("30").ended()
    }

    /// Takes all 64 places of a receiver.
    private func takeAllPlaces() async throws -> [PeerSocket] {
        var peers: [PeerSocket] = []
        for _ in 0..<64 { peers.append(try await .connectedWhenListening(at: place.socket)) }
        // One more is turned away, as soon as all others have been accepted.
        let last = try await PeerSocket.connectedWhenListening(at: place.socket)
        #expect(try await last.readSome(upTo: 1).isEmpty)
        return peers
    }

    @Test(arguments: Source.allCases)
    func `a server without a free slot is a failure once --wait is over`(source: Source) async throws {
        let arguments = try await arguments(for: source)
        let receiver = try await place.receiver("--json")
        let peers = try await takeAllPlaces()
        let ending = try await endingAtServer { try place.framesocket(arguments + ["--wait", $0]) }
        #expect(ending.status == 69 && ending.errors.contains("no free slot"), "\(ending)")
        #expect(!receiver.hasPrinted(#""event":"frame""#))
        for peer in peers { peer.close() }
    }

    @Test(arguments: Source.allCases)
    func `a sender goes on to the next receiver when its own has gone, and says if something was not read`(
        source: Source
    ) async throws {
        let arguments = try await arguments(for: source) + ["--loop", "0", "--wait", "60", "--json", "--quiet"]
        let sender = try place.framesocket(arguments)
        let counts = try await [3, 5].asyncMap { count in
            let receiver = try await place.receiver("--count", "\(count)", "--json")
            let ending = await receiver.ended(0)
            try await sender.printed(#""code":"receiver.ended""#)
            return try ending.events("frame").count
        }
        #expect(counts == [3, 5])
        // What it stops after was sent.
        let last = try await place.receiver("--stop-after", "2", "--json")
        await last.ended(0)
        let ending = await sender.ended()
        let sent = try #require(try ending.events("sent").first?["frames"])
        #expect(sent >= 10 && [0, 69].contains(ending.status), "\(ending)")
        #expect((ending.status == 69) == ending.errors.contains("before it had read everything"), "\(ending)")
        #expect(!ending.errors.contains("waiting for another"), "\(ending)")
    }

    @Test func `an image that is offered to the next receiver, too, is counted once`() async throws {
        let server = try PeerSocket.listening(at: place.socket)
        let image = try place.file("large.jpg", largeJPEG(seed: 0))
        // More than the system's buffers take before the last receiver reads.
        let options = ["--passthrough", "--loop", "0", "--stop-after", "40", "--wait", "60", "--json"]
        let sender = try place.framesocket(["send", place.socket, image] + options)
        for _ in 0..<2 {
            let connection = try await server.accepted()
            _ = try await connection.nextMessage()
            // The next one is on its way.
            connection.close()
            try await sender.printed(#""code":"receiver.ended""#)
        }
        let connection = try await server.accepted()
        _ = try await connection.messages()
        let sent = try #require(try await sender.ended().events("sent").first)
        #expect(sent["offered"] == 40 && sent["frames"] == 40 && sent["dropped"] == 0, "\(sent)")
    }

    @Test(arguments: Source.allCases)
    func `a failure states the time that --wait gives, whenever the last attempt began`(source: Source) async throws {
        let arguments = try await arguments(for: source) + ["--wait", "1.5"]
        let server = try PeerSocket.listening(at: place.socket)
        let sender = try place.framesocket(arguments)
        // The first connection is turned away, and there is no server for another.
        try await server.accepted().close()
        server.close()
        let ending = await sender.ended()
        let words = "no server was reached within 1.5 seconds: nobody listens"
        #expect(ending.status == 69 && ending.errors.contains(words), "\(ending)")
    }

    @Test(arguments: Source.allCases)
    func `a server that has a free slot in time gets every frame`(source: Source) async throws {
        let arguments = try await arguments(for: source) + ["--wait", "60", "--json"]
        let busy = try PeerSocket.listening(at: place.socket, backlog: 64)
        let sender = try place.framesocket(arguments)
        for _ in 0..<3 {
            let connection = try await busy.accepted()
            // Once the system has taken a frame, which nobody reads.
            try #require(await becomesTrue { !connection.isQuiet })
            connection.close()
        }
        busy.close()
        let receiver = try await place.receiver("--json", "--count", "\(source.frames)")
        let ending = await sender.ended(0)
        let frames = try await receiver.ended().events("frame")
        #expect(frames.count == source.frames)
        // What nobody has read does not count.
        #expect(try ending.events.map(\.name) == ["sent"] && ending.events[0]["frames"] == frames.count)
    }

    @Test func `an image that was due is not kept for another interval when the next receiver is there`() async throws {
        let server = try PeerSocket.listening(at: place.socket)
        let sender = try place.framesocket(["send", place.socket, jpeg, "--loop", "0", "--fps", "0.1", "--wait", "60"])
        let busy = try await server.accepted()
        // Once the system has taken the first one, which nobody reads.
        try #require(await becomesTrue { !busy.isQuiet })
        busy.close()
        let connection = try await server.accepted()
        let start = ContinuousClock.now
        _ = try await connection.nextMessage()
        #expect(ContinuousClock.now - start < .seconds(5))
        await sender.ended(by: .interrupt)
    }

    @Test(arguments: Source.allCases)
    func `a receiver that has left something unread makes the command fail at its end`(source: Source) async throws {
        let arguments = try await arguments(for: source) + ["--loop", "0", "--wait", "60", "--json"]
        let server = try PeerSocket.listening(at: place.socket)
        let sender = try place.framesocket(arguments)
        let connection = try await server.accepted()
        // One frame of either source, and not to the end of the one behind it.
        _ = try await connection.read(50_000)
        connection.close()
        server.close()
        let receiver = try await place.receiver("--stop-after", "2", "--json")
        await receiver.ended(0)
        let ending = await sender.ended(69, "before it had read everything")
        #expect(try ending.events.map(\.name) == ["error", "sent", "failed"], "\(ending)")
    }

    /// A receiver waits ten seconds for a first frame; a camera that reports motion may take longer.
    @Test(arguments: Source.allCases)
    func `a first frame that comes after the server has gone goes over another connection`(
        source: Source
    ) async throws {
        let recorded = try await arguments(for: source)
        let (bytes, command) =
            switch source {
            case .image: (try Data.bytes(at: jpeg), ["send", place.socket, "-"])
            case .recording: (try Data.bytes(at: recorded[1]), ["replay", "-", place.socket])
            }
        let server = try PeerSocket.listening(at: place.socket)
        let input = try InputPipe()
        let options = ["--wait", "0.5", "--json", "--quiet"]
        let sender = try place.framesocket(command + options, input: .pipe(input))
        // A recording that is known to be one, without a frame.
        input.write(Array(bytes.prefix(16)))
        try await server.accepted().close()
        server.close()
        let receiver = try await place.receiver("--count", "\(source.frames)", "--json")
        // The time that the sender itself waits for a server is over by then.
        try await Task.sleep(for: .milliseconds(600))
        input.write(Array(bytes.dropFirst(16)))
        input.end()
        let ending = await sender.ended(0)
        #expect(try ending.events.map(\.name) == ["sent"])
        #expect(try await receiver.ended().events("frame").count == source.frames)
    }

    @Test func `a receiver that is killed midway is a failure`() async throws {
        let receiver = try await place.receiver("--json")
        let sender = try place.framesocket(["send", place.socket, jpeg, "--loop", "0", "--quiet"])
        _ = try await receiver.lines(5)
        receiver.kill()
        let ending = await sender.ended()
        #expect(ending.status == 69 && ending.errors.contains(place.socket), "\(ending)")
    }

    @Test(arguments: Source.allCases)
    func `a receiver that gives the place to another sender is a failure`(source: Source) async throws {
        let arguments = try await arguments(for: source) + ["--wait", "60", "--loop", "0", "--json"]
        let host = try await place.host("2:stop=10007")
        let ending = try await place.framesocket(arguments).ended(69, "another sender")
        #expect(try ending.events.map(\.name) == ["sent", "failed"])
        // In an order that both sides know, all the same.
        let told = await host.ended(0)
        #expect(told.text.contains(#""reason": "10007""#), "\(told)")
    }

    #if os(Linux)
        @Test(.needs("setpriv"), .enabled(if: geteuid() == 0, "only root can become another user"))
        func `a server that does not admit this user is a failure`() async throws {
            let receiver = try await place.receiver("--json")
            for (path, mode) in [(place.directory, 0o755), (place.socket, 0o666)] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            }
            for (name, path) in [("program", Places.framesocket), ("image", jpeg)] {
                try FileManager.default.copyItem(atPath: path, toPath: place.path(name))
            }
            let ending = try await endingAtServer { wait in
                try place.shell(
                    "setpriv --reuid 65534 --regid 65534 --clear-groups $D/program send $S $D/image --wait \(wait)"
                )
            }
            #expect(ending.status == 69 && ending.errors.contains("does not admit this user"), "\(ending)")
            #expect(!receiver.hasPrinted(#""event":"connected""#))
        }
    #endif

    @Test(arguments: Source.allCases)
    func `a server that stops reading is a time-out, whose message names the path once`(source: Source) async throws {
        let arguments = try await arguments(for: source) + ["--wait", "60"]
        // More than a socket holds, for as long as it takes.
        let loop = source == .image ? ["--loop", "0"] : ["--loop", "100000"]
        let server = try PeerSocket.listening(at: place.socket)
        // It waits a second, not ten.
        let sender = try place.framesocket(arguments + loop, timeScale: 0.1)
        let connection = try await server.accepted()
        // It has read enough to be a server that reads.
        _ = try await connection.read(30_000)
        let ending = await sender.ended(75)
        let message = try #require(ending.errors.split(separator: "\n").last)
        #expect(message.components(separatedBy: place.socket).count == 2, "\(ending)")
        withExtendedLifetime((server, connection)) {}
    }

    @Test
    func `a recording is replayed to its end for a receiver that wants no frames, and frames follow once it does`()
        async throws
    {
        _ = try await arguments(for: .recording)
        let server = try PeerSocket.listening(at: place.socket)
        let replay = try place.framesocket(
            ["replay", place.path("source"), place.socket, "--speed", "0", "--loop", "0", "--json"]
        )
        let connection = try await server.accepted()
        func hello(_ wantsFrames: Bool) -> [UInt8] {
            PeerMessage.request(
                "hello",
                [("Control-Version", "1"), ("Wants-Pictures", wantsFrames ? "1" : "0"), ("Wants-Audio", "0")]
            ).bytes
        }
        try await connection.write(hello(false))
        #expect(try await connection.nextMessage { $0.field("Message-Type") == "status" } != nil)
        // Nothing comes between the answers to two pings, and the replay does not end.
        for number in 1...2 {
            let ping = PeerMessage.request("ping", [("Ping-Number", "\(number)")])
            try await connection.write(ping.bytes)
            #expect(try await connection.messages(until: { $0.pong == UInt64(number) }).isEmpty)
        }
        try await connection.write(hello(true))
        #expect(try await connection.nextMessage(where: \.isFrame) != nil)
        await replay.ended(by: .interrupt, 130)
        connection.close()
    }
}
