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

    @Test func `a body without memory counts no longer while the program has its connection`() async throws {
        let budget = FrameServer.MemoryBudget(maximumBytes: 256 << 20)
        let server = try directory.server {
            $0.memory = budget
            $0.pool = FrameBytes.Pool(maximumIdleBytes: 0, largestChunk: 0)
        }
        let free = budget.free
        let (client, connection) = try await server.connectedPeer()
        try await client.write(Array(message(body(1, count: 16 << 20)).prefix(1000)))
        #expect(try await connection.closed().error?.code == .noMemory)
        #expect(budget.free == free)
        server.close()
    }

    @Test func `a connection that the system does not watch has failed, and was not refused for a token`() async throws
    {
        let codes = Locked<[TransportEvent.Code]>([])
        let server = try directory.server { $0.log = { event in codes.withLock { $0.append(event.code) } } }
        // Neither epoll nor what stands in for kqueue watches a file.
        let file = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        server.driver.thread.execute { [driver = server.driver] in
            driver.accepted = OwnedDescriptor(dup(file))
            driver.change { $0.accepted(isAdmitted: true, driver) }
        }
        await server.settle()
        #expect(server.statistics.acceptedConnections == 1 && server.statistics.connections == 0)
        #expect(server.statistics.refusedConnections == 0)
        #expect(codes.withLock { $0 } == [.connectionFailed])
        close(file)
    }

    /// Records the calls of its thread.
    private final class Recorder: IOHandler, @unchecked Sendable {
        let events = Locked([String]())
        var registration: IORegistration?

        func becameReady(_ readiness: Readiness) { events.withLock { $0.append("ready") } }
        func deadlinePassed() { events.withLock { $0.append("deadline") } }
    }
}
