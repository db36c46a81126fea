import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// Anything may follow a token at once, and either side may leave at each step of a handshake.
@Suite(.timeLimit(.minutes(5))) struct HandshakeStepTests {
    let directory: TemporaryDirectory
    let tokens = HandshakeTokens(own: Array("the sender's".utf8), expected: Array("the host's".utf8))

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var hello: [UInt8] { ControlRequest.hello(ControlRequest.Hello(wants: [.frames, .audio])).encoded() }
    /// The same as a server of this package writes it.
    private var serversHello: [UInt8] {
        ControlRequest.hello(ControlRequest.Hello(wants: [.frames, .audio], wantsInfo: true)).encoded()
    }

    /// A sender, and a plain host that has read its token and not shown its own.
    private func handshaking(
        _ change: (inout SocketConnection.Configuration) -> Void = { _ in }
    ) async throws -> (sender: SocketConnection, listener: PeerSocket, host: PeerSocket) {
        let listener = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection {
            $0.tokens = tokens
            change(&$0)
        }
        sender.open()
        let host = try await listener.accepted()
        #expect(try await host.read(tokens.own.count) == tokens.own)
        return (sender, listener, host)
    }

    // MARK: Everything in one write

    /// Shows P15.
    @Test(arguments: [1, 5, .max])
    func `requests after a host's token are read, however they are cut`(chunk: Int) async throws {
        let (sender, listener, host) = try await handshaking()
        try await host.write(tokens.expected + hello + ControlRequest.ping(42).encoded(), chunk: chunk)
        let answers = try await soon { try await host.nextMessage { $0.pong == 42 } }
        #expect(answers??.state == "live", "the host that said hello gets no answer")
        #expect(sender.receiver.hello == ControlRequest.Hello(wants: [.frames, .audio]))
        let audio = AudioBlock(kind: .app, sampleRate: 44_100, channels: 1, samples: FrameBytes([1, 2, 3, 4]))
        #expect(try sender.send(audio))
        #expect(try await soon { try await host.nextMessage() }??.body == [1, 2, 3, 4])
        withExtendedLifetime(listener) {}
    }

    /// Shows P44.
    @Test func `a stop after a host's token ends the session`() async throws {
        let (sender, listener, host) = try await handshaking()
        try await host.write(tokens.expected + hello + ControlRequest.stop(.callEnded).encoded())
        host.finishWriting()
        #expect(try await soon { try await sender.closed() } == .closedByPeer(.callEnded))
        withExtendedLifetime((listener, host)) {}
    }

    /// Shows P15.
    @Test(arguments: [1, 5, .max])
    func `everything after a sender's token is read, however it is cut`(chunk: Int) async throws {
        let server = try directory.server {
            $0.tokens = HandshakeTokens(own: tokens.expected, expected: tokens.own)
            $0.hello = ControlRequest.Hello(wants: [.frames, .audio])
        }
        let sender = try PeerSocket.connected(to: directory.socket)
        let samples = AudioHeader(contentLength: 4, kind: .app, sampleRate: 8000, channels: 1).encoded() + [1, 2, 3, 4]
        let status = SenderStatus(state: .stopped(.callEnded)).encoded()
        try await sender.write(
            tokens.own + SenderStatus(state: .live).encoded() + samples + message(body(3, count: 300)) + status,
            chunk: chunk
        )
        sender.finishWriting()
        let connection = try #require(try await soon { try await firstConnection(of: server) } ?? nil)
        var frames = connection.frames.makeAsyncIterator()
        #expect(try await frames.next()?.jpeg?.array() == body(3, count: 300))
        #expect(try await frames.next() == nil)
        var audio = connection.audio.makeAsyncIterator()
        #expect(await audio.next()?.bytes.array() == [1, 2, 3, 4])
        #expect(try await connection.closed() == .closedByPeer(.callEnded))
        // The server's token, and as much of its hello as went out before it saw the sender's end.
        let answer = try await sender.read(tokens.expected.count + hello.count)
        #expect(answer.starts(with: tokens.expected) && (tokens.expected + serversHello).starts(with: answer))
    }

    // MARK: Hosts that leave

    /// How far a host goes before it leaves.
    enum Step: CaseIterable {
        case accepts, readsPartOfToken, showsToken, showsTokenAndSaysHello, sendsPartOfRequest, readsToken
        case showsPartOfToken
    }

    /// Lets a host take one connection, go as far as `step`, and leave.
    private func leave(at step: Step, _ listener: PeerSocket) async throws {
        let host = try await listener.accepted()
        switch step {
        case .accepts: break
        case .readsPartOfToken: _ = try await host.read(3)
        default: _ = try await host.read(tokens.own.count)
        }
        switch step {
        case .accepts, .readsPartOfToken, .readsToken: break
        case .showsPartOfToken: try await host.write(Array(tokens.expected.dropLast()))
        case .showsToken: try await host.write(tokens.expected)
        case .showsTokenAndSaysHello: try await host.write(tokens.expected + hello)
        case .sendsPartOfRequest: try await host.write(tokens.expected + hello.dropLast())
        }
        host.close()
    }

    /// Shows P146.
    @Test(arguments: Step.allCases)
    func `a sender reconnects after a host that leaves early`(step: Step) async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection { $0.tokens = tokens }
        sender.open()
        let left: Void? = try await soon {
            // Its pauses grow.
            for _ in 0..<6 { try await self.leave(at: step, listener) }
        }
        try #require(left != nil, "the sender does not notice that a host has left")
        // The next one stays.
        let expected = message(body(5, count: 20_000))
        let got = try await soon {
            let host = try await listener.accepted()
            _ = try await host.read(self.tokens.own.count)
            try await host.write(self.tokens.expected)
            while true {
                do {
                    try await sender.send(FrameMessage(body(5, count: 20_000)))
                    return try await host.read(expected.count)
                } catch let error as TransportError where error.code == .closed {
                    await Task.yield()
                }
            }
        }
        #expect(got == expected)
    }

    @Test func `a sender that waits for a host learns that all have left without sending their token`() async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let sender = directory.connection { $0.tokens = tokens }
        let hosts = Task { while true { try await leave(at: .readsToken, listener) } }
        defer { hosts.cancel() }
        // Any time is short for a machine that is busy: what is asked for is the error once a host has left.
        let error =
            try await soon {
                while true {
                    do throws(TransportError) {
                        try await sender.open(within: .milliseconds(500))
                        return nil
                    } catch  where error.code == .openTimedOut {
                        continue
                    } catch {
                        return error
                    }
                }
            } as TransportError??
        #expect(error??.code == .tokenRejected && error??.path == directory.socket)
    }

    @Test func `a host that sends its token and leaves has ended the connection in an orderly way`() async throws {
        let (sender, listener, host) = try await handshaking { $0.reopens = false }
        try await host.write(tokens.expected)
        host.close()
        #expect(try await soon { try await sender.closed() } == .closedByPeer(.stoppedByUser))
        withExtendedLifetime(listener) {}
    }

    // MARK: Senders that leave

    @Test(arguments: [0, 3, 12])
    func `a sender that leaves during its handshake occupies no slot`(shown: Int) async throws {
        let server = try directory.server {
            $0.tokens = HandshakeTokens(own: tokens.expected, expected: tokens.own)
            $0.limits.maximumConnections = 2
        }
        for _ in 0..<10 {
            let sender = try PeerSocket.connected(to: directory.socket)
            try await sender.write(Array(tokens.own.prefix(shown)))
            sender.close()
            await server.settle()
        }
        let honest = directory.connection { $0.tokens = tokens }
        #expect(try await soon { try await honest.open(within: nil) } != nil)
        try await honest.send(FrameMessage(body(1, count: 20_000)))
        let isServed = try await soon {
            for try await connection in server.connections where connection.closeReason == nil {
                var frames = connection.frames.makeAsyncIterator()
                return try await frames.next()?.jpeg?.array() == body(1, count: 20_000)
            }
            return false
        }
        #expect(isServed == true)
    }
}
