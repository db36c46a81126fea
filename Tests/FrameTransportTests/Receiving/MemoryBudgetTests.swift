import Foundation
import FrameSocketTesting
import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameTransport

/// Memory for bodies that are being received: it is bounded over all connections, and nobody waits forever.
@Suite(.timeLimit(.minutes(5))) struct MemoryBudgetTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func `the default is 512 MiB, bodies of 1 MiB are admitted at once, and the largest is half of it`() {
        #expect(FrameServer.Configuration().memory === FrameServer.MemoryBudget.shared)
        #expect(FrameServer.MemoryBudget.shared.maximumBytes == 512 << 20)
        let budget = FrameServer.MemoryBudget(maximumBytes: FrameServer.MemoryBudget.shared.maximumBytes)
        budget.open(places: FrameServer.Limits().maximumConnections)
        let account = budget.account()
        #expect(account.part.usualBody == 1 << 20 && account.part.audio == 512 << 10)
        #expect(FrameServer.MemoryBudget.shared.largestBody > FrameMessageDecoder.Limits().maximumContentLength)
    }

    @Test(arguments: [Int.min, -1, 0, 1, 7, .max]) func `any number of connections gets a part`(connections: Int) {
        for (bytes, parts) in [(1000, 0...62), (-5, 0...0), (.max, 1...(.max / 16))] {
            let budget = FrameServer.MemoryBudget(maximumBytes: bytes)
            for _ in 0..<2 { budget.open(places: connections) }
            let account = budget.account()
            #expect(parts ~= account.part.bytes)
        }
    }

    /// Shows P181.
    @Test func `bodies are admitted in order, and those that wait are told`() {
        let budget = FrameServer.MemoryBudget(maximumBytes: 200)
        let told = TestSupport.Counter()
        let accounts = (0..<3).map { _ in
            budget.account { told.increment() }
        }
        #expect(accounts[0].admit(60) && !accounts[1].admit(50) && !accounts[2].admit(10))
        #expect(budget.free == 40 && told.value == 0)
        // The one in front goes away: the next one has room, and finds it when it asks again.
        accounts[1].withdraw()
        #expect(budget.free == 30 && told.value == 1)
        #expect(accounts[2].admit(10) && budget.free == 30)
        accounts[0].release(60)
        for account in accounts { account.depart(leaving: 0) }
        #expect(budget.free == 100 && told.value == 1)
    }

    /// A server for two senders, which admits bodies of 14 KiB at once, and larger ones of 256 KiB in all.
    private func server() throws -> (FrameServer, FrameServer.MemoryBudget) {
        let budget = FrameServer.MemoryBudget(maximumBytes: 512 << 10)
        let server = try directory.server {
            $0.memory = budget
            $0.limits.maximumConnections = 2
            $0.limits.bodyTimeout = .milliseconds(500)
        }
        let account = budget.account()
        #expect(account.part.usualBody == 14 << 10)
        account.depart(leaving: 0)
        return (server, budget)
    }

    /// Shows P184.
    @Test(.tooSlow(for: .brief))
    func `a large frame waits for another without timing out, and arrives once that is consumed`()
        async throws
    {
        let (server, budget) = try server()
        var connections = server.connections.makeAsyncIterator()
        let first = try PeerSocket.connected(to: directory.socket)
        let firstConnection = try #require(try await connections.next())
        let second = try PeerSocket.connected(to: directory.socket)
        let secondConnection = try #require(try await connections.next())
        let size = 200 << 10
        try await first.write(message(body(1, count: size)))
        // Received whole, and not taken yet.
        #expect(await becomesTrue { budget.free == 256 << 10 - size })
        async let writing: Void = second.write(message(body(2, count: size)) + message(body(3, count: 1000)))
        // Longer than a body may take: the deadline does not run while this side is the one who waits.
        let over = MonotonicClock.deadline(in: .seconds(2))
        #expect(await becomesTrue { MonotonicClock.now() > over })
        #expect(secondConnection.closeReason == nil)
        var firstFrames = firstConnection.frames.makeAsyncIterator()
        #expect(try await firstFrames.next()?.jpeg?.array() == body(1, count: size))
        var secondFrames = secondConnection.frames.makeAsyncIterator()
        #expect(try await secondFrames.next()?.jpeg?.array() == body(2, count: size))
        #expect(try await secondFrames.next()?.jpeg?.array() == body(3, count: 1000))
        try await writing
        #expect(budget.free == 256 << 10)
        withExtendedLifetime(server) {}
    }

    /// Shows P183.
    @Test(.tooSlow(for: .brief))
    func `a sender that claims all large memory and sends nothing delays no frame of a usual size`()
        async throws
    {
        let (server, budget) = try server()
        var connections = server.connections.makeAsyncIterator()
        let claimer = try PeerSocket.connected(to: directory.socket)
        let claiming = try #require(try await connections.next())
        let header = String(decoding: message([]), as: UTF8.self)
        try await claimer.write(Array(header.replacing("Content-Length: 0", with: "Content-Length: 262144").utf8))
        #expect(await becomesTrue { budget.free == 0 })
        let innocent = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await connections.next())
        var frames = connection.frames.makeAsyncIterator()
        for round in 0..<20 {
            try await innocent.write(message(body(round, count: 14 << 10)))
            #expect(try await frames.next()?.jpeg?.array() == body(round, count: 14 << 10))
        }
        // A large one comes as soon as the claim has run out of time.
        try await innocent.write(message(body(9, count: 17 << 10)))
        #expect(try await frames.next()?.jpeg?.array() == body(9, count: 17 << 10))
        #expect(try await claiming.closed().error?.code == .receiveTimedOut)
        withExtendedLifetime(server) {}
    }

    /// Shows P197.
    @Test(arguments: [true, false])
    func `large frames that nobody has taken yet keep no large frame from a connection that is consumed`(
        areComplete: Bool
    ) async throws {
        let budget = FrameServer.MemoryBudget(maximumBytes: 512 << 10)
        let server = try directory.server {
            $0.memory = budget
            $0.limits.maximumConnections = 16
            $0.limits.bodyTimeout = .seconds(1)
        }
        var connections = server.connections.makeAsyncIterator()
        let sender = try PeerSocket.connected(to: directory.socket)
        let consumed = try #require(try await connections.next())
        // Together they would have all the memory for large bodies.
        let size = 32 << 10
        var visitors: [PeerSocket] = []
        for number in 0..<8 {
            let visitor = try PeerSocket.connected(to: directory.socket)
            try await visitor.write(message(body(number, count: size)).dropLast(areComplete ? 0 : 1000))
            visitors.append(visitor)
        }
        await server.settle()
        // Longer than a body may take: this side is the one that waits.
        let over = MonotonicClock.deadline(in: .milliseconds(1500))
        #expect(await becomesTrue { MonotonicClock.now() > over })
        #expect(budget.free == 256 << 10)
        for round in 0..<3 {
            try await sender.write(message(body(100 + round, count: 200 << 10)))
            let frame = try #require(
                try await soon {
                    var frames = consumed.frames.makeAsyncIterator()
                    return try await frames.next()
                } ?? nil
            )
            #expect(frame.jpeg?.array() == body(100 + round, count: 200 << 10))
        }
        sender.close()
        // Their frames arrive when the program takes them.
        for (number, visitor) in visitors.enumerated() {
            if !areComplete { try await visitor.write(message(body(number, count: size)).suffix(1000)) }
            let connection = try #require(try await connections.next())
            var frames = connection.frames.makeAsyncIterator()
            #expect(try await frames.next()?.jpeg?.array() == body(number, count: size))
        }
        #expect(await becomesTrue { budget.free == 256 << 10 })
        withExtendedLifetime(server) {}
    }

    @Test func `a connection that ends while waiting leaves nothing behind`() async throws {
        let (server, budget) = try server()
        var connections = server.connections.makeAsyncIterator()
        let first = try PeerSocket.connected(to: directory.socket)
        let firstConnection = try #require(try await connections.next())
        try await first.write(message(body(1, count: 200 << 10)))
        #expect(await becomesTrue { budget.free < 100 << 10 })
        for _ in 0..<20 {
            let waiter = try PeerSocket.connected(to: directory.socket)
            let waiting = try #require(try await connections.next())
            try await waiter.write(Array(message(body(2, count: 200 << 10)).prefix(200)))
            await server.settle()
            waiting.close()
            waiter.close()
            #expect(try await waiting.closed() == .closedLocally(.stoppedByUser))
        }
        var frames = firstConnection.frames.makeAsyncIterator()
        #expect(try await frames.next()?.jpeg?.count == 200 << 10)
        #expect(budget.free == 256 << 10)
        withExtendedLifetime(server) {}
    }

    /// Shows P187.
    @Test func `a body over the limit is a typed error`() async throws {
        let (server, budget) = try server()
        let client = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        try await client.write(message(body(1, count: 10)) + message(body(1, count: 256 << 10 + 1)).prefix(300))
        var frames = connection.frames.makeAsyncIterator()
        #expect(try await frames.next()?.jpeg?.count == 10)
        let error = await #expect(throws: TransportError.self) { try await frames.next() }
        #expect(error?.code == .noMemory)
        #expect(budget.free == 256 << 10)
        withExtendedLifetime(server) {}
    }

    @Test(arguments: [Int.max, Int.max - 1, 1 << 50, 1 << 41]) func `an impossible amount of memory does not trap`(
        capacity: Int
    ) {
        let pool = FrameBytes.Pool(maximumIdleBytes: 0)
        var room = -1
        let bytes = FrameBytes(capacity: capacity, pool: pool) { room = $0.freeCapacity }
        #expect(room == 0 && bytes.count == 0)
        #expect(bytes.array().isEmpty)
    }
}

extension FrameServer.MemoryBudget {
    fileprivate func account(_ onAdmission: @escaping @Sendable () -> Void = {}) -> Account {
        join(onAdmission: onAdmission, onDrop: {})
    }
}
