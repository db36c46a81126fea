import Foundation
import FrameSocket
import FrameSocketApple
import Synchronization
import TestSupport
import Testing

/// A broadcast from its beginning to each of its ends, against a server of this package.
@Suite(.timeLimit(.minutes(5))) struct BroadcastSessionTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// The ends that a session reported.
    private final class Ends: Sendable {
        private let continuation: AsyncStream<ControlRequest.FinishReason>.Continuation
        let reasons: AsyncStream<ControlRequest.FinishReason>

        init() {
            (reasons, continuation) = AsyncStream.makeStream()
        }

        func add(_ reason: ControlRequest.FinishReason) {
            continuation.yield(reason)
        }

        func first() async -> ControlRequest.FinishReason? {
            for await reason in reasons { return reason }
            return nil
        }
    }

    /// A session of every image in its own size, and what its server has of it.
    private func pair(
        hello: ControlRequest.Hello? = nil,
        _ change: (inout BroadcastSession.Configuration) -> Void = { _ in }
    ) async throws -> (session: BroadcastSession, ends: Ends, server: FrameServer, host: FrameConnection) {
        let server = try directory.server { $0.hello = hello }
        let ends = Ends()
        var configuration = BroadcastSession.Configuration()
        configuration.uploader = .init()
        configuration.connection.retryInterval = .milliseconds(1)
        change(&configuration)
        let session = BroadcastSession(path: directory.socket, configuration: configuration) { ends.add($0) }
        let host = try #require(try await firstConnection(of: server))
        _ = await becomesTrue { session.uploader.connection.isOpen }
        if hello != nil { _ = await becomesTrue { session.uploader.connection.receiver.hello != nil } }
        return (session, ends, server, host)
    }

    @Test func `images arrive with their orientation and time, and none during a pause`() async throws {
        let (session, _, server, host) = try await pair { $0.uploader.pacing = .every(100) }
        var frames = host.frames.makeAsyncIterator()
        let image = try testImage(64, 48, as: .nv12)
        #expect(session.send(image, orientation: .right, timestamp: 5) == .taken)
        let first = try #require(try await frames.next())
        #expect(first.orientation == .right && first.timestamp == 5)
        #expect(session.send(image) == .deferred(.paced))
        session.pause()
        #expect(session.isPaused)
        #expect(session.send(image, timestamp: 6) == .dropped(.paused))
        // Whatever the pacing says.
        session.resume()
        #expect(session.send(image, timestamp: 7) == .taken)
        #expect(try await frames.next()?.timestamp == 7)
        withExtendedLifetime(server) {}
    }

    @Test func `by default every third image is sent at half its size`() async throws {
        let defaults = BroadcastSession.Configuration()
        #expect(!defaults.connection.reopens)
        let (session, _, server, host) = try await pair { $0.uploader = defaults.uploader }
        let image = try testImage(64, 48)
        #expect(session.send(image, timestamp: 0) == .taken)
        var frames = host.frames.makeAsyncIterator()
        #expect(try await frames.next()?.bufferSize == BufferSize(width: 32, height: 24))
        let outcomes = (1..<4).map { session.send(image, timestamp: UInt64($0)) }
        #expect(outcomes == [.deferred(.paced), .deferred(.paced), .taken])
        withExtendedLifetime(server) {}
    }

    @Test func `audio goes to a host that asked for it, numbered by kind`() async throws {
        let (session, _, server, host) = try await pair(hello: ControlRequest.Hello(wants: [.frames, .audio]))
        let format = try AudioBlock.Format(sampleRate: 44_100, channels: 1)
        var block = try AudioBlock(format: format, timestamp: 9, samples: [1, -2, 3])
        for kind in [AudioKind.app, .microphone, .app] {
            block.kind = kind
            #expect(session.send(block))
        }
        var blocks: [AudioBlock] = []
        for await block in host.audio {
            blocks.append(block)
            if blocks.count == 3 { break }
        }
        #expect(blocks.map(\.kind) == [.app, .microphone, .app] && blocks.map(\.sequence) == [0, 0, 1])
        #expect(blocks.allSatisfy { $0.format == format && $0.timestamp == 9 && $0.samples == [1, -2, 3] })
        session.pause()
        #expect(!session.send(block))
        withExtendedLifetime(server) {}
    }

    @Test func `the person's values reach a host that says hello, and the program's own take precedence`() async throws
    {
        let (session, _, server, host) = try await pair(hello: ControlRequest.Hello()) {
            $0.values = ["channelName": "room", "user": "Ana", "a b": "no token", "text": "two\nlines", "empty": ""]
            try? $0.connection.info.set("own", for: "user")
        }
        // They come before the first frame.
        _ = session.send(try testImage(16, 16))
        #expect(await becomesTrue { !host.info.values.isEmpty })
        #expect(host.info.values == ["channelName": "room", "user": "own", "empty": ""])
        #expect(host.info.offersAudio == true && session.values.texts["text"] == "two\nlines")
        #expect(host.info["channelName", default: "channel"] == "room" && host.info["empty", default: "x"] == "x")
        withExtendedLifetime(server) {}
    }

    /// Shows P339.
    @Test func `no audio is numbered or sent until the session offers it`() async throws {
        let (session, _, server, host) = try await pair(hello: ControlRequest.Hello(wants: [.frames, .audio])) {
            #expect($0.connection.offersAudio)
            $0.connection.offersAudio = false
        }
        let format = try AudioBlock.Format(sampleRate: 44_100, channels: 1)
        let block = try AudioBlock(format: format, samples: [1])
        #expect(!session.send(block) && !session.sendsAudio)
        #expect(session.uploader.connection.receiver.droppedAudio == 0)
        session.uploader.connection.offersAudio = true
        #expect(session.send(block) && session.sendsAudio)
        var audio = host.audio.makeAsyncIterator()
        #expect(await audio.next()?.sequence == 0)
        withExtendedLifetime(server) {}
    }

    @Test(
        arguments: [(nil, .stoppedByUser), (ControlRequest.Hello(), .callEnded)]
            as [(ControlRequest.Hello?, ControlRequest.FinishReason)]
    )
    func `a host that closes the connection has ended the broadcast, with its reason if it said hello`(
        hello: ControlRequest.Hello?,
        reason: ControlRequest.FinishReason
    ) async throws {
        let (session, ends, server, host) = try await pair(hello: hello)
        let block = try AudioBlock(format: AudioBlock.Format(sampleRate: 44_100, channels: 1), samples: [1])
        #expect(!session.send(block), "nobody has asked for audio")
        host.close(reason)
        #expect(await ends.first() == reason)
        #expect(session.send(try testImage(16, 16)) == .dropped(.notConnected))
        withExtendedLifetime(server) {}
    }

    @Test(arguments: [ControlRequest.FinishReason.stoppedByUser, .suspended])
    func `the broadcast's own end reaches the host with its reason, and is not reported`(
        reason: ControlRequest.FinishReason
    )
        async throws
    {
        let (session, ends, server, host) = try await pair(hello: ControlRequest.Hello())
        session.finish(reason)
        #expect(try await host.closed() == .closedByPeer(reason))
        #expect(try await session.uploader.connection.closed() == .closedLocally(reason))
        // Whatever it reports from now on comes behind this.
        await session.uploader.connection.thread.settle()
        ends.add(.noHost)
        #expect(await ends.first() == .noHost)
        withExtendedLifetime(server) {}
    }

    @Test func `releasing a broadcast ends it`() async throws {
        let server = try directory.server()
        var session: BroadcastSession? = BroadcastSession(path: directory.socket) { _ in }
        let host = try #require(try await firstConnection(of: server))
        #expect(session != nil)
        session = nil
        #expect(try await host.closed() == .closedByPeer(.stoppedByUser))
        withExtendedLifetime(server) {}
    }
}
