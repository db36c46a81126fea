import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameTransport

/// What the receiving end of a connection decides while the program has not taken the connection.
@Suite(.tags(.computes)) struct UntakenReceiverMachineTests {
    /// A connection that waits to be taken, with a body over 1,000 bytes, which is not admitted at once.
    private func untaken(bytes: Int = 5000) -> ReceiverRig {
        let rig = ReceiverRig(isTaken: false) {
            $0.usualBody = 1000
            $0.largestBody = 100_000
        }
        rig.arrive(message(body(1, count: 800)) + message(body(2, count: bytes)))
        return rig
    }

    @Test func `a large body of a taken connection waits for the consumer's room before it asks for memory`() {
        let rig = untaken()
        rig.room = 0
        rig.machine.taken(rig)
        #expect(rig.requested.isEmpty)
        rig.room = 1
        rig.machine.roomAvailable(rig)
        #expect(rig.requested == [5000])
    }

    /// Shows P197.
    @Test func `a large body asks for memory during a drain, taken or not`() {
        let rig = untaken()
        rig.machine.drain(rig)
        #expect(rig.requested == [5000])
    }

    @Test func `a body that no budget can hold ends its connection, taken or not`() {
        let rig = untaken(bytes: 100_001)
        #expect(rig.reason?.error?.code == .noMemory)
    }
}
