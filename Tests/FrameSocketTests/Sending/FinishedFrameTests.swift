import Foundation
import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// What was submitted before a finish is sent, or the finish says that it was not.
@Suite(.timeLimit(.minutes(5))) struct FinishedFrameTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// The error of a finish; nil if there was none.
    private func failure(of uploader: SampleUploader) async throws -> TransportError? {
        try #require(try await soon { await uploader.finishFailure() }, "the uploader does not finish")
    }

    // MARK: Before the first connection

    /// Shows P214.
    @Test(arguments: [false, true])
    func `a frame that is submitted, finished and closed at once arrives, every time`(isImage: Bool) async throws {
        let server = try directory.server()
        let received = Task {
            var count = 0
            for try await connection in server.connections {
                for try await _ in connection.frames { count += 1 }
            }
            return count
        }
        for round in 0..<100 {
            let connection = directory.connection()
            let uploader = SampleUploader(connection: connection)
            if isImage { uploader.send(try testImage(16, 16)) } else { uploader.offer(round) }
            #expect(try await failure(of: uploader) == nil)
            #expect(uploader.statistics.sent == 1)
            connection.close()
        }
        server.drain()
        #expect(try await soon { try await received.value } == 100)
    }

    /// Shows P207.
    @Test func `without a server, finishing ends with the time of an attempt, and says that the frame was not sent`()
        async throws
    {
        let uploader = SampleUploader(connection: directory.connection { $0.connectTimeout = .milliseconds(20) })
        #expect(uploader.offer(1) == .deferred(.notConnected))
        let error = try #require(try await failure(of: uploader))
        #expect(error.code == .openTimedOut)
        #expect(error.path == directory.socket)
        #expect(error.message.hasPrefix("the latest frame was not sent: no server was reached within"))
        // It is kept: a server that comes later gets it.
        let listener = try PeerSocket.listening(at: directory.socket)
        #expect(try await failure(of: uploader) == nil)
        let peer = try await listener.accepted()
        #expect(try await peer.nextMessage(where: \.isFrame)?.body == body(1, count: 12_000))
    }

    @Test func `a server that comes while somebody finishes gets the frame`() async throws {
        let uploader = SampleUploader(connection: directory.connection { $0.connectTimeout = Patience.length })
        uploader.offer(1)
        // Several at once, each of which is told.
        let finishing = (0..<3).map { _ in Task { try await uploader.finish() } }
        await IOThread.shared.settle()
        let listener = try PeerSocket.listening(at: directory.socket)
        let peer = try await listener.accepted()
        #expect(try await peer.nextMessage(where: \.isFrame)?.body == body(1, count: 12_000))
        for task in finishing { #expect(try await soon { try await task.value } != nil) }
    }

    @Test func `a handshake that is under way is waited for`() async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let tokens = HandshakeTokens(own: Array("sender".utf8), expected: Array("server".utf8))
        // Far less than the handshake takes.
        let connection = directory.connection { configuration in
            configuration.tokens = tokens
            configuration.connectTimeout = .milliseconds(1)
        }
        let uploader = SampleUploader(connection: connection)
        uploader.offer(1)
        let peer = try await listener.accepted()
        #expect(await becomesTrue { connection.state == .handshaking })
        let begin = MonotonicClock.now()
        let finishing = Task { try await uploader.finish() }
        // The limit has passed many times, and it waits for the token.
        #expect(await becomesTrue { MonotonicClock.now() - begin > 20_000_000 })
        try await peer.write(Array("server".utf8))
        #expect(try await soon { try await finishing.value } != nil)
        #expect(uploader.statistics.sent == 1)
    }

    @Test func `a server with the wrong token is the reason that the frame was not sent`() async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let tokens = HandshakeTokens(own: Array("sender".utf8), expected: Array("server".utf8))
        let uploader = SampleUploader(connection: directory.connection { $0.tokens = tokens })
        uploader.offer(1)
        let peer = try await listener.accepted()
        try await peer.write(Array("wrong!".utf8))
        #expect(try await failure(of: uploader)?.code == .tokenRejected)
    }

    // MARK: Between connections

    /// Shows P214.
    @Test func `a frame whose connection is lost while somebody finishes goes to the next one`() async throws {
        let receiver = try RawReceiver()
        let first = try await receiver.accept()
        #expect(await becomesTrue { receiver.uploader.hasReceiver })
        // More than a socket holds, so that it is under way until somebody reads it.
        receiver.uploader.offer(1, count: 30_000_000)
        let uploader = receiver.uploader
        let finishing = Task { try await uploader.finish() }
        #expect(await becomesTrue { uploader.waiterCount == 1 })
        first.socket.reset()
        let second = try await receiver.accept()
        #expect(try await second.frame()?.body.count == 30_000_000)
        #expect(try await soon { try await finishing.value } != nil)
    }

    /// Shows P207.
    @Test func `a server that ends every connection does not prolong a finish`() async throws {
        let listener = try PeerSocket.listening(at: directory.socket)
        let closing = Task { while true { try await listener.accepted().close() } }
        defer { closing.cancel() }
        let uploader = SampleUploader(connection: directory.connection { $0.connectTimeout = .milliseconds(20) })
        uploader.offer(1, count: 30_000_000)
        #expect(try await failure(of: uploader) != nil)
    }

    // MARK: Ends

    enum End: CaseIterable { case close, cancel }

    @Test(arguments: End.allCases)
    func `a finish that waits for a server ends with the connection, or with its task`(end: End) async throws {
        let connection = directory.connection { $0.connectTimeout = .seconds(3600) }
        let uploader = SampleUploader(connection: connection)
        uploader.offer(1)
        let finishing = Task { await uploader.finishFailure() }
        await IOThread.shared.settle()
        switch end {
        case .close: connection.close()
        case .cancel: finishing.cancel()
        }
        let error = try #require(try await soon { await finishing.value })
        #expect(error?.code == (end == .close ? .closed : .cancelled))
        // Whoever asks later is told the same.
        if end == .close { #expect(try await failure(of: uploader)?.code == .closed) }
    }

    /// Shows P207.
    @Test(arguments: [true, false])
    func `a receiver that wants no frame is the reason, and is not waited for`(isPaused: Bool) async throws {
        let receiver = try RawReceiver()
        let visit = try await receiver.accept()
        let hello = ControlRequest.hello(ControlRequest.Hello(wants: isPaused ? .frames : .audio))
        if isPaused { try await visit.ask(hello, .pause) } else { try await visit.ask(hello) }
        let connection = receiver.uploader.connection
        #expect(await becomesTrue { isPaused ? connection.receiver.isPaused : connection.receiver.wants == .audio })
        #expect(await becomesTrue { connection.demand(isEmptyOfFrames: true) })
        receiver.uploader.offer(1)
        let error = try #require(try await failure(of: receiver.uploader))
        #expect(error.code == (isPaused ? .paused : .notWanted))
        #expect(error.message.hasPrefix("the latest frame was not sent: the receiver"))
        try await visit.ask(isPaused ? .resume : .helloForImages)
        #expect(try await visit.frame()?.body == body(1, count: 12_000))
        #expect(try await failure(of: receiver.uploader) == nil)
    }

    /// Shows P214.
    @Test func `a frame that cannot be encoded is said to be unsent, until a newer one is sent`() async throws {
        let receiver = try RawReceiver(.init(appliesOrientation: true))
        let visit = try await receiver.accept()
        receiver.uploader.offer(1, orientation: .left)
        let error = try #require(try await failure(of: receiver.uploader))
        #expect(error.code == .notSent)
        #expect(error.message.hasPrefix("the latest frame was not sent: it could not be encoded: "))
        receiver.uploader.offer(2)
        #expect(try await failure(of: receiver.uploader) == nil)
        #expect(try await visit.frame()?.body == body(2, count: 12_000))
    }
}

extension SocketConnection {
    /// Whether no frame may be sent, as the uploaders have been told.
    fileprivate func demand(isEmptyOfFrames: Bool) -> Bool { terms.demand.contains(.frames) != isEmptyOfFrames }
}
