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
            self.init(
                name,
                code,
                text.replacing(old, with: new).unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
            )
        }
    }

    private static let length = "Content-Length: 4"
    private static let orientation = "Buffer-Orientation: 1\r\n"
    private static let start = "HTTP/1.1 200 OK"

    private static let numbers = [
        Case("two lengths", .fieldDuplicate, orientation, orientation + length + "\r\n"),
        Case("a list of lengths", .numberInvalid, length, "Content-Length: 4, 4"),
        Case("a sign before the length", .numberInvalid, length, "Content-Length: -1"),
        Case("a hexadecimal length", .numberInvalid, length, "Content-Length: 4x4"),
        Case("digits of another alphabet", .numberInvalid, length, "Content-Length: \u{D9}\u{A4}"),
        Case("an empty length", .numberInvalid, length, "Content-Length:"),
        Case("a length with a leading zero", .numberInvalid, length, "Content-Length: 04"),
        Case("a length of 2^63", .contentLengthTooLarge, length, "Content-Length: 9223372036854775808"),
        Case("400 digits", .contentLengthTooLarge, length, "Content-Length: " + String(repeating: "9", count: 400)),
        Case("a length over the limit by 1", .contentLengthTooLarge, length, "Content-Length: \((32 << 20) + 1)"),
        Case("no orientation", .fieldMissing, orientation, ""),
        Case("no width", .numberOutOfRange, "Width: 562", "Width: 0"),
        Case("a width of 65,536", .numberOutOfRange, "Width: 562", "Width: 65536"),
        Case("orientation 9", .numberOutOfRange, "Orientation: 1", "Orientation: 9"),
        Case("two widths", .fieldDuplicate, orientation, orientation + "BUFFER-WIDTH: 562\r\n"),
        Case("too many pixels", .pixelsTooMany, "562\r\nBuffer-Height: 1218", "16384\r\nBuffer-Height: 16384"),
    ]

    private static let headers = [
        Case("an endless head", .headTooLong, "OK\r\n", "OK\r\nX: " + String(repeating: "x", count: 9000)),
        Case("an endless reason", .headTooLong, "OK", String(repeating: "O", count: 9000)),
        Case("33 fields", .headTooManyFields, orientation, orientation + String(repeating: "X: y\r\n", count: 29)),
        Case("NUL in a name", .lineMalformed, orientation, orientation + "X\0: y\r\n"),
        Case("NUL in a value", .lineMalformed, orientation, orientation + "X: \0\r\n"),
        Case("a bare line feed", .lineMalformed, orientation, orientation + "X: y\n"),
        Case("a bare carriage return", .lineMalformed, orientation, orientation + "X: y\r\r\n"),
        Case("a folded line", .lineMalformed, orientation, orientation + " folded\r\n"),
        Case("a space before the colon", .lineMalformed, length, "Content-Length : 4"),
        Case("no colon", .lineMalformed, orientation, orientation + "nothing\r\n"),
        Case("no name", .lineMalformed, orientation, orientation + ": 4\r\n"),
        Case("0x85 in a name", .lineMalformed, orientation, orientation + "X\u{85}: y\r\n"),
        Case("BEL in a value", .lineMalformed, orientation, orientation + "X: \u{7}\r\n"),
        Case("chunks", .fieldUnsupported, orientation, orientation + "Transfer-Encoding: chunked\r\n"),
    ]

    private static let starts = [
        Case("garbage", .startLineMalformed, Array("garbage".utf8)),
        Case("TLS", .startLineMalformed, [0x16, 3, 1, 2, 0, 1]),
        Case("a JPEG", .startLineMalformed, [0xFF, 0xD8, 0xFF, 0xE0]),
        Case("an empty line", .startLineMalformed, start, "\r\n" + start),
        Case("version 2.0", .startLineMalformed, start, "HTTP/2.0 200 OK"),
        Case("the preface of HTTP/2", .startLineMalformed, Array("PRI * HTTP/2.0\r\n\r\n".utf8)),
        Case("a request", .startLineMalformed, Array("GET / HTTP/1.1\r\n\r\n".utf8)),
        Case("status 404", .startLineMalformed, start, "HTTP/1.1 404 Not Found"),
        Case("two spaces before the reason", .startLineMalformed, start, "HTTP/1.1 200  OK"),
    ]

    private static let ends = [
        Case("an end in the body", .bodyTruncated, Array(message(Array("BODY".utf8)).dropLast())),
        Case("an end in the head", .headTruncated, Array(start.utf8)),
    ]

    /// Sound and statuses have their own rules.
    private static let others = [
        Case(
            "an audio rate over the limit",
            .numberOutOfRange,
            audio("Audio-Sample-Rate: 192001", "Audio-Channels: 1")
        ),
        Case("no channels", .numberOutOfRange, audio("Audio-Sample-Rate: 8000", "Audio-Channels: 0")),
        Case("half a sample", .contentLengthInvalid, audio("Audio-Sample-Rate: 8000", "Audio-Channels: 2", length: 3)),
        Case(
            "more sound than the limit",
            .contentLengthTooLarge,
            audio("Audio-Sample-Rate: 8000", "Audio-Channels: 1", length: (256 << 10) + 2)
        ),
        Case(
            "an unknown state",
            .wordUnknown,
            header("Content-Length: 0", "Message-Type: status", "Sender-State: asleep")
        ),
    ]

    static let cases = numbers + headers + starts + ends + others

    private static func header(_ lines: String...) -> [UInt8] {
        Array(([start] + lines + ["", ""]).joined(separator: "\r\n").utf8)
    }

    private static func audio(_ rate: String, _ channels: String, length: Int = 4) -> [UInt8] {
        header("Content-Length: \(length)", "Message-Type: audio", "Audio-Kind: app", rate, channels) + [0, 0, 0, 0]
    }

    enum Way: CaseIterable, Sendable {
        case whole, byteByByte, behindGoodFrames
    }

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

    @Test func `unusual but valid streams are delivered, however they are cut`() async throws {
        let directory = try TemporaryDirectory()
        let server = try directory.server()
        let inner = message(body(1, count: 40))
        let lower = String(decoding: message(Array("BODY".utf8)), as: UTF8.self)
            .replacing("Content-Length: 4", with: "X-Unknown: 1\r\ncontent-length:\t4 ")
        let stream =
            message(inner) + Array(lower.utf8) + message(body(2, count: 30) + [UInt8](repeating: 0, count: 200))
        for chunk in [1, 2, 3, 7, 64, .max] {
            let client = try PeerSocket.connected(to: directory.socket)
            let connection = try #require(try await firstConnection(of: server))
            async let writing: Void = {
                try await client.write(stream, chunk: chunk)
                client.finishWriting()
            }()
            var bodies: [[UInt8]] = []
            for try await frame in connection.frames { bodies.append(frame.bytes) }
            try await writing
            #expect(bodies == [inner, Array("BODY".utf8), body(2, count: 30) + [UInt8](repeating: 0, count: 200)])
            #expect(try await connection.closed() == .closedByPeer(.stoppedByUser))
        }
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
