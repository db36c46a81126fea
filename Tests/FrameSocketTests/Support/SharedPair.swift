import FrameTransport
import Locking
import TestSupport
import Testing

@testable import FrameSocket

/// An uploader, which allows shared memory if nothing else is said, and the connection on which a server received it.
struct SharedPair {
    private let directory: TemporaryDirectory
    let server: FrameServer
    let received: FrameConnection
    let uploader: SampleUploader
    var frames: FrameConnection.Frames.Iterator

    init(
        _ directory: TemporaryDirectory,
        _ configuration: SampleUploader.Configuration = .init(sharesMemory: true),
        accepts: Bool = true
    ) async throws {
        var settings = FrameServer.Configuration()
        settings.acceptsSharedMemory = accepts
        // Other tests may keep the machine busy for longer than a sender gets.
        settings.limits.firstFrameTimeout = nil
        settings.limits.bodyTimeout = .seconds(600)
        self.directory = directory
        server = try FrameServer(at: directory.socket, configuration: settings)
        let connection = SocketConnection(path: directory.socket)
        try await connection.open(within: nil)
        uploader = SampleUploader(connection: connection, configuration: configuration)
        // A test that keeps buffers may take its time.
        uploader.machine.withLock { $0.sharing.longestWait = 3_600_000_000_000 }
        var connections = server.connections.makeAsyncIterator()
        received = try #require(try await connections.next())
        frames = received.frames.makeAsyncIterator()
    }

    mutating func next() async throws -> Frame { try #require(try await frames.next()) }

    /// Waits until the uploader has heard that the receiver accepts shared memory.
    func sharing() async throws {
        try #require(await becomesTrue { uploader.isSharing })
    }
}
