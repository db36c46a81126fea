import Foundation
import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

/// The streams that the library embeds, against the files of `Fixtures/streams` that it was made from, and in a server.
@Suite(.timeLimit(.minutes(5))) struct RecordedStreamTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Fixtures/streams").standardizedFileURL

    /// What the JSON beside a stream says of it.
    private struct Expectation: Decodable {
        struct Frame: Decodable {
            let width, height, orientation, rotation, headOffset, bodyOffset, contentLength, jpegWidth,
                jpegHeight: Int
        }

        struct Fault: Decodable {
            let `where`: String
            let got: Int
            let want: Int?
        }

        let frames: [Frame]
        let error: Fault?
    }

    @Test func `every file of the fixtures is embedded`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
            .filter { $0.hasSuffix(".http") }.map { String($0.dropLast(5)) }.sorted()
        #expect(RecordedStream.all.map(\.name) == names && names.count == 11)
    }

    @Test(arguments: RecordedStream.all)
    func `a stream equals its file byte for byte`(stream: RecordedStream) throws {
        let file = Self.folder.appending(path: stream.name)
        let data = try Data(contentsOf: file.appendingPathExtension("http"))
        #expect(Data(stream.bytes) == data && !data.isEmpty)

        let json = try Data(contentsOf: file.appendingPathExtension("json"))
        let expected = try JSONDecoder().decode(Expectation.self, from: json)
        #expect(stream.frames.count == expected.frames.count)
        for (frame, expected) in zip(stream.frames, expected.frames) {
            #expect((frame.width, frame.height) == (expected.width, expected.height))
            #expect((frame.orientation, frame.rotation) == (expected.orientation, expected.rotation))
            #expect((frame.jpegWidth, frame.jpegHeight) == (expected.jpegWidth, expected.jpegHeight))
            #expect(frame.header == expected.headOffset..<expected.bodyOffset)
            #expect(frame.body == expected.bodyOffset..<expected.bodyOffset + expected.contentLength)
        }
        #expect(stream.cut?.count == expected.error?.got && stream.cut?.bodyCount == expected.error?.want)
        #expect((stream.cut?.part == .body) == (expected.error?.where == "body"))
    }

    @Test(arguments: RecordedStream.all)
    func `the server handles a recorded stream as described`(stream: RecordedStream) async throws {
        let place = try TemporaryDirectory()
        let server = try FrameServer(at: place.socket)
        let sender = try PeerSocket.connected(to: place.socket)
        async let writing: Void = {
            try await sender.write(stream.bytes)
            sender.finishWriting()
        }()
        var connections = server.connections.makeAsyncIterator()
        let connection = try #require(try await connections.next())
        var bodies: [[UInt8]] = []
        do throws(TransportError) {
            for try await frame in connection.frames { bodies.append(frame.jpeg?.array() ?? []) }
        } catch {
            #expect(stream.cut != nil && error.code == .malformedMessage)
        }
        #expect(bodies == stream.bodies)
        #expect((try await connection.closed().error == nil) == (stream.cut == nil))
        try await writing
    }
}
