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
        budget.change { $0.open(places: FrameServer.Limits().maximumConnections) }
        let part = budget.change { $0.join(WeakReference()).part }
        #expect(part.usualBody == 1 << 20 && part.audio == 512 << 10)
        #expect(FrameServer.MemoryBudget.shared.largestBody > FrameMessageDecoder.Limits().maximumContentLength)
    }

    /// A server for two senders, which admits bodies of 14 KiB at once, and larger ones of 256 KiB in all.
    private func server() throws -> (FrameServer, FrameServer.MemoryBudget) {
        let budget = FrameServer.MemoryBudget(maximumBytes: 512 << 10)
        let server = try directory.server {
            $0.memory = budget
            $0.limits.maximumConnections = 2
        }
        let (account, part) = budget.change { $0.join(WeakReference()) }
        #expect(part.usualBody == 14 << 10)
        budget.change { $0.depart(account, leaving: 0) }
        return (server, budget)
    }

    /// Shows P184.
    @Test func `a large frame waits for another, and arrives once that is consumed`() async throws {
        let (server, budget) = try server()
        let (first, firstConnection) = try await server.connectedPeer()
        let (second, secondConnection) = try await server.connectedPeer()
        let size = 200 << 10
        try await first.write(message(body(1, count: size)))
        // Received whole, and not taken yet.
        #expect(await becomesTrue { budget.free == 256 << 10 - size })
        async let writing: Void = second.write(message(body(2, count: size)) + message(body(3, count: 1000)))
        await server.settle()
        #expect(budget.free == 256 << 10 - size)
        #expect(try await firstConnection.nextBytes() == body(1, count: size))
        #expect(try await secondConnection.nextBytes() == body(2, count: size))
        #expect(try await secondConnection.nextBytes() == body(3, count: 1000))
        try await writing
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

    /// Shows P102.
    @Test(.tooSlow(for: .brief))
    func `audio that nobody consumes stays within its part of the budget, and holds nobody up`() async throws {
        func audio(_ seed: Int) -> [UInt8] {
            let header = AudioHeader(
                contentLength: 256 << 10,
                kind: .app,
                sampleRate: 44_100,
                channels: 1,
                sequence: UInt64(seed)
            )
            return header.encoded() + body(seed, count: 256 << 10)
        }
        // Each connection may keep one of these messages.
        let server = try directory.server {
            $0.hello = ControlRequest.Hello(wants: .audio)
            $0.memory = FrameServer.MemoryBudget(maximumBytes: 32 << 20)
            $0.limits.maximumConnections = 4
        }
        let (sender, connection) = try await server.connectedPeer()
        for seed in 0..<64 { try await sender.write(audio(seed)) }
        sender.close()
        #expect(try await connection.closed() == .closedByPeer(.stoppedByUser))
        // The oldest have given way.
        var audios = connection.audio.makeAsyncIterator()
        #expect(await audios.next()?.bytes.array() == body(63, count: 256 << 10))
        #expect(await audios.next() == nil)
    }
}
