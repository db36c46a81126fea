import FrameSocketTesting
import Locking
import TestSupport
import Testing

@testable import FrameSocket

/// A receiver of plain sockets, and an uploader that sends to it.
struct RawReceiver {
    let directory: TemporaryDirectory
    let listener: PeerSocket
    let uploader: SampleUploader

    /// Listens, and connects an uploader, which reopens its connection whenever it ends.
    init(
        _ configuration: SampleUploader.Configuration = .init(),
        _ change: (inout SocketConnection.Configuration) -> Void = { _ in }
    ) throws {
        directory = try TemporaryDirectory()
        listener = try PeerSocket.listening(at: directory.socket)
        uploader = SampleUploader(connection: directory.connection(change), configuration: configuration)
    }

    /// Takes the uploader's next connection.
    func accept() async throws -> Visit {
        let listener = listener
        let socket = try #require(try await soon { try await listener.accepted() }, "the uploader does not connect")
        return Visit(socket: socket)
    }

    /// One connection of the uploader.
    struct Visit: Sendable {
        let socket: PeerSocket

        /// Writes requests, all at once.
        func ask(_ requests: ControlRequest...) async throws {
            try await socket.write(requests.flatMap { $0.encoded() })
        }

        /// Writes a release of each of these buffers, all at once.
        func release(_ buffers: Int...) async throws {
            try await socket.write(buffers.flatMap { ControlRequest.encodedRelease(of: $0) })
        }

        /// The next frame; nil if none comes, or the uploader ends.
        func frame() async throws -> PeerMessage? {
            try await soon { try await socket.nextMessage(where: \.isFrame) } ?? nil
        }

        /// The frames that come before the answer to a ping that is sent now.
        func framesBeforePong(_ number: UInt64) async throws -> [PeerMessage] {
            try await ask(.ping(number))
            let messages = try #require(
                try await soon { try await socket.messages(until: { $0.pong == number }) },
                "the ping is not answered"
            )
            return messages.filter(\.isFrame)
        }
    }
}

extension ControlRequest {
    /// A hello that asks for images.
    static let helloForImages = ControlRequest.hello(ControlRequest.Hello(wants: .frames))
}

extension SampleUploader {
    /// Whether the uploader knows that it has a receiver: its connection is open a moment before.
    var hasReceiver: Bool { machine.withLock { $0.terms.isConnected } }

    /// Waits, within the usual limit, until what was offered has been dealt with, sent or not.
    func settle(_ location: SourceLocation = #_sourceLocation) async throws {
        let isDone: Void? = try await soon { _ = await self.finishFailure() }
        #expect(isDone != nil, "the uploader does not finish", sourceLocation: location)
    }

    /// Finishes, and returns the error; nil if there was none.
    func finishFailure() async -> TransportError? {
        do throws(TransportError) {
            try await finish()
            return nil
        } catch {
            return error
        }
    }
}

/// A JPEG's place is taken by any bytes: what is sent as a JPEG is not looked at.
func content(_ seed: Int, count: Int = 12_000) -> FrameBytes {
    FrameBytes(body(seed, count: count))
}

extension SampleUploader {
    /// Offers bytes in place of a JPEG.
    @discardableResult
    func offer(
        _ seed: Int,
        count: Int = 12_000,
        orientation: FrameOrientation = .up,
        timestamp: UInt64? = nil
    ) -> Outcome {
        send(
            jpeg: content(seed, count: count),
            bufferSize: BufferSize(width: 562, height: 1218),
            orientation: orientation,
            timestamp: timestamp
        )
    }
}
