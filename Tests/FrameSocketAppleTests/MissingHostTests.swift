import FrameSocket
import FrameSocketApple
import Locking
import TestSupport
import Testing

/// Broadcasts whose app is not there, is elsewhere, or goes and returns.
@Suite(.timeLimit(.minutes(5))) struct MissingHostTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// What a session reported.
    private final class Reports: Sendable {
        let ends = Locked<[CloseReason]>([])
        let notices = Locked<[HostNotice]>([])
        var reasons: [ControlRequest.FinishReason] { ends.withLock { $0.map(\.finishReason) } }
        var noticeCount: Int { notices.withLock { $0.count } }
    }

    private func session(
        _ reports: Reports,
        path: String?,
        _ change: (inout BroadcastSession.Configuration) -> Void
    ) -> BroadcastSession {
        var configuration = BroadcastSession.Configuration()
        configuration.connection.retryInterval = .milliseconds(1)
        change(&configuration)
        return BroadcastSession(path: path, configuration: configuration) { notice in
            reports.notices.withLock { $0.append(notice) }
        } onClose: { reason in
            reports.ends.withLock { $0.append(reason) }
        }
    }

    @Test func `without an app the broadcast ends after the limit, once`() async throws {
        let reports = Reports()
        let session = session(reports, path: directory.socket) { $0.hostTimeout = .milliseconds(50) }
        #expect(await becomesTrue { reports.reasons == [.noHost] })
        #expect(try await session.uploader.connection.closed() == .closedLocally(.noHost))
        #expect(reports.reasons == [.noHost] && reports.noticeCount == 0)
    }

    @Test func `a notice comes before the end, once`() async throws {
        let reports = Reports()
        let session = session(reports, path: directory.socket) {
            $0.hostTimeout = .milliseconds(100)
            $0.hostNotice = HostNotice(title: "a", text: "b", delay: .milliseconds(20))
        }
        #expect(await becomesTrue { reports.noticeCount == 1 })
        #expect(await becomesTrue { reports.reasons == [.noHost] })
        #expect(reports.noticeCount == 1)
        withExtendedLifetime(session) {}
    }

    @Test func `an app that the notice opens is reached`() async throws {
        let reports = Reports()
        let session = session(reports, path: directory.socket) {
            $0.hostTimeout = nil
            $0.hostNotice = HostNotice(delay: .milliseconds(20))
        }
        #expect(await becomesTrue { reports.noticeCount == 1 })
        let server = try directory.server()
        let host = try #require(try await firstConnection(of: server))
        #expect(await becomesTrue { session.uploader.connection.isOpen })
        #expect(reports.reasons.isEmpty)
        withExtendedLifetime(host) {}
    }

    @Test func `an app that goes and returns within the limit keeps the broadcast`() async throws {
        let reports = Reports()
        let session = session(reports, path: directory.socket) {
            $0.connection.reopens = true
            $0.hostTimeout = .seconds(600)
            $0.uploader = .init()
        }
        for timestamp in UInt64(1)...3 {
            let server = try directory.server()
            let host = try #require(try await firstConnection(of: server))
            #expect(await becomesTrue { session.uploader.connection.isOpen })
            #expect(session.send(try testImage(16, 16), timestamp: timestamp) == .taken)
            var frames = host.frames.makeAsyncIterator()
            // The latest frame may arrive again at first.
            while let frame = try await frames.next(), frame.timestamp != timestamp {}
            host.close()
            _ = try await host.closed()
        }
        #expect(reports.reasons.isEmpty)
    }

    @Test func `an app that goes for longer than the limit ends the broadcast`() async throws {
        let reports = Reports()
        // It listens before the limit begins.
        let server = try directory.server()
        let session = session(reports, path: directory.socket) {
            $0.connection.reopens = true
            $0.hostTimeout = .seconds(2)
        }
        let host = try #require(try await firstConnection(of: server))
        #expect(await becomesTrue { session.uploader.connection.isOpen })
        server.close()
        #expect(await becomesTrue { reports.reasons == [.noHost] })
        withExtendedLifetime(host) {}
    }

    @Test func `a port with tokens takes the place of the path`() async throws {
        let tokens = HandshakeTokens(own: Array("app".utf8), expected: Array("extension".utf8))
        var configuration = FrameServer.Configuration()
        configuration.tokens = tokens
        let server = try FrameServer(at: .loopback(port: 0), configuration: configuration)
        let reports = Reports()
        let session = session(reports, path: nil) {
            $0.endpoint = server.endpoint
            $0.connection.tokens = HandshakeTokens(own: tokens.expected, expected: tokens.own)
            $0.values = ["channelName": "room"]
        }
        let host = try #require(try await firstConnection(of: server))
        #expect(session.values.texts["channelName"] == "room")
        host.close()
        #expect(await becomesTrue { reports.reasons == [.stoppedByUser] })
    }

    @Test func `a port without tokens, and no path at all, end the broadcast with a sentence`() async throws {
        for endpoint in [SocketEndpoint.loopback(port: 9), nil] {
            let reports = Reports()
            let session = session(reports, path: nil) { $0.endpoint = endpoint }
            #expect(await becomesTrue { reports.reasons == [.error] })
            let end = try #require(reports.ends.withLock { $0.first })
            #expect(BroadcastEnd(end).description.hasPrefix("Screen sharing is not set up correctly: "))
            withExtendedLifetime(session) {}
        }
    }

    @Test func `a finished broadcast reports nothing, though its limit passes`() async throws {
        let reports = Reports()
        let session = session(reports, path: directory.socket) { $0.hostTimeout = .milliseconds(20) }
        session.finish(.stoppedByUser)
        _ = try await session.uploader.connection.closed()
        let later = self.session(reports, path: directory.socket) { $0.hostTimeout = .milliseconds(60) }
        // Whatever the first one would have reported comes before this.
        #expect(await becomesTrue { !reports.reasons.isEmpty })
        #expect(reports.reasons == [.noHost])
        withExtendedLifetime(later) {}
    }

    @Test func `unreadable images are counted and logged`() throws {
        let events = Locked<[TransportEvent]>([])
        let session = session(Reports(), path: directory.socket) {
            $0.connection.log = { event in events.withLock { $0.append(event) } }
        }
        session.reportUnreadableImage(TurboJPEGError(.unsupported, "the pixel format 'w30r' cannot be read"))
        #expect(session.unreadableImages == 1)
        #expect(events.withLock { $0.contains { $0.code == .frameDropped && $0.message.contains("'w30r'") } })
    }
}
