#if os(Linux)
    import Foundation
    import FrameSocketTesting
    import FrameTransport
    import FrameWire
    import TestSupport
    import Testing

    /// That every descriptor and file goes when what it was for has gone, whoever ends it and how.
    @Suite(.timeLimit(.minutes(5))) struct DescriptorTests {
        /// Shows P190.
        @Test func `one connection that reopens a thousand times uses one descriptor`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let server = try PeerSocket.listening(at: directory.socket)
                let connection = directory.connection { $0.retryInterval = .zero }
                var milestones = connection.milestones()
                connection.open()
                var peer = try await server.accepted()
                #expect(await milestones.next() == .connected)
                let before = try await descriptorsAtStart()
                for _ in 0..<1000 {
                    // Otherwise its pauses would grow.
                    try await connection.send(FrameMessage([1]))
                    #expect(try await peer.nextMessage(where: \.isFrame) != nil)
                    peer.close()
                    #expect(await milestones.next() == .disconnected(.closedByPeer(.stoppedByUser)))
                    peer = try await server.accepted()
                    #expect(await milestones.next() == .connected)
                }
                #expect(await becomesTrue { descriptorsAdded(to: before).isEmpty })
            }
        }

        /// Shows P133.
        @Test func `releasing a connection is enough to close it`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                await IOThread.shared.settle()
                let before = try await descriptorsAtStart()
                do {
                    let server = try directory.server()
                    let connection = directory.connection()
                    try await connection.open(within: nil)
                    let received = try #require(try await firstConnection(of: server))
                    let untaken = directory.connection()
                    try await untaken.open(within: nil)
                    try await connection.send(FrameMessage([1]))
                    #expect(openDescriptors() != before)
                    _ = received
                }
                #expect(await becomesTrue { descriptorsAdded(to: before).isEmpty && directory.names.isEmpty })
            }
        }

        @Test func `releasing the last user of a thread ends the thread`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                await IOThread.shared.settle()
                let threads = { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0 }
                let before = try await descriptorsAtStart()
                let threadsBefore = threads()
                for _ in 0..<20 {
                    weak var thread: IOThread?
                    do {
                        let own = IOThread()
                        thread = own
                        let server = try directory.server { $0.thread = own }
                        let connection = directory.connection { $0.thread = own }
                        try await connection.open(within: nil)
                        try await connection.send(FrameMessage([1]))
                        server.close()
                        try await server.closed()
                        connection.close()
                        _ = try await connection.closed()
                    }
                    #expect(await becomesTrue { thread == nil })
                }
                #expect(await becomesTrue { descriptorsAdded(to: before).isEmpty && threads() <= threadsBefore + 2 })
            }
        }

        @Test(arguments: [false, true])
        func `a program that this one starts inherits no descriptor`(isLong: Bool) async {
            await #expect(processExitsWith: .success) { [isLong] in
                let directory = try TemporaryDirectory()
                let inner = directory.path + (isLong ? "/" + String(repeating: "x", count: 200) : "/x")
                #expect(unsafe mkdir(inner, 0o700) == 0)
                await IOThread.shared.settle()
                let before = try inheritedDescriptors()
                let kinds = openDescriptors()
                // A thread of its own, so that its poller and its wake-up are made here too.
                let thread = IOThread()
                var configuration = FrameServer.Configuration()
                configuration.thread = thread
                let server = try FrameServer(at: inner + "/s", configuration: configuration)
                let dead = directory.path + "/dead"
                _ = try PeerSocket.listening(at: dead)
                let second = try FrameServer(at: dead, configuration: configuration)
                let tokens = HandshakeTokens(shared: [1])
                configuration.tokens = tokens
                let third = try FrameServer(at: .loopback(port: 0), configuration: configuration)
                var settings = SocketConnection.Configuration()
                settings.thread = thread
                let connection = SocketConnection(path: inner + "/s", configuration: settings)
                try await connection.open(within: nil)
                let received = try await firstConnection(of: server)
                settings.tokens = tokens
                let other = SocketConnection(to: third.endpoint, configuration: settings)
                try await other.open(within: nil)
                let otherReceived = try await firstConnection(of: third)

                // Three that listen and four ends; two locks and their directories; a poller and its wake-up, of kinds that
                // the runtime makes and closes too.
                let made = descriptorsAdded(to: kinds)
                #expect(made["socket:"] == 7)
                #expect(made.filter { !$0.key.hasPrefix("anon_inode:") }.values.reduce(0, +) == 11)
                #expect(made.keys.contains { $0.hasPrefix("anon_inode:") })
                #expect(try inheritedDescriptors() == before)
                withExtendedLifetime((server, second, third, connection, received, other, otherReceived)) {}
            }
        }

        @Test(arguments: [false, true])
        func `a thread that could not be started is an error of the server that uses it`(isReader: Bool) async {
            await #expect(processExitsWith: .success) { [isReader] in
                let directory = try TemporaryDirectory()
                var made: IOThread?
                try await withoutDescriptors { made = IOThread() }
                let thread = try #require(made)
                let error = #expect(throws: TransportError.self) {
                    try directory.server { if isReader { $0.readers = [thread] } else { $0.thread = thread } }
                }
                #expect(error?.code == .system && error?.underlyingErrno == EMFILE)
            }
        }

        /// Shows P291.
        @Test func `a thread that could not be started ends the connection that uses it`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                var made: IOThread?
                try await withoutDescriptors { made = IOThread() }
                let thread = try #require(made)
                let server = try directory.server()
                for closes in [false, true] {
                    let connection = directory.connection { $0.thread = thread }
                    var states = connection.states.makeAsyncIterator()
                    #expect(await states.next() == .idle)
                    if closes { connection.close() } else { connection.open() }
                    var last: SocketConnection.State?
                    while let state = await states.next() { last = state }
                    let error = last?.closeReason?.error
                    #expect(closes ? last == .ended(.closedLocally(.stoppedByUser)) : error?.underlyingErrno == EMFILE)
                    #expect(connection.hasEnded)
                }
                // Tasks that prefer the thread run nevertheless.
                #expect(await Task(executorPreference: thread) { 5 }.value == 5)
                _ = server
            }
        }

        /// Shows P190.
        @Test func `a server that failed to start leaves nothing open`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let blocked = try TemporaryDirectory()
                try Data().write(to: URL(fileURLWithPath: blocked.socket))
                let open = try TemporaryDirectory()
                #expect(unsafe chmod(open.path, 0o777) == 0)
                let linked = try TemporaryDirectory()
                #expect(unsafe symlink("/dev/null", linked.socket + ".lock") == 0)
                let server = try directory.server()
                let before = try await descriptorsAtStart()
                for _ in 0..<100 {
                    #expect(throws: TransportError.self) { try directory.server() }
                    #expect(throws: TransportError.self) { try blocked.server() }
                    #expect(throws: TransportError.self) { try open.server() }
                    #expect(throws: TransportError.self) { try linked.server() }
                    #expect(throws: TransportError.self) { try FrameServer(at: directory.path + "/none/socket") }
                }
                #expect(await becomesTrue { descriptorsAdded(to: before).isEmpty })
                _ = server
            }
        }
    }
#endif
