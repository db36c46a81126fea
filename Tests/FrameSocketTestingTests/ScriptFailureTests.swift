import FrameSocketTesting
import TestDescriptions
import Testing

/// Scripts that cannot be carried out: each ends with an error that names the step.
@Suite(.timeLimit(.minutes(5))) struct ScriptFailureTests {
    let place: Place

    init() throws {
        place = try Place()
    }

    private func failure(
        of peer: ScriptedPeer,
        within limit: Duration = .seconds(60)
    ) async -> PeerError? {
        await #expect(throws: PeerError.self) { try await peer.run(within: limit) }
    }

    @Test(arguments: [
        ScriptedPeer.Step.accept, .write([1]), .flood([1]), .read(1), .readToEnd, .expectFrame, .waitForEnd, .reset,
        .finishWriting,
    ])
    func `a step without a connection is an error`(step: ScriptedPeer.Step) async throws {
        let error = await failure(of: ScriptedPeer(step))
        #expect(error?.code == .misuse)
        #expect(error?.message.hasPrefix("step 1 (\(step)): the script ") == true)
    }

    @Test(arguments: ["", "/tmp/" + String(repeating: "x", count: 200), "/tmp/a\0b"].map { Short($0) })
    func `a path that no socket can have is an error`(_ argument: Short) async throws {
        let path = argument.text
        #expect(await failure(of: ScriptedPeer(.listen(at: path)))?.code == .invalidPath)
        #expect(await failure(of: ScriptedPeer(.connect(to: path)))?.code == .invalidPath)
    }

    @Test func `a path that is in use is a system error`() async throws {
        let holder = try PeerSocket.listening(at: place.socket)
        let error = await failure(of: ScriptedPeer(.listen(at: place.socket)))
        #expect(error?.code == .system && error?.description.contains("Address already in use") == true)
        withExtendedLifetime(holder) {}
    }

    /// A step that waits, behind a connection to a program that does nothing.
    private static let waits: [ScriptedPeer.Step] = [
        .wait(for: Cue("never")), .read(1), .readToEnd, .expectFrame, .waitForEnd, .accept, .pause(for: .seconds(600)),
        .write([UInt8](repeating: 0, count: 10_000_000)), .flood([1]), .write([1, 2], chunk: 1, every: .seconds(600)),
        .connect(to: "/tmp/there-is-no-such-socket"), .pause(for: .seconds(Int64.max)),
        .write([1, 2], chunk: 1, every: .seconds(Int64.max)),
    ]

    @Test(arguments: waits)
    func `a script that waits too long ends and names the step`(step: ScriptedPeer.Step) async throws {
        let program = try PeerSocket.listening(at: place.socket)
        let peer = ScriptedPeer(
            .listen(at: place.path + "/other"),
            .connect(to: place.socket),
            step
        )
        let error = await failure(of: peer, within: .milliseconds(100))
        #expect(error?.code == .timedOut)
        #expect(error?.message.hasPrefix("step 3 (\(step))") == true, "\(error?.message ?? "")")
        withExtendedLifetime(program) {}
    }

    @Test(arguments: waits)
    func `a script ends when its task is cancelled`(step: ScriptedPeer.Step) async throws {
        let program = try PeerSocket.listening(at: place.socket)
        let isThere = Cue()
        let peer = ScriptedPeer(
            .listen(at: place.path + "/other"),
            .connect(to: place.socket),
            .give(isThere),
            step
        )
        let running = Task { try await peer.run(within: .seconds(600)) }
        try await isThere.wait()
        running.cancel()
        let error = await #expect(throws: PeerError.self) { try await running.value }
        #expect(error?.code == .cancelled)
        withExtendedLifetime(program) {}
    }

    @Test func `a script of a task that was cancelled before does nothing`() async throws {
        let program = try PeerSocket.listening(at: place.socket)
        let peer = ScriptedPeer(.connect(to: place.socket), .close)
        let running = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await peer.run()
        }
        let error = await #expect(throws: PeerError.self) { try await running.value }
        #expect(error?.code == .cancelled)
        withExtendedLifetime(program) {}
    }

    @Test func `an unexpected message is an error that shows it`() async throws {
        let listener = try PeerSocket.listening(at: place.socket)
        let peer = ScriptedPeer(.connect(to: place.socket), .expectRequest("pause"))
        async let error = failure(of: peer)
        let program = try await listener.accepted()
        try await program.write(PeerMessage.request("resume").bytes)
        #expect(await error?.code == .unexpected)
        #expect(await error?.message.contains("POST /resume HTTP/1.1") == true)
    }

    /// What a program may write that is no message, or not all of one.
    @Test(
        arguments: [
            ("HTTP/1.1 200 OK\r\n", PeerError.Code.ended),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", .ended),
            ("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", .malformed),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", .malformed),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", .malformed),
            (String(repeating: "x", count: 100_000), .malformed),
            ("", .ended),
        ].map { (Short($0), $1) }
    )
    func `a program that writes no message is detected`(_ argument: Short, code: PeerError.Code) async throws {
        let listener = try PeerSocket.listening(at: place.socket)
        let peer = ScriptedPeer(.connect(to: place.socket), .expectFrame)
        async let error = failure(of: peer)
        let program = try await listener.accepted()
        // It may be cut off when the peer has seen enough.
        try? await program.write(Array(argument.text.utf8))
        program.close()
        #expect(await error?.code == code)
    }
}
