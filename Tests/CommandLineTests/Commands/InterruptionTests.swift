import Foundation
import FrameSocketTesting
import TestSupport
import Testing

/// Ctrl-C and the polite form of kill.
@Suite(.serialized) struct InterruptionTests {
    private let place = Workplace.new
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    @Test(arguments: Program.Signal.allCases)
    func `an interrupted receiver leaves nothing behind and reports what arrived`(signal: Program.Signal) async throws {
        let receiver = try await place.receiver("--json")
        let sender = try place.peer("send_deployed", jpeg, jpeg, jpeg)
        await sender.ended(0)
        try await receiver.lines(6)
        #expect(try place.names() == ["s", "s.lock"])
        let ending = await receiver.ended(by: signal, 130)
        #expect(ending.errors.contains("3 frames from 1 sender"))
        #expect(try ending.events.map(\.name).suffix(2) == ["frame", "closed"])
        #expect(try place.names() == [])
    }

    @Test func `an interrupted receiver ends its connections in an orderly way`() async throws {
        let receiver = try await place.receiver("--json")
        let sender = try place.framesocket(["send", place.socket, jpeg, "--loop", "0", "--json", "--wait", "0"])
        try await receiver.lines(5)
        await receiver.ended(by: .interrupt, 130)
        let ending = await sender.ended()
        // There were frames left.
        #expect(ending.status == 69 && ending.errors.contains("the receiver ended the connection"), "\(ending)")
        #expect(try ending.events.map(\.name) == ["error", "sent", "failed"])
        #expect(try ending.events[1]["frames"] ?? 0 >= 3)
    }

    // The end of its own connection must not be taken for the receiver's, which is a race.
    @Test(arguments: Program.Signal.allCases, 0..<5)
    func `an interrupted sender ends between frames and reports what it sent`(
        signal: Program.Signal,
        attempt: Int
    ) async throws {
        let receiver = try await place.receiver("--json")
        let sender = try place.framesocket(["send", place.socket, jpeg, "--loop", "0", "--json"])
        try await receiver.lines(5)
        let ending = await sender.ended(by: signal, 130)
        #expect(try ending.events.map(\.name) == ["sent"])
        let sent = try #require(try ending.events.last?["frames"])
        #expect(sent >= 3)
        #expect(ending.errors.contains("sent "))
        try await receiver.lines(sent + 3)
        let received = await receiver.ended(by: .interrupt)
        #expect(try received.events("frame").count == sent)
        #expect(try received.events("error") == [])
    }

    @Test(arguments: Program.Signal.allCases)
    func `a waiting sender can be interrupted`(signal: Program.Signal) async throws {
        let receiver = try await place.receiver("--json")
        let sender = try place.framesocket(["send", place.socket, "-"], input: .silence)
        try await receiver.lines(2)
        await sender.ended(by: signal, 130)
        try await receiver.lines(3)
    }

    @Test(arguments: ["--audio", "--token-file"], Program.Signal.allCases)
    func `a sender whose file is a pipe without a writer reports that it sent nothing`(
        option: String,
        signal: Program.Signal
    ) async throws {
        let pipe = place.path("pipe")
        try #require(unsafe mkfifo(pipe, 0o600) == 0)
        let sender = try place.framesocket(["send", place.socket, jpeg, "--json", option, pipe])
        // It can be opened for writing once the sender opens it for reading, which then fails.
        var writer: Int32 = -1
        try #require(
            await becomesTrue {
                writer = unsafe open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
                return writer >= 0
            }
        )
        let ending = await sender.ended(by: signal, 130)
        close(writer)
        #expect(try ending.events.map(\.name) == ["sent"] && ending.events.first?["frames"] == 0)
    }

    /// What a sender waits for: a server, one that has a place, one that reads, and room in the socket.
    enum Missing: CaseIterable {
        case server, place, reader, room
    }

    @Test(arguments: ["send", "replay"], Missing.allCases)
    func `a sender can be interrupted whatever it waits for`(command: String, missing: Missing) async throws {
        let file = command == "send" ? jpeg : try place.file("r", await CommandTableTests.recording.value)
        var options = command == "send" ? [] : ["--speed", "0"]
        if missing == .room { options += ["--loop", "0"] }
        let server = try PeerSocket.listening(at: place.socket, backlog: 64)
        let sender = try place.framesocket([command, place.socket, file, "--json", "--wait", "600"] + options)
        let connection = try await server.accepted()
        switch missing {
        case .server:
            connection.close()
            server.close()
        case .place:
            connection.close()
            for _ in 0..<2 { try await server.accepted().close() }
        case .reader: break
        case .room: _ = try await connection.read(30_000)
        }
        let ending = await sender.ended(by: .interrupt, 130)
        #expect(try ending.events.map(\.name) == ["sent"], "\(ending)")
        withExtendedLifetime((server, connection)) {}
    }

    @Test(arguments: 0..<20)
    func `a receiver can be interrupted as soon as it listens`(attempt: Int) async throws {
        let receiver = try await place.receiver("--json")
        await receiver.ended(by: .interrupt, 130)
        #expect(try place.names() == [])
    }
}
