#if os(Linux)
    import Foundation
    import FrameSocketTesting
    import FrameTransport
    import TestSupport
    import Testing

    /// Listening sockets that somebody else has made, and keeps.
    @Suite(.timeLimit(.minutes(5)), .besideBystander) struct InheritedSocketTests {
        let directory: TemporaryDirectory

        init() throws {
            directory = try TemporaryDirectory()
        }

        /// The descriptor once more, as a service manager keeps its own while it passes one.
        private func passed(_ socket: PeerSocket, name: String? = nil) -> FrameServer.InheritedSocket {
            FrameServer.InheritedSocket(descriptor: dup(socket.descriptor), name: name)
        }

        private func failure(of socket: FrameServer.InheritedSocket) -> TransportError? {
            do throws(TransportError) {
                _ = try FrameServer(inheriting: socket)
                return nil
            } catch {
                return error
            }
        }

        /// Shows P245.
        @Test func `frames arrive through an inherited socket, and its file stays for the next server`() async throws {
            let manager = try PeerSocket.listening(at: directory.socket)
            for round in 0..<3 {
                let server = try FrameServer(inheriting: passed(manager))
                #expect(server.endpoint == .path(directory.socket))
                let sender = directory.connection()
                try await sender.open(within: nil)
                try await sender.send(FrameMessage(body(round, count: 20_000)))
                // Others may come first that say nothing: those that waited since the round before.
                var frame: Frame?
                for try await connection in server.connections {
                    var frames = connection.frames.makeAsyncIterator()
                    frame = try await frames.next()
                    guard frame != nil else { continue }
                    #expect(connection.peer?.processID == getpid())
                    break
                }
                #expect(frame?.jpeg?.array() == body(round, count: 20_000))
                server.close()
                try await server.closed()
                #expect(directory.names == ["rtc_SSFD"])
                // It listens still: who comes now waits for the next.
                try PeerSocket.connected(to: directory.socket).close()
            }
        }

        /// Shows P129.
        @Test func `a sender that was not accepted waits for the next server`() async throws {
            let manager = try PeerSocket.listening(at: directory.socket)
            let first = try FrameServer(inheriting: passed(manager))
            let sender = try await IOThread.shared.whileHeld {
                let sender = try PeerSocket.connected(to: directory.socket)
                try await sender.write(message(body(1, count: 1000)))
                first.drain()
                return sender
            }
            try #require(try await firstConnection(of: first) == nil)
            let next = try FrameServer(inheriting: passed(manager))
            #expect(try await firstConnection(of: next)?.nextBytes() == body(1, count: 1000))
            withExtendedLifetime(sender) {}
        }

        @Test func `an inherited port of the loopback address requires tokens, like one of its own`() async throws {
            let manager = try PeerSocket.listening(at: .loopback(port: 0))
            #expect(failure(of: passed(manager))?.code == .tokenRequired)
            var configuration = FrameServer.Configuration()
            configuration.tokens = HandshakeTokens(own: [1], expected: [2])
            let server = try FrameServer(inheriting: passed(manager), configuration: configuration)
            #expect(server.endpoint == .loopback(port: manager.port))
            var own = SocketConnection.Configuration()
            own.tokens = HandshakeTokens(own: [2], expected: [1])
            let sender = SocketConnection(to: server.endpoint, configuration: own)
            try await sender.open(within: nil)
            #expect(try await firstConnection(of: server) != nil)
        }

        @Test func `an abstract name is shown with an @`() throws {
            let name = "fs-\(UUID().uuidString)"
            let manager = PeerSocket.unconnected()
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: [0] + name.utf8) }
            let length = socklen_t(2 + 1 + name.utf8.count)
            let result = unsafe withUnsafePointer(to: &address) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe bind(manager.descriptor, $0, length)
                }
            }
            #expect(result == 0 && listen(manager.descriptor, 1) == 0)
            #expect(try FrameServer(inheriting: passed(manager)).path == "@" + name)
        }

        enum Unfit: CaseIterable {
            case closed, file, idle, connection, datagrams, packets, openPort
        }

        /// Whether the system tells whether a socket listens; Apple's do not.
        private func isTold(of socket: PeerSocket) -> Bool {
            var listens: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            return unsafe getsockopt(socket.descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0
        }

        /// Shows P245.
        @Test(arguments: Unfit.allCases) func `an unusable descriptor is refused with the reason`(kind: Unfit)
            async throws
        {
            let manager = try kind == .idle ? PeerSocket.bound(to: directory.socket) : .listening(at: directory.socket)
            let client = try kind == .idle ? .unconnected() : PeerSocket.connected(to: directory.socket)
            if kind == .idle || kind == .connection, !isTold(of: manager) { return }
            var holders: [PeerSocket] = [manager]
            func socket(_ type: __socket_type) -> Int32 {
                holders.append(PeerSocket(descriptor: Glibc.socket(AF_UNIX, Int32(type.rawValue), 0)))
                return dup(holders[holders.count - 1].descriptor)
            }
            /// One that others can reach.
            func listeningPort() -> Int32 {
                holders.append(.unconnected(isLocal: false))
                #expect(listen(holders[holders.count - 1].descriptor, 1) == 0)
                return dup(holders[holders.count - 1].descriptor)
            }
            let (descriptor, reason): (Int32, String) =
                switch kind {
                case .closed: (1 << 20, "is not a socket")
                case .file: (unsafe open("/dev/null", O_RDONLY | O_CLOEXEC), "is not a socket")
                case .idle: (dup(manager.descriptor), "does not listen")
                case .connection: (dup(client.descriptor), "Accept=yes")
                case .datagrams: (socket(SOCK_DGRAM), "frames need a stream")
                case .packets: (socket(SOCK_SEQPACKET), "frames need a stream")
                case .openPort: (listeningPort(), "nor at a port of 127.0.0.1")
                }
            let error = try #require(failure(of: FrameServer.InheritedSocket(descriptor: descriptor)))
            #expect(error.code == .unfitSocket && error.description.contains(reason), "\(error)")
            // It was taken over all the same: nobody holds it now.
            guard kind == .connection else { return }
            let accepted = try await manager.accepted()
            client.close()
            #expect(try await accepted.read(1) == [])
        }

        /// LISTEN_PID, which is `own` for this process, LISTEN_FDS and LISTEN_FDNAMES, and the names of the sockets; nil if
        /// they are refused.
        private typealias Environment = (process: String?, count: String?, names: String?, expected: [String?]?)

        private static let environments: [Environment] = [
            (nil, "2", nil, []), ("1", "2", nil, []), ("own", nil, nil, []), ("own", "0", nil, []),
            ("own", "2", nil, [nil, nil]), ("own", "2", "frames:control", ["frames", "control"]),
            ("own", "2", "frames:", ["frames", ""]), ("own", "2", "frames", [nil, nil]),
            ("own", "1", "unknown", ["unknown"]), ("own", "3", nil, nil), ("own", "-1", nil, nil),
            ("own", "two", nil, nil),
            ("own", "", nil, nil), ("own", "2147483647", nil, nil), ("own", "99999999999999999999", nil, nil),
        ]

        @Test func `systemd's variables are read as documented`() throws {
            for environment in Self.environments { try expectSockets(of: environment) }
        }

        private func expectSockets(of environment: Environment) throws {
            // Low ones come and go in a process of many threads.
            let first: Int32 = 700
            var made: Int32 = -1
            while made < 0 { made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }
            defer { for number in [made, first, first + 1] { _ = close(number) } }
            for number in [first, first + 1] { _ = dup2(made, number) }
            let values = [
                "LISTEN_PID": environment.process == "own" ? "\(getpid())" : environment.process,
                "LISTEN_FDS": environment.count, "LISTEN_FDNAMES": environment.names,
            ]
            do {
                let sockets = try FrameServer.InheritedSocket.passed(from: first) { values[$0] ?? nil }
                #expect(sockets.map(\.name) == environment.expected, "\(environment)")
                #expect(sockets.map(\.descriptor) == sockets.indices.map { Int32($0) + first })
                #expect(sockets.allSatisfy { fcntl($0.descriptor, F_GETFD) == FD_CLOEXEC })
            } catch {
                #expect(environment.expected == nil && error.code == .unfitSocket, "\(environment): \(error)")
            }
        }
    }
#endif
