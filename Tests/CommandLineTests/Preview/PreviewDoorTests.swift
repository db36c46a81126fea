import Foundation
import FrameSocketTesting
import TestDescriptions
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// Who gets in at `framesocket preview`, and who cannot keep others out.
@Suite(.serialized, .timeLimit(.minutes(5))) struct PreviewDoorTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    /// The port of a new preview's page.
    private func port(timeScale: Double = 1) async throws -> Int {
        let arguments = ["preview", place.socket, "--http", "127.0.0.1:0", "--json"]
        let program = try place.framesocket(arguments, timeScale: timeScale)
        return try #require(try Event(try await program.lines(2)[1])["port"])
    }

    /// A request that is served to the owner.
    private static let request = "GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n"
    private static let isServed = "HTTP/1.1 200 OK"

    @Test func `the owner may close the sending half of the connection`() async throws {
        let client = try PageConnection(to: await port())
        try await client.write(Self.request)
        client.socket.finishWriting()
        #expect(try await client.statusLine() == Self.isServed)
    }

    @Test(.needsVersion6) func `the owner may connect over a dual-stack socket`() async throws {
        let client = try PageConnection(to: await port(), at: "::ffff:127.0.0.1")
        try await client.write(Self.request)
        #expect(try await client.statusLine() == Self.isServed)
    }

    @Test(.needsRoot)
    func `slow connections of another user keep nobody out`() async throws {
        let port = try await port()
        let others = try place.stranger("hold", "\(port)", "60")
        try await others.lines(1)
        let own = try PageConnection(to: port)
        try await own.write(Self.request)
        #expect(try await own.statusLine() == Self.isServed)
        #expect(try await others.lines(1) == ["held"])
    }

    @Test func `idle connections of the owner keep nobody out: the oldest makes way`() async throws {
        let port = try await port()
        // As many as there may be: two for each of 16 viewers, and 32.
        let held = try (0..<64).map { _ in try PageConnection(to: port) }
        let own = try (0..<8).map { _ in try PageConnection(to: port) }
        for client in own {
            try await client.write(Self.request)
            #expect(try await client.statusLine() == Self.isServed)
        }
        for client in held[..<8] { #expect(try await client.socket.readSome(upTo: 1) == []) }
        // The others are still there: they have not been closed for being late.
        for client in held[8...] { #expect(client.socket.isQuiet) }
    }

    @Test(
        arguments: [
            ("GET /%73tate HTTP/1.1\r\nHost: localhost", "200 OK"),
            // Not the path in front of the NUL.
            ("GET /%00 HTTP/1.1\r\nHost: localhost", "404 Not Found"),
            ("GET /state%00 HTTP/1.1\r\nHost: localhost", "404 Not Found"),
            ("GET /state?sender=%00 HTTP/1.1\r\nHost: localhost", "400 Bad Request"),
            ("GET / HTTP/1.1\r\nHost: localhost\r\nhost: localhost", "400 Bad Request"),
            ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example", "400 Bad Request"),
        ].map { (Short($0), $1) }
    )
    func `a request means one thing`(head: Short, status: String) async throws {
        let client = try PageConnection(to: await port())
        try await client.write(head.text + "\r\n\r\n")
        #expect(try await client.statusLine() == "HTTP/1.1 \(status)")
    }

    @Test func `a request that arrives byte by byte has a deadline`() async throws {
        // A second, of ten.
        let client = try PageConnection(to: await port(timeScale: 0.1))
        try await client.write("GET / HTTP/1.1\r\nHost: ")
        while await client.isOpen() {
            // It may be closed just now.
            try? await client.write("x")
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
