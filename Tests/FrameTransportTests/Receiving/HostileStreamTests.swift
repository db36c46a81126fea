import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import TestSupport
import Testing

/// Bytes that could bring a server down, sent to one.
///
/// Which byte is wrong, and that no way of cutting the bytes changes anything, is tested with the decoder alone.
@Suite(.timeLimit(.minutes(5))) struct HostileStreamTests {
    /// A stream that must end its connection.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        let code: WireError.Code

        fileprivate init(_ name: String, _ code: WireError.Code, _ bytes: [UInt8]) {
            testDescription = name
            self.bytes = bytes
            self.code = code
        }

        /// A good message, with the text behind a field's name changed, or with a line more.
        fileprivate init(_ name: String, _ code: WireError.Code, _ old: String, _ new: String) {
            let text = String(decoding: message(Array("BODY".utf8)), as: UTF8.self)
            self.init(name, code, Array(text.replacing(old, with: new).utf8))
        }
    }

    private static let orientation = "Buffer-Orientation: 1\r\n"
    private static let start = "HTTP/1.1 200 OK"

    /// One for each part of a message, and for each way to end within one.
    static let cases = [
        Case("TLS", .startLineMalformed, [0x16, 3, 1, 2, 0, 1]),
        Case("two lengths", .fieldDuplicate, orientation, orientation + "Content-Length: 4\r\n"),
        Case("too many pixels", .pixelsTooMany, "562\r\nBuffer-Height: 1218", "16384\r\nBuffer-Height: 16384"),
        Case("an endless head", .headTooLong, "OK\r\n", "OK\r\nX: " + String(repeating: "x", count: 9000)),
        Case("NUL in a value", .lineMalformed, orientation, orientation + "X: \0\r\n"),
        Case("an end in the body", .bodyTruncated, Array(message(Array("BODY".utf8)).dropLast())),
        Case("an end in the head", .headTruncated, Array(start.utf8)),
        Case("half a sample", .contentLengthInvalid, audio("Audio-Sample-Rate: 8000", "Audio-Channels: 2", length: 3)),
        Case(
            "an unknown state",
            .wordUnknown,
            header("Content-Length: 0", "Message-Type: status", "Sender-State: asleep")
        ),
    ]

    private static func header(_ lines: String...) -> [UInt8] {
        Array(([start] + lines + ["", ""]).joined(separator: "\r\n").utf8)
    }

    private static func audio(_ rate: String, _ channels: String, length: Int = 4) -> [UInt8] {
        header("Content-Length: \(length)", "Message-Type: audio", "Audio-Kind: app", rate, channels) + [0, 0, 0, 0]
    }

    enum Way: CaseIterable, Sendable {
        case whole, byteByByte, behindGoodFrames
    }

    /// Shows P94.
    @Test(arguments: cases, Way.allCases)
    func `a hostile stream ends its own connection with one error`(_ hostile: Case, _ way: Way) async throws {
        let directory = try TemporaryDirectory()
        let server = try directory.server()
        var connections = server.connections.makeAsyncIterator()
        let innocent = try PeerSocket.connected(to: directory.socket)
        let innocentConnection = try #require(try await connections.next())
        let attacker = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await connections.next())

        var received = innocentConnection.frames.makeAsyncIterator()
        try await innocent.write(message(body(1, count: 3000)))
        #expect(try await received.next()?.jpeg?.array() == body(1, count: 3000))

        let before = way == .behindGoodFrames ? [body(2, count: 700), body(3, count: 1)] : []
        async let attack: Void = {
            let bytes = before.flatMap { message($0) } + hostile.bytes
            // It is cut off when the server has seen enough.
            try? await attacker.write(bytes, chunk: way == .byteByByte ? 1 : .max)
            attacker.finishWriting()
        }()
        var frames = connection.frames.makeAsyncIterator()
        for body in before { #expect(try await frames.next()?.jpeg?.array() == body) }
        let error = await #expect(throws: TransportError.self) { try await frames.next() }
        #expect(error?.code == .malformedMessage)
        #expect(error?.wireError?.code == hostile.code, "\(error?.description ?? "nothing")")
        // It stays the same, and nothing comes after it.
        #expect(await #expect(throws: TransportError.self) { try await frames.next() } == error)
        #expect(try await connection.closed() == .failed(try #require(error)))
        await attack

        try await innocent.write(message(body(4, count: 3000)))
        #expect(try await received.next()?.jpeg?.array() == body(4, count: 3000))
        #expect(innocentConnection.closeReason == nil)
        withExtendedLifetime(server) {}
    }

    /// Shows P97.
    @Test func `a body without bytes is a frame, and its connection continues`() async throws {
        let directory = try TemporaryDirectory()
        let server = try directory.server()
        let client = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        try await client.write(message([]) + message([1]))
        var frames = connection.frames.makeAsyncIterator()
        #expect(try await frames.next()?.jpeg?.array() == [])
        #expect(try await frames.next()?.jpeg?.array() == [1])
        withExtendedLifetime(server) {}
    }
}
