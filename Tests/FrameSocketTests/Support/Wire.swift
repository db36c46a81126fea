import FrameSocket
import TestSupport
import Testing

/// A server, and an uploader that is connected to it.
struct Wire {
    let uploader: SampleUploader
    private let frames: AsyncThrowingStream<Frame, any Error>

    /// Runs a body with both ends, and closes them afterwards.
    static func run(
        _ configuration: SampleUploader.Configuration = .init(),
        _ body: (Wire) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let path = directory.socket
        // Other tests may keep the machine busy for longer than a sender gets.
        var settings = FrameServer.Configuration()
        settings.limits.firstFrameTimeout = nil
        settings.limits.bodyTimeout = .seconds(600)
        let server = try FrameServer(at: path, configuration: settings)
        let connection = SocketConnection(path: path)
        try await connection.open(within: .seconds(20))
        let (frames, continuation) = AsyncThrowingStream<Frame, any Error>.makeStream()
        let reading = Task {
            do {
                for try await peer in server.connections {
                    for try await frame in peer.frames { continuation.yield(frame) }
                    break
                }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        let wire = Wire(uploader: SampleUploader(connection: connection, configuration: configuration), frames: frames)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(wire))
        } catch {
            result = .failure(error)
        }
        connection.close()
        _ = try await connection.closed()
        await reading.value
        server.close()
        try result.get()
    }

    /// The next frame that arrives.
    func next() async throws -> Frame {
        for try await frame in frames { return frame }
        throw EndOfFrames()
    }

    struct EndOfFrames: Error {}
}
