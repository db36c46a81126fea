import FrameSocket
import FrameSocketTesting
import Testing

/// Senders that misbehave, and the library's server.
@Suite(.timeLimit(.minutes(5))) struct ScriptedSenderTests {
    let place: Place
    let server: FrameServer

    init() throws {
        place = try Place()
        server = try FrameServer(at: place.socket)
    }

    private static let frame = PeerMessage.frame([UInt8](repeating: 9, count: 500), width: 562, height: 1218)

    /// Runs a script, and returns how many frames came, and why the connection ended.
    private func run(_ steps: [ScriptedPeer.Step]) async throws -> (frames: Int, reason: CloseReason) {
        let sender = ScriptedPeer([.connect(to: place.socket)] + steps)
        async let transcript = sender.run()
        for try await connection in server.connections {
            var count = 0
            do throws(TransportError) {
                for try await frame in connection.frames where frame.jpeg?.count == 500 { count += 1 }
            } catch {
                // The connection's reason tells.
            }
            _ = try await transcript
            return (count, try await connection.closed())
        }
        throw CancellationError()
    }

    /// A way to end after two whole frames.
    struct Ending: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [ScriptedPeer.Step]
        /// What is wrong at the receiver, or nil for a clean end.
        let error: String?
    }

    private static let endings = [
        Ending(testDescription: "a close", steps: [.close], error: nil),
        Ending(testDescription: "the end of the script", steps: [], error: nil),
        Ending(testDescription: "a half-close", steps: [.finishWriting, .readToEnd], error: nil),
        Ending(
            testDescription: "a close within a header",
            steps: [.write(frame.bytesCutInHeader)],
            error: "head.truncated"
        ),
        Ending(
            testDescription: "a close within a body",
            steps: [.write(frame.bytesCutInBody), .close],
            error: "body.truncated"
        ),
        Ending(
            testDescription: "garbage",
            steps: [.write(Array("garbage".utf8)), .readToEnd],
            error: "startLine.malformed"
        ),
        Ending(
            testDescription: "a flood of garbage",
            steps: [.flood([UInt8](repeating: 1, count: 4096))],
            error: "startLine.malformed"
        ),
    ]

    @Test(arguments: endings, [1, 7, .max])
    func `two frames arrive however they are cut, followed by the sender's end`(
        ending: Ending,
        chunk: Int
    ) async throws {
        let (frames, reason) = try await run(
            [.write(Self.frame, chunk: chunk), .write(Self.frame, chunk: chunk)] + ending.steps
        )
        #expect(frames == 2)
        guard let error = ending.error else {
            return #expect(reason == .closedByPeer(.stoppedByUser))
        }
        #expect(reason.error?.wireError?.code.rawValue == error, "\(reason)")
    }

    @Test(arguments: RecordedStream.all)
    func `the server handles a recorded stream as described`(stream: RecordedStream) async throws {
        let sender = ScriptedPeer(.connect(to: place.socket), .write(stream), .finishWriting)
        async let transcript = sender.run()
        for try await connection in server.connections {
            var bodies: [[UInt8]] = []
            do throws(TransportError) {
                for try await frame in connection.frames { bodies.append(frame.jpeg?.array() ?? []) }
            } catch {
                #expect(stream.cut != nil && error.code == .malformedMessage)
            }
            #expect(bodies == stream.bodies)
            #expect((try await connection.closed().error == nil) == (stream.cut == nil))
            break
        }
        _ = try await transcript
    }

    @Test func `a stalling sender is ended by the limit, and sees the end without reading`() async throws {
        server.close()
        var configuration = FrameServer.Configuration()
        configuration.limits.bodyTimeout = .milliseconds(50)
        configuration.limits.minimumBodyBytesPerSecond = 1 << 40
        let patient = try FrameServer(at: place.path + "/limits", configuration: configuration)
        let sender = ScriptedPeer(
            .connect(to: place.path + "/limits"),
            .write(Self.frame.bytesCutInBody),
            .waitForEnd
        )
        _ = try await sender.run()
        withExtendedLifetime(patient) {}
    }

    @Test func `a sender reads the requests of the program`() async throws {
        let hasPaused = Cue("the request has come")
        let sender = ScriptedPeer(
            .connect(to: place.socket),
            .write(Self.frame),
            .expectRequest("hello"),
            .expectRequest("pause"),
            .give(hasPaused)
        )
        async let transcript = sender.run()
        for try await connection in server.connections {
            connection.send(.hello(ControlRequest.Hello(wants: .frames)))
            connection.send(.pause)
            try await hasPaused.wait()
            break
        }
        #expect(try await transcript.messages.map(\.requestName) == ["hello", "pause"])
    }
}
