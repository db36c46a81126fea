import Foundation
import FrameSocketTesting
import Locking
import TestSupport
import Testing

@testable import FrameTransport

/// What a server does when the file of its socket is removed or replaced while it listens.
@Suite(.timeLimit(.minutes(5))) struct LostPathTests {
    private let directory: TemporaryDirectory
    private let events = Locked([TransportEvent]())

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func server(at path: String? = nil) throws -> FrameServer {
        var configuration = FrameServer.Configuration()
        configuration.log = { [events] event in events.withLock { $0.append(event) } }
        return try FrameServer(at: path ?? directory.socket, configuration: configuration)
    }

    private func events(_ code: TransportEvent.Code) -> [TransportEvent] {
        events.withLock { $0.filter { $0.code == code } }
    }

    private func isBoundAgain(_ times: Int = 1) async -> Bool {
        await becomesTrue { events(.pathRestored).count == times }
    }

    /// Shows P251.
    @Test func `a removed socket comes back, and connections and their senders notice nothing`() async throws {
        let server = try server()
        let (first, connection) = try await server.connectedPeer()
        // This one waits to be accepted, or has been, when the file goes.
        let second = try PeerSocket.connected(to: directory.socket)
        for round in 1...3 {
            unsafe unlink(directory.socket)
            #expect(await isBoundAgain(round))
            var status = stat()
            #expect(unsafe lstat(directory.socket, &status) == 0 && status.st_mode == S_IFSOCK | 0o600)
            #expect(directory.names == ["rtc_SSFD", "rtc_SSFD.lock"])
        }
        #expect(try await firstConnection(of: server)?.id == 2)
        let third = try await server.connectedPeer()
        #expect(third.connection.id == 3)
        try await first.write(message(body(1, count: 100)))
        #expect(try await connection.nextBytes() == body(1, count: 100))
        let restored = try #require(events(.pathRestored).first)
        #expect(restored.level == .warning && restored.endpoint == directory.socket)
        #expect(events(.pathLost).isEmpty && events(.connectionEnded).isEmpty)
        server.close()
        try await server.closed()
        #expect(directory.names.isEmpty)
        _ = (second, third)
    }

    /// Shows P251.
    @Test func `a socket comes back when its directory was made anew`() async throws {
        let inner = directory.path + "/inner"
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        #expect(unsafe chmod(inner, 0o700) == 0)
        let server = try server(at: inner + "/socket")
        try FileManager.default.removeItem(atPath: inner)
        #expect(await becomesTrue { !events(.pathLost).isEmpty })
        let lost = try #require(events(.pathLost).first)
        #expect(lost.level == .error && lost.error?.code == .cannotCreate, "\(lost)")
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        #expect(unsafe chmod(inner, 0o700) == 0)
        #expect(await isBoundAgain())
        // Once, however often it was tried.
        #expect(Set(events(.pathLost).map(\.error)).count == events(.pathLost).count)
        let client = try PeerSocket.connected(to: inner + "/socket")
        #expect(try await firstConnection(of: server) != nil)
        server.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: inner).isEmpty)
        _ = client
    }

    /// Shows P251.
    @Test(arguments: [false, true])
    func `whoever took the path keeps it until that has ended, and is followed by the server`(isServer: Bool)
        async throws
    {
        let server = try server()
        var (second, other): (FrameServer?, PeerSocket?)
        try await IOThread.shared.whileHeld {
            for name in isServer ? directory.names : ["rtc_SSFD"] {
                try FileManager.default.removeItem(atPath: directory.path + "/" + name)
            }
            if isServer { second = try directory.server() } else { other = try .listening(at: directory.socket) }
        }
        #expect(await becomesTrue { events(.pathLost).first?.error?.code == .addressInUse })
        let client = try PeerSocket.connected(to: directory.socket)
        if let second { #expect(try await firstConnection(of: second) != nil) }
        _ = try await other?.accepted()
        second?.close()
        other?.close()
        #expect(await isBoundAgain())
        let next = try PeerSocket.connected(to: directory.socket)
        #expect(try await firstConnection(of: server) != nil)
        _ = (client, next)
    }

    @Test func `a server that has lost its path can be closed`() async throws {
        let server = try server()
        try await IOThread.shared.whileHeld {
            unsafe unlink(directory.socket)
            try Data("mine".utf8).write(to: URL(fileURLWithPath: directory.socket))
        }
        #expect(await becomesTrue { events(.pathLost).first?.error?.code == .notASocket })
        server.close()
        try await server.closed()
        #expect(directory.names == ["rtc_SSFD"])
        #expect(try Data(contentsOf: URL(fileURLWithPath: directory.socket)) == Data("mine".utf8))
        #expect(events(.serverFailed).isEmpty)
    }

    @Test func `a lock without a socket is not said to be another server that listens`() throws {
        let lock = unsafe open(directory.socket + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        defer { close(lock) }
        let error = #expect(throws: TransportError.self) { try directory.server() }
        #expect(error?.code == .addressInUse)
        #expect(error?.message.contains("another server") == false && error?.message.contains("try again") == true)
    }

    #if os(Linux)
        @Test func `a relative path is bound again where it was, wherever the process works`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                #expect(unsafe chdir(directory.path) == 0)
                // Only then does it listen: both files are there before.
                let isRestored = Flag()
                var configuration = FrameServer.Configuration()
                configuration.log = { if $0.code == .pathRestored { isRestored.set() } }
                let server = try FrameServer(at: "rtc_SSFD", configuration: configuration)
                #expect(unsafe chdir("/") == 0)
                unsafe unlink(directory.socket)
                #expect(await becomesTrue { isRestored.isSet })
                #expect(directory.names == ["rtc_SSFD", "rtc_SSFD.lock"])
                let client = try PeerSocket.connected(to: directory.socket)
                #expect(try await firstConnection(of: server) != nil)
                _ = client
            }
        }
    #endif
}
