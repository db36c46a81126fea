#if os(Linux)
    import Foundation
    import FrameSocketTesting
    import FrameWire
    import TestDescriptions
    import TestSupport
    import Testing

    @testable import FrameTransport

    /// How a server takes those who connect, when there are too many of them or too few descriptors.
    @Suite(.timeLimit(.minutes(5))) struct AcceptingTests {
        @Test func `pauses double up to the longest, and then start again`() {
            var pauses = Backoff(first: .milliseconds(100), longest: .seconds(1))
            let expected: [Duration] = [100, 200, 400, 800, 1000, 1000].map { .milliseconds($0) }
            for _ in 0..<2 {
                #expect(expected.map { _ in pauses.next() } == expected)
                pauses.reset()
            }
        }

        @Test func `the limits have their documented defaults`() {
            let limits = FrameServer.Limits()
            #expect(limits.maximumConnections == 64 && limits.maximumBacklog == 128)
            #expect(limits.firstAcceptPause == .milliseconds(100) && limits.maximumAcceptPause == .seconds(1))
            #expect(SocketConnection.Configuration().connectTimeout == .seconds(2))
        }

        /// Shows P154.
        @Test(.besideBystander, arguments: [1, 2, 64])
        func `one idle connection over the limit is closed at once, and the others live on`(
            limit: Int
        ) async throws {
            let directory = try TemporaryDirectory()
            let server = try directory.server { $0.limits.maximumConnections = limit }
            let clients = try (0..<limit).map { _ in try PeerSocket.connected(to: directory.socket) }
            var taking = server.connections.makeAsyncIterator()
            var connections: [FrameConnection] = []
            for _ in 0..<limit { connections.append(try #require(try await taking.next())) }
            for _ in 0..<3 {
                let oneMore = try PeerSocket.connected(to: directory.socket)
                #expect(try await oneMore.read(1).isEmpty)
            }
            #expect(server.statistics.refusedConnections == 3)
            for (client, connection) in zip(clients, connections) {
                try await client.write(message(body(1, count: 500)))
                var frames = connection.frames.makeAsyncIterator()
                #expect(try await frames.next()?.jpeg?.array() == body(1, count: 500))
            }
            // A place that becomes free is given out again.
            clients[0].close()
            #expect(try await connections[0].closed() == .closedByPeer(.stoppedByUser))
            await IOThread.shared.settle()
            let next = try PeerSocket.connected(to: directory.socket)
            #expect(try await taking.next()?.id == limit + 1)
            _ = next
        }

        /// Shows P155.
        @Test(.leftOut(of: .faults, because: "it counts calls of accept"))
        func `accepting continues when there are descriptors again, and no connection is lost`() async {
            await #expect(processExitsWith: .success) {
                let bystander = try await Bystander()
                let directory = try TemporaryDirectory()
                let server = try directory.server {
                    $0.limits.firstAcceptPause = .milliseconds(1)
                    $0.limits.maximumAcceptPause = .milliseconds(4)
                }
                let clients = (0..<20).map { _ in PeerSocket.unconnected() }
                try await withoutDescriptors {
                    let before = SyscallHooks.accepts
                    for client in clients {
                        try client.connect(to: directory.socket)
                        try await client.write(message(body(client === clients[0] ? 1 : 2, count: 300)))
                    }
                    // It has tried again, more than once.
                    #expect(await becomesTrue { SyscallHooks.accepts >= before + 3 })
                    try await bystander.exchange(0)
                }
                var connections = server.connections.makeAsyncIterator()
                for index in clients.indices {
                    let connection = try #require(try await connections.next())
                    var frames = connection.frames.makeAsyncIterator()
                    #expect(try await frames.next()?.jpeg?.array() == body(index == 0 ? 1 : 2, count: 300))
                }
                try await bystander.exchange(1)
            }
        }
    }
#endif
