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
        @Test func `the limits have their documented defaults`() {
            let limits = FrameServer.Limits()
            #expect(limits.maximumConnections == 64 && limits.maximumBacklog == 128)
            #expect(limits.firstAcceptPause == .milliseconds(100) && limits.maximumAcceptPause == .seconds(1))
            #expect(SocketConnection.Configuration().connectTimeout == .seconds(2))
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
                    #expect(try await connection.nextBytes() == body(index == 0 ? 1 : 2, count: 300))
                }
                try await bystander.exchange(1)
            }
        }
    }
#endif
