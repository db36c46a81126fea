import Foundation
import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// Senders that have left keep nothing except the frames that can still be taken.
@Suite(.timeLimit(.minutes(5))) struct DepartedVisitorTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Connects, sends some frames, and leaves; waits until the server has noticed that.
    private func visit(_ server: FrameServer, frames: Int, size: Int) async throws {
        let before = server.departedVisitors
        let visitor = try PeerSocket.connected(to: directory.socket)
        // One that is refused has left before this one does.
        for index in 0..<frames { try? await visitor.write(message(body(index, count: size))) }
        visitor.close()
        try #require(
            await becomesTrue { server.departedVisitors > before },
            "a sender that has left keeps its slot"
        )
    }

    /// Sends a frame on a new connection, and expects it on the only one that has not ended.
    private func expectService(by server: FrameServer, size: Int) async throws {
        let innocent = try PeerSocket.connected(to: directory.socket)
        let isServed = try await soon {
            do {
                try await innocent.write(message(body(99, count: size)))
            } catch {
                return false
            }
            for try await connection in server.connections where connection.closeReason == nil {
                var frames = connection.frames.makeAsyncIterator()
                return try await frames.next()?.jpeg?.array() == body(99, count: size)
            }
            return false
        }
        #expect(
            isServed == true,
            "the innocent sender is not served; \(server.statistics.refusedConnections) were refused"
        )
    }

    /// Shows P188.
    @Test(arguments: [0, 1, 3])
    func `short visits that nobody consumes occupy no slot`(frames: Int) async throws {
        let server = try directory.server { $0.limits.maximumConnections = 4 }
        for _ in 0..<20 { try await visit(server, frames: frames, size: 500) }
        #expect(server.statistics.refusedConnections == 0)
        try await expectService(by: server, size: 500)
    }

    @Test(arguments: [0, 1, 3])
    func `a sender that leaves is noticed even if nobody consumes its frames`(frames: Int) async throws {
        let server = try directory.server()
        let visitor = try PeerSocket.connected(to: directory.socket)
        for index in 0..<frames { try await visitor.write(message(body(index, count: 500))) }
        visitor.close()
        let connection = try #require(try await firstConnection(of: server))
        #expect(try await soon { try await connection.closed() } == .closedByPeer(.stoppedByUser))
        // What was complete can still be taken.
        let received = try await soon {
            var received: [[UInt8]] = []
            for try await frame in connection.frames { received.append(frame.bytes) }
            return received
        }
        #expect(received == (0..<frames).map { body($0, count: 500) })
    }

    /// 256 KiB for large frames, and 64 KiB for each of two connections without asking.
    private static func smallBudget() -> FrameServer.MemoryBudget { FrameServer.MemoryBudget(maximumBytes: 512 << 10) }

    /// Shows P188.
    @Test func `a large frame that nobody consumes gives way to the next one when its sender leaves`() async throws {
        let budget = Self.smallBudget()
        let server = try directory.server {
            $0.memory = budget
            $0.limits.maximumConnections = 2
        }
        let size = 200 << 10
        var connections: [FrameConnection] = []
        for round in 0..<4 {
            let visitor = try PeerSocket.connected(to: directory.socket)
            let connection = try #require(try await firstConnection(of: server))
            connections.append(connection)
            let isWritten: Void? = try await soon { try await visitor.write(message(body(round, count: size))) }
            try #require(isWritten != nil, "a visitor that left holds the memory of the next one")
            visitor.close()
            try #require(try await soon { try await connection.closed() } == .closedByPeer(.stoppedByUser))
        }
        // The last one's frame can still be taken; those before it may be gone, and say so.
        for (round, connection) in connections.enumerated().reversed() {
            var frames = connection.frames.makeAsyncIterator()
            do {
                let frame = try await frames.next()
                #expect(frame?.jpeg?.array() == body(round, count: size))
                #expect(try await frames.next() == nil)
            } catch {
                #expect(error.code.rawValue == "sender.dropped" && round < 3, "\(error)")
            }
        }
        #expect(await becomesTrue { budget.free == 256 << 10 }, "\(budget.free) bytes are free")
    }

    /// Shows P189.
    @Test func `large frames of departed senders keep no large frame from the server`() async throws {
        let server = try directory.server {
            $0.memory = Self.smallBudget()
            $0.limits.maximumConnections = 8
        }
        let size = 100 << 10
        for _ in 0..<8 { try await visit(server, frames: 1, size: size) }
        try await expectService(by: server, size: size)
    }

    /// Shows P189.
    @Test(.tooSlow(for: .brief))
    func `the number of visitors that left before they were accepted is bounded`() async throws {
        let server = try directory.server()
        for _ in 0..<10_000 { _ = try await PeerSocket.connectedWhenListening(at: directory.socket) }
        // All of them are gone.
        #expect(await becomesTrue { server.departedVisitors == 10_000 })
        server.close()
        var count = 0
        for try await _ in server.connections { count += 1 }
        #expect(count <= 128, "\(count) connections were kept for a consumer that did not come")
    }

    #if os(Linux)
        /// Shows P190.
        @Test(.tooSlow(for: .brief), .leftOut(of: .address, .thread, because: "the sanitizer uses memory of its own"))
        func `10,000 rapid connects leave descriptors and memory as they were`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let server = try directory.server()
                let path = directory.socket
                func rush(_ count: Int) async throws {
                    for _ in 0..<count { _ = try await PeerSocket.connectedWhenListening(at: path) }
                }
                // What grows with the number of those that wait at a time has its size then.
                try await rush(10_000)
                await server.settle()
                let (descriptors, memory) = (try await descriptorsAtStart(), try allocatedBytes())
                try await rush(10_000)
                await server.settle()
                let innocent = directory.connection()
                innocent.open()
                let isServed = try await soon {
                    // While there is no place it is refused, and comes back.
                    let sending = Task {
                        while !Task.isCancelled {
                            try? await innocent.send(FrameMessage(body(7, count: 20_000)))
                            try await Task.sleep(for: .milliseconds(1))
                        }
                    }
                    defer { sending.cancel() }
                    for try await connection in server.connections {
                        var frames = connection.frames.makeAsyncIterator()
                        guard let frame = try? await frames.next() else { continue }
                        return frame.jpeg?.array() == body(7, count: 20_000)
                    }
                    return false
                }
                #expect(isServed == true)
                innocent.close()
                _ = try await innocent.closed()
                #expect(await becomesTrue { descriptorsAdded(to: descriptors).isEmpty })
                try await rush(10_000)
                await server.settle()
                let growth = try allocatedBytes() - memory
                // Less than one object for each visitor.
                #expect(growth < 20_000 * 128, "\(growth) bytes more than after the first ten thousand")
            }
        }
    #endif
}

extension FrameServer {
    /// The number of senders that have left, or were refused.
    fileprivate var departedVisitors: Int {
        let statistics = statistics
        return statistics.acceptedConnections - statistics.connections + statistics.refusedConnections
    }
}
