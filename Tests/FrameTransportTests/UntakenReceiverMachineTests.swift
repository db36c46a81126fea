import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameTransport

/// What the receiving end of a connection decides while the program has not taken the connection.
@Suite(.tags(.computes)) struct UntakenReceiverMachineTests {
    /// A connection that waits to be taken, with a body over its share of 1,000 bytes.
    private func untaken(bytes: Int = 5000) -> ReceiverRig {
        var rig = ReceiverRig(isTaken: false) {
            $0.allowance = 2000
            $0.largestGrant = 100_000
        }
        rig.arrive(message(body(1, count: 800)) + message(body(2, count: bytes)))
        return rig
    }

    @Test func `a large body asks for memory only when the program has taken its connection`() {
        var rig = untaken()
        // The usual ones need not wait, and no deadline runs for what does.
        #expect(rig.frames.count == 1 && rig.requested.isEmpty && rig.deadline == nil)
        rig.arrive(message(body(3, count: 10)))
        #expect(rig.frames.count == 1 && rig.requested.isEmpty)
        rig.machine.taken(at: 2)
        rig.run()
        #expect(rig.requested == [5000] && rig.deadline == nil)
        let isUsed = rig.machine.memoryGranted(for: 1, at: 3)
        rig.run()
        #expect(isUsed && rig.frames.map(\.jpeg.count) == [800, 5000, 10] && rig.deadline == nil)
        rig.arrive(message(body(4, count: 6000)))
        #expect(rig.requested == [5000, 6000])
    }

    @Test func `a body without memory returns its grant`() throws {
        let budget = MemoryBudget(maximumBytes: 1_000_000)
        let free = budget.free
        var rig = ReceiverRig(pool: FrameBytes.Pool(maximumIdleBytes: 0) { _ in .none }) {
            $0.allowance = 2000
            $0.largestGrant = 100_000
        }
        rig.arrive(message(body(1, count: 5000)))
        #expect(rig.requested == [5000])
        do {
            guard case .granted(let grant) = budget.ask(5000, onGrant: { _ in }) else {
                return _ = Issue.record("no grant")
            }
            rig.machine.memoryGranted(grant, for: 1, at: 2)
        }
        rig.run()
        #expect(rig.reason?.error?.code == .noMemory && budget.free == free)
    }

    @Test func `a large body of a taken connection waits for the consumer's room before it asks for memory`() {
        var rig = untaken()
        rig.room = 0
        rig.machine.taken(at: 2)
        rig.run()
        #expect(rig.requested.isEmpty)
        rig.room = 1
        rig.machine.roomAvailable(at: 3)
        rig.run()
        #expect(rig.requested == [5000])
    }

    @Test func `a departed sender is read to its end, taken or not`() {
        var rig = untaken()
        rig.arrive([], end: true)
        rig.resumeToTheEnd()
        #expect(rig.requested.isEmpty && rig.frames.map(\.jpeg.count) == [800, 5000])
        #expect(rig.reason == .closedByPeer(.stoppedByUser))
    }

    @Test func `a large body asks for memory during a drain, taken or not`() {
        var rig = untaken()
        rig.machine.drain(at: 2)
        rig.run()
        #expect(rig.requested == [5000])
    }

    @Test func `a body that no budget can hold ends its connection, taken or not`() {
        let rig = untaken(bytes: 100_001)
        #expect(rig.reason?.error?.code == .noMemory)
    }
}
