#if os(Linux)
    import Foundation
    import FrameSocketTesting
    import FrameTransport
    import TestSupport
    import Testing

    /// Paths that no socket's address holds, which a directory's descriptor makes short.
    @Suite(.timeLimit(.minutes(5)), .besideBystander) struct LongPathTests {
        let directory: TemporaryDirectory
        /// A directory below it, of more than 300 bytes.
        let inner: String

        init() throws {
            directory = try TemporaryDirectory()
            inner = directory.path + String(repeating: "/" + String(repeating: "ü", count: 50), count: 3)
            try FileManager.default.createDirectory(
                atPath: inner,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        }

        private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: inner).sorted()) ?? [] }

        private func connection(to path: String) -> SocketConnection {
            var configuration = SocketConnection.Configuration()
            configuration.retryInterval = .milliseconds(1)
            return SocketConnection(path: path, configuration: configuration)
        }

        @Test(arguments: [1, 8, 82]) func `frames go through a path of more than 300 bytes`(length: Int)
            async throws
        {
            let name = String(repeating: "s", count: length)
            let path = inner + "/" + name
            #expect(path.utf8.count > 300)
            let server = try FrameServer(at: path)
            #expect(server.path == path)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let connection = connection(to: path)
            #expect(connection.path == path)
            try await connection.open(within: nil)
            let received = try #require(try await firstConnection(of: server))
            try await connection.send(FrameMessage(body(1, count: 100_000)))
            #expect(try await received.nextBytes() == body(1, count: 100_000))

            // A second one is told so, and another program reaches the first by a shorter way.
            #expect(failure(at: path)?.code == .addressInUse)
            let short = directory.path + "/l"
            try FileManager.default.createSymbolicLink(atPath: short, withDestinationPath: inner)
            let other = try PeerSocket.connected(to: short + "/" + name)
            #expect(try await firstConnection(of: server) != nil)
            server.close()
            other.close()
            connection.close()
            try await server.closed()
            #expect(names.isEmpty)
        }

        @Test func `a directory whose name is not UTF-8 is reached through its descriptor`() async throws {
            let bytes = Array(directory.path.utf8CString.dropLast()) + [0x2F, 0x63, -1, 0]
            try #require(unsafe mkdir(bytes, 0o700) == 0)
            let descriptor = unsafe open(bytes, O_RDONLY | O_DIRECTORY)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            let path = "/proc/self/fd/\(descriptor)/socket"
            let server = try FrameServer(at: path)
            #expect(try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd/\(descriptor)/").count == 2)
            let connection = connection(to: path)
            try await connection.open(within: nil)
            let received = try #require(try await firstConnection(of: server))
            try await connection.send(FrameMessage(body(1, count: 1000)))
            var frames = received.frames.makeAsyncIterator()
            #expect(try await frames.next()?.jpeg?.array().prefix(1000) == body(1, count: 1000)[...])
            server.close()
            connection.close()
            try await server.closed()
            #expect(try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd/\(descriptor)/").isEmpty)
        }

        @Test func `a last component that leaves no room for its directory is refused, with both limits`() {
            let error = failure(at: inner + "/" + String(repeating: "s", count: 83))
            #expect(error?.code == .pathTooLong)
            #expect(
                error?.description.contains("has \(inner.utf8.count + 84) bytes; a socket's path may have at most 107")
                    == true
            )
            #expect(error?.description.contains("at most 82 and not 83") == true)
        }

        @Test(arguments: [(256, 1), (8, 456), (0, 1 << 20)])
        func `a path that no file can have is refused at both ends`(length: Int, depth: Int) async throws {
            let part = "/" + String(repeating: "d", count: length)
            let path = String(repeating: part, count: depth) + "/s"
            let code = failure(at: path)?.code
            #expect(code == .pathTooLong)
            let connection = connection(to: path)
            let error = await #expect(throws: TransportError.self) { try await connection.open(within: .zero) }
            #expect(error?.code == .pathTooLong)
        }

        @Test func `a missing long directory is named, and a sender waits for it`() async throws {
            let path = inner + "/none/s"
            #expect(failure(at: path)?.code == .cannotCreate)
            let connection = connection(to: path)
            let error = await #expect(throws: TransportError.self) { try await connection.open(within: .zero) }
            #expect(error?.code == .openTimedOut && error?.underlyingErrno == ENOENT)
            #expect(unsafe mkdir(inner + "/none", 0o700) == 0)
            let server = try FrameServer(at: path)
            try await connection.open(within: nil)
            _ = server
        }
    }
#endif
