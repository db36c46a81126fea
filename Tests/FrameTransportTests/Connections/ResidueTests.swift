import Foundation
import FrameSocketTesting
import FrameWire
import Synchronization
import TestDescriptions
import TestSupport
import Testing

@testable import FrameTransport

/// What is held while connections last is bounded, and nothing is held for its own sake.
@Suite(.timeLimit(.minutes(5))) struct ResidueTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Shows P226.
    @Test func `a fan-out that nobody holds ends its silent connection`() async throws {
        let server = try directory.server()
        let sender = try PeerSocket.connected(to: directory.socket)
        do {
            let fanOut = FrameConnection.Broadcaster(of: try #require(try await firstConnection(of: server)))
            #expect(fanOut.readerCount == 0)
        }
        #expect(try await soon { try await sender.read(1) } == [], "the sender is still connected")
    }

    /// Shows P225.
    @Test func `a fan-out's last reader keeps its connection, and ends it when released`() async throws {
        let server = try directory.server()
        let sender = try PeerSocket.connected(to: directory.socket)
        try await {
            var frames = FrameConnection.Broadcaster(of: try #require(try await firstConnection(of: server))).reader()
                .makeAsyncIterator()
            try await sender.write(message(body(1, count: 300)))
            #expect(try await frames.next()?.jpeg?.array() == body(1, count: 300))
        }()
        #expect(try await soon { try await sender.read(1) } == [], "the sender is still connected")
    }

    /// Shows P186.
    @Test(.tooSlow(for: .brief))
    func `servers that share a budget do not exceed it together, and all their frames arrive`() async throws {
        let budget = FrameServer.MemoryBudget(maximumBytes: 512 << 10)
        let read = BytesRead()
        let size = 64 << 10
        var places: [TemporaryDirectory] = []
        var servers: [FrameServer] = []
        var connections: [FrameConnection] = []
        var writers: [Task<PeerSocket, any Error>] = []
        for number in 0..<8 {
            let place = try TemporaryDirectory()
            let server = try place.server {
                $0.memory = budget
                $0.limits.maximumConnections = 2
                $0.onRead = { read.add($1.count) }
            }
            for index in 0..<2 {
                let sender = try PeerSocket.connected(to: place.socket)
                connections.append(try #require(try await firstConnection(of: server)))
                writers.append(
                    Task {
                        for round in 0..<3 {
                            try await sender.write(message(body(number * 100 + index * 10 + round, count: size)))
                        }
                        return sender
                    }
                )
            }
            places.append(place)
            servers.append(server)
        }
        // Nobody consumes: what is read is held. It has come to rest when nothing more is read for many turns.
        var (last, repeats) = (-1, 0)
        while repeats < 50 {
            await IOThread.shared.settle()
            try await Task.sleep(for: .milliseconds(1))
            repeats = read.count == last ? repeats + 1 : 0
            last = read.count
        }
        #expect(read.count > 0)
        // Headers, and what comes into the staging areas behind them, are not bodies.
        #expect(read.count <= budget.maximumBytes + 64 << 10, "\(read.count) bytes are held")
        let received = try await soon { [connections] in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for (index, connection) in connections.enumerated() {
                    group.addTask {
                        var count = 0
                        for try await frame in connection.frames {
                            let seed = index / 2 * 100 + index % 2 * 10 + count
                            guard frame.jpeg?.array() == body(seed, count: size) else { break }
                            count += 1
                            if count == 3 { break }
                        }
                        return count
                    }
                }
                return try await group.reduce(0, +)
            }
        }
        #expect(received == 48)
        // All this time nobody has left.
        for writer in writers { #expect(try await writer.value.isQuiet) }
        withExtendedLifetime((places, servers)) {}
    }

    #if os(Linux)
        @Test(.tooSlow(for: .brief), .leftOut(of: .address, .thread, because: "the sanitizer uses memory of its own"))
        func `a deadline that moves back and forth leaves nothing behind`() async {
            await #expect(processExitsWith: .success) {
                let mover = Mover()
                func move(_ count: Int) async {
                    mover.begin(count)
                    #expect(await becomesTrue { mover.isDone })
                }
                await move(1000)
                let before = try allocatedBytes()
                await move(100_000)
                let growth = try allocatedBytes() - before
                // No object is smaller than twice that.
                #expect(growth < 100_000 * 16, "\(growth) bytes more, 16 for each of its moves")
            }
        }
    #endif
}

#if os(Linux)
    /// Sets a far deadline and then one that has passed, again and again.
    private final class Mover: IOHandler, @unchecked Sendable {
        private let thread = IOThread()
        private var registration: IORegistration?
        private let left = Atomic(0)

        var isDone: Bool { left.load(ordering: .acquiring) == 0 }

        func begin(_ count: Int) {
            left.store(count, ordering: .releasing)
            thread.execute {
                if self.registration == nil { self.registration = self.thread.registerTimer(self) }
                self.move()
            }
        }

        private func move() {
            registration?.deadline = MonotonicClock.deadline(in: .seconds(3600))
            registration?.deadline = MonotonicClock.now()
        }

        func becameReady(_ readiness: Readiness) {}

        func deadlinePassed() {
            if left.subtract(1, ordering: .acquiringAndReleasing).newValue > 0 { move() }
        }
    }
#endif

/// Counts the bytes that servers have read.
private final class BytesRead: Sendable {
    private let total = Atomic(0)

    var count: Int { total.load(ordering: .sequentiallyConsistent) }

    func add(_ count: Int) { total.add(count, ordering: .sequentiallyConsistent) }
}
