import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// Costs that are the same on every machine: memory asked for, and system calls.
@Suite(.timeLimit(.minutes(5))) struct CostTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Shows P180.
    @Test(arguments: [true, false]) func `a thousand frames need only the memory of the first ones`(isOnThread: Bool)
        async throws
    {
        let pool = FrameBytes.Pool(maximumIdleBytes: 16 << 20)
        let server = try directory.server { $0.pool = pool }
        let connection = directory.connection()
        try await connection.open(within: nil)
        let received = try #require(try await firstConnection(of: server))
        let sending = Task {
            // The size changes as that of images does, and is known to the receiver after a few of them.
            let messages = (0..<10).map { FrameMessage(body($0, count: 90_000 + 1000 * $0)) }
            for index in 0..<1050 { try await connection.send(messages[index % 10]) }
            connection.close()
        }
        let consume = { @Sendable () async throws in
            var count = 0
            for try await _ in received.frames { count += 1 }
            #expect(count == 1050)
        }
        if isOnThread {
            try await Task(executorPreference: received.thread) { try await consume() }.value
        } else {
            try await consume()
        }
        try await sending.value
        // One of the size that is tried first; then one with the consumer, those that are read ahead, and one being filled.
        // Two more, since an interrupted task may hold the frames that it has finished with for longer: in 100 runs with
        // faults, on busy processors, there were 13 once.
        #expect(pool.allocations <= 5 + FrameServer.Delivery.maximumReadAhead)
    }

    @Test func `a frame is passed on in no more than 128 bytes`() {
        // What is longer is copied by a call, each of the dozen times that a frame is passed on.
        #expect(MemoryLayout<Frame>.size <= 124)
        #expect(MemoryLayout<FrameAssembler.Event>.size <= 128)
    }

    /// Shows P180.
    @Test(.tooSlow(for: .brief))
    func `a claim of much memory gets only what has arrived`() async throws {
        let pool = FrameBytes.Pool(maximumIdleBytes: 64 << 20)
        let server = try directory.server { $0.pool = pool }
        let header = String(decoding: message([]), as: UTF8.self)
        let claim = Array(header.replacing("Content-Length: 0", with: "Content-Length: 33554432").utf8)
        var clients: [PeerSocket] = []
        for _ in 0..<64 {
            let client = try PeerSocket.connected(to: directory.socket)
            try await client.write(claim + body(1, count: 1000))
            clients.append(client)
        }
        var connections: [FrameConnection] = []
        for try await connection in server.connections {
            connections.append(connection)
            if connections.count == 64 { break }
        }
        await server.settle()
        // Those that the large half of the budget has room for; the others are not read until it has.
        #expect(pool.allocations == 8)
        // What they gave back serves bodies of 64 KiB, and no larger ones.
        server.close()
        for client in clients { client.close() }
        try await server.closed()
        connections = []
        await server.settle()
        let small = (0..<64).map { _ in FrameBytes(copying: body(0, count: 64 << 10).span, pool: pool) }
        #expect(pool.allocations == 64 && small.count == 64)
    }

    #if os(Linux)
        @Test(.leftOut(of: .faults, because: "it counts reads and writes"))
        func `a frame that fits costs one write and two reads, and consecutive frames one read each`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let server = try directory.server()
                let connection = directory.connection {
                    // Of its own, so that it sends while that of the server stands still.
                    $0.thread = IOThread()
                    $0.padsShortBodies = false
                }
                try await connection.open(within: nil)
                let received = try #require(try await firstConnection(of: server))
                var frames = received.frames.makeAsyncIterator()
                let thread = received.thread
                // The first one teaches both ends how large frames are.
                try await connection.send(FrameMessage(body(0, count: 50_000)))
                #expect(try await frames.next() != nil)

                let paced = try await SyscallHooks.transfers {
                    for round in 0..<100 {
                        try await thread.whileHeld {
                            try await connection.send(FrameMessage(body(round, count: 50_000)))
                        }
                        #expect(try await frames.next()?.jpeg?.array() == body(round, count: 50_000))
                        await thread.settle()
                    }
                }
                #expect(paced.writes == 100)
                #expect(paced.reads == 200)

                let inRows = try await SyscallHooks.transfers {
                    for _ in 0..<10 {
                        try await thread.whileHeld {
                            for round in 0..<10 { try await connection.send(FrameMessage(body(round, count: 5000))) }
                        }
                        for round in 0..<10 {
                            #expect(try await frames.next()?.jpeg?.array() == body(round, count: 5000))
                        }
                        await thread.settle()
                    }
                }
                #expect(inRows.writes == 100)
                #expect(inRows.reads <= 110)
            }
        }

        @Test(.leftOut(of: .faults, because: "it counts how often a thread waits"))
        func `a frame costs a consumer on the connection's thread one wait`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let (server, sender, received) = try await directory.openReception()
                let (consumed, signal) = AsyncStream.makeStream(of: Void.self)
                Task(executorPreference: received.thread) {
                    for try await _ in received.frames { signal.yield() }
                }
                var signals = consumed.makeAsyncIterator()
                let before = SyscallHooks.waits
                for round in 0..<100 {
                    try await sender.write(message(body(round, count: 1000)))
                    await signals.next()
                }
                // Two each if the thread looked at its sockets again before it ran the consumer; less than one each if the next
                // frame is there before it has looked.
                #expect((1..<150).contains(SyscallHooks.waits - before))
                withExtendedLifetime(server) {}
            }
        }

        @Test func `a connection whose turn is over continues after the sockets have been polled`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let (server, sender, received) = try await directory.openReception()
                let turns = 20
                let messages = (0..<turns * ReceiverMachine.Turn.messages).flatMap { message(body($0, count: 1)) }
                let before = SyscallHooks.waits
                try await received.thread.whileHeld { try await sender.write(messages) }
                let consuming = Task(executorPreference: received.thread) {
                    var count = 0
                    for try await _ in received.frames { count += 1 }
                    return count
                }
                sender.finishWriting()
                #expect(try await consuming.value == turns * ReceiverMachine.Turn.messages)
                #expect(SyscallHooks.waits - before >= turns)
                withExtendedLifetime(server) {}
            }
        }

        @Test(.leftOut(of: .faults, because: "it counts how often a thread waits"))
        func `a peer that reads does not wake a thread that waits for nothing`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let listener = try PeerSocket.listening(at: directory.socket)
                let connection = directory.connection { $0.padsShortBodies = false }
                connection.open()
                let peer = try await listener.accepted()
                try await connection.open(within: nil)
                let message = FrameMessage(body(0, count: 50_000))
                let byteCount =
                    50_000
                    + FrameHeader(contentLength: 50_000, info: message.info).encoded()
                    .count
                await connection.thread.settle()
                let before = SyscallHooks.waits
                for _ in 0..<100 {
                    try await connection.send(message)
                    // In pieces, each of which makes room.
                    for _ in 0..<10 { _ = try await peer.read(byteCount / 10) }
                    _ = try await peer.read(byteCount % 10)
                }
                await connection.thread.settle()
                // A report for each frame at the least, if there were any; this many are those of settling.
                #expect(SyscallHooks.waits - before < 50)
                connection.close()
            }
        }
    #endif
}
