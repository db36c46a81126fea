import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// Who gets in at `framesocket preview`, and who cannot keep others out.
@Suite(.serialized) struct PreviewDoorTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    /// Runs a Python program, in which `port` is the page's.
    private func python(_ program: String, _ port: Int) throws -> Program {
        let file = try place.file("client.py", Array("import socket, sys, time\nport = \(port)\n\(program)".utf8))
        return try place.start(Places.python, ["-B", file])
    }

    private static let request = #"b"GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n""#

    private func site(timeScale: Double = 1) async throws -> (program: Program, port: Int) {
        let arguments = ["preview", place.socket, "--http", "127.0.0.1:0", "--json"]
        let program = try place.framesocket(arguments, timeScale: timeScale)
        let event = try Event(try await program.lines(2)[1])
        return (program, try #require(event["port"]))
    }

    @Test func `the owner may close the sending half of the connection`() async throws {
        let site = try await site()
        let client = try python(
            """
            s = socket.create_connection(("127.0.0.1", port))
            s.sendall(\(Self.request)); s.shutdown(socket.SHUT_WR)
            print(s.recv(100).split(b"\\r\\n")[0].decode())
            """,
            site.port
        )
        #expect(await client.ended().lines == ["HTTP/1.1 200 OK"])
    }

    @Test(.needsVersion6) func `the owner may connect over a dual-stack socket`() async throws {
        let site = try await site()
        let client = try python(
            """
            s = socket.socket(socket.AF_INET6); s.connect(("::ffff:127.0.0.1", port))
            s.sendall(\(Self.request))
            print(s.recv(100).split(b"\\r\\n")[0].decode())
            """,
            site.port
        )
        #expect(await client.ended().lines == ["HTTP/1.1 200 OK"])
    }

    @Test(.needsRoot)
    func `slow connections of another user keep nobody out`() async throws {
        let site = try await site()
        let others = try python(
            """
            # Imported before: the other user may not be able to read Python's own files.
            import encodings.idna, os
            os.setuid(65534)
            held = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
            for s in held:
                try: s.sendall(b"GET / HT")
                except OSError: pass
            print("held", flush=True)
            time.sleep(1000)
            """,
            site.port
        )
        _ = try await others.lines(1)
        let own = try python(
            """
            s = socket.create_connection(("127.0.0.1", port), timeout=60)
            s.sendall(\(Self.request))
            print(s.recv(100).split(b"\\r\\n")[0].decode())
            """,
            site.port
        )
        #expect(await own.ended().lines == ["HTTP/1.1 200 OK"])
        #expect(try await others.lines(1) == ["held"])
    }

    @Test func `idle connections of the owner keep nobody out: the oldest makes way`() async throws {
        let site = try await site()
        let client = try python(
            """
            # As many as there may be: two for each of 16 viewers, and 32.
            held = [socket.create_connection(("127.0.0.1", port)) for _ in range(64)]
            own = []
            for _ in range(8):
                own.append(socket.create_connection(("127.0.0.1", port), timeout=60))
                own[-1].sendall(\(Self.request))
                print(own[-1].recv(100).split(b"\\r\\n")[0].decode())
            for client in held[:8]:
                client.settimeout(60)
                assert client.recv(1) == b""
            def isOpen(client):
                client.setblocking(False)
                try: return client.recv(1) != b""
                except BlockingIOError: return True
            # The others are still there: they have not been closed for being late.
            print(sum(isOpen(client) for client in held[8:]))
            """,
            site.port
        )
        #expect(await client.ended().lines == Array(repeating: "HTTP/1.1 200 OK", count: 8) + ["56"])
    }

    @Test(arguments: [
        (#"GET /%73tate HTTP/1.1\r\nHost: localhost"#, "200 OK"),
        // Not the path in front of the NUL.
        (#"GET /%00 HTTP/1.1\r\nHost: localhost"#, "404 Not Found"),
        (#"GET /state%00 HTTP/1.1\r\nHost: localhost"#, "404 Not Found"),
        (#"GET /state?sender=%00 HTTP/1.1\r\nHost: localhost"#, "400 Bad Request"),
        (#"GET / HTTP/1.1\r\nHost: localhost\r\nhost: localhost"#, "400 Bad Request"),
        (#"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example"#, "400 Bad Request"),
    ])
    func `a request means one thing`(head: String, status: String) async throws {
        let site = try await site()
        let client = try python(
            """
            s = socket.create_connection(("127.0.0.1", port), timeout=60)
            s.sendall(b"\(head)\\r\\n\\r\\n")
            print(s.recv(100).split(b"\\r\\n")[0].decode())
            """,
            site.port
        )
        #expect(await client.ended().lines == ["HTTP/1.1 \(status)"])
    }

    @Test func `a request that arrives byte by byte has a deadline`() async throws {
        // A second, of ten.
        let site = try await site(timeScale: 0.1)
        let client = try python(
            """
            s = socket.create_connection(("127.0.0.1", port)); s.settimeout(0.1)
            s.sendall(b"GET / HTTP/1.1\\r\\nHost: ")
            while True:
                try:
                    s.sendall(b"x")
                    if s.recv(1) == b"": break
                except TimeoutError: continue
                except OSError: break
            print("closed")
            """,
            site.port
        )
        #expect(await client.ended().lines == ["closed"])
    }
}
