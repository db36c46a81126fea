import Foundation
import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// Streams as existing Jitsi peers write them, through a socket, against what must come out.
@Suite(.timeLimit(.minutes(5))) struct StreamFixtureTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test(arguments: RecordedStream.all, [nil, 1, 2, 3] as [UInt64?])
    func `every stream is parsed, whole and in random pieces`(stream: RecordedStream, seed: UInt64?) async throws {
        let bytes = stream.bytes
        let server = try directory.server()
        let client = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        async let sending: Void = {
            guard let seed else {
                try await client.write(bytes)
                return client.finishWriting()
            }
            var random = SplitMix(seed: seed)
            var rest = bytes[...]
            while !rest.isEmpty {
                // Mostly small ones at first, where heads are; large ones later, or it would take long.
                let count = Int.random(in: 1...(Bool.random(using: &random) ? 60 : 20_000), using: &random)
                try await client.write(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            client.finishWriting()
        }()
        var frames: [Frame] = []
        var failure: TransportError?
        do throws(TransportError) {
            for try await frame in connection.frames { frames.append(frame) }
        } catch {
            failure = error
        }
        try await sending

        #expect(frames.count == stream.frames.count, "seed \(seed ?? 0)")
        for (frame, expected) in zip(frames, stream.frames) {
            #expect(frame.bufferSize == BufferSize(width: expected.width, height: expected.height))
            #expect(Int(frame.orientation.rawValue) == expected.orientation)
            #expect(frame.orientation.deployedRotation == expected.rotation)
            #expect(Data(frame.bytes) == Data(bytes[expected.body]))
            let received = try #require(frame.jpeg)
            let header = try received.withSpan { try JPEGHeader(inspecting: $0) }
            #expect((header.width, header.height) == (expected.jpegWidth, expected.jpegHeight))
            let image = try FrameDecoder().decode(frame, as: .i420).image
            #expect((image.width, image.height) == (expected.width, expected.height))
        }
        expect(failure, stream.cut)
        #expect(connection.closeReason == failure.map { .failed($0) } ?? .closedByPeer(.stoppedByUser))
    }

    /// Expects the error that a stream ends with, or none.
    private func expect(_ failure: TransportError?, _ cut: RecordedStream.Cut?) {
        guard let cut else { return #expect(failure == nil) }
        let wire = failure?.wireError
        #expect(failure?.code == .malformedMessage)
        #expect(wire?.code == (cut.part == .body ? .bodyTruncated : .headTruncated))
        let detail = cut.bodyCount.map { "\(cut.count) of \($0) bytes" } ?? "after \(cut.count) bytes"
        #expect(wire?.description.contains(detail) == true)
    }
}
