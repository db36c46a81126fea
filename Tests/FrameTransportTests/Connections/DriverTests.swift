import Foundation
import FrameSocketTesting
import FrameWire
import Locking
import TestSupport
import Testing

@testable import FrameTransport

/// Races between the threads that use a connection and the one that drives it, put in order step by step.
@Suite(.timeLimit(.minutes(5))) struct DriverTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// The thread may be busy, or the process stopped, while the bytes arrive and the deadline passes.
    ///
    /// Shows P153.
    @Test func `what arrives before a deadline is reported before it`() async throws {
        let thread = IOThread()
        let pipe = Pipe()
        let recorder = Recorder()
        thread.execute {
            let registration = try? thread.register(pipe.fileHandleForReading.fileDescriptor, recorder)
            recorder.registration = registration
            let deadline = MonotonicClock.now() + 1_000_000
            registration?.deadline = deadline
            pipe.fileHandleForWriting.write(Data([1]))
            while MonotonicClock.now() <= deadline {}
        }
        #expect(await becomesTrue { recorder.events.withLock { $0.count == 2 } })
        #expect(recorder.events.withLock { $0 } == ["ready", "deadline"])
        thread.execute {
            recorder.registration?.cancel()
            // Each refers to the other.
            recorder.registration = nil
        }
        await thread.settle()
    }

    /// A turn that was asked for before the close must not take back the time that the close is given.
    @Test func `an orderly close ends in time, whatever was left to do`() async throws {
        let thread = IOThread()
        let gate = Gate()
        let elsewhere = try TemporaryDirectory()
        let hasHeld = Flag()
        let blocking = try elsewhere.server {
            $0.thread = thread
            $0.onRead = { _, _ in
                // The frame may come in several reads.
                if !hasHeld.isSet {
                    hasHeld.set()
                    gate.hold()
                }
            }
        }
        let server = try directory.server {
            $0.thread = thread
            $0.limits.linger = .milliseconds(20)
        }
        let blocker = try PeerSocket.connected(to: elsewhere.socket)
        let client = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))

        // One frame waits in the mailbox, and the next one is refused.
        try await client.write(message(body(0, count: 20)) + message(body(1, count: 20)))
        await thread.settle()
        // The thread stands still in the reports of one round, in which the client's next bytes are still to come.
        try await thread.whileHeld {
            try await blocker.write(message([1]))
            try await client.write(message(body(2, count: 20)))
        }
        await gate.held()
        connection.close()
        #expect(try await connection.nextBytes() == body(0, count: 20))
        gate.release()
        // The client does not close; the time given ends it.
        #expect(try await connection.closed() == .closedLocally(.stoppedByUser))
        _ = blocking
    }

    @Test func `a body without memory counts no longer while the program has its connection`() async throws {
        let budget = FrameServer.MemoryBudget(maximumBytes: 256 << 20)
        let server = try directory.server {
            $0.memory = budget
            $0.pool = FrameBytes.Pool(maximumIdleBytes: 0, largestChunk: 0)
        }
        let free = budget.free
        let client = try PeerSocket.connected(to: directory.socket)
        let connection = try #require(try await firstConnection(of: server))
        try await client.write(Array(message(body(1, count: 16 << 20)).prefix(1000)))
        #expect(try await connection.closed().error?.code == .noMemory)
        #expect(budget.free == free)
        server.close()
    }

    /// Records the calls of its thread.
    private final class Recorder: IOHandler, @unchecked Sendable {
        let events = Locked([String]())
        var registration: IORegistration?

        func becameReady(_ readiness: Readiness) { events.withLock { $0.append("ready") } }
        func deadlinePassed() { events.withLock { $0.append("deadline") } }
    }
}
