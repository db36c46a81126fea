import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

/// Callers that wait for the frames submitted so far, or for a buffer: who is told, when, and of what.
@Suite(.tags(.computes)) struct UploaderWaitingTests {
    @Test func `a lost frame that a new connection takes up again is pending, and does not count as sent`() {
        var rig = UploaderRig()
        rig.run([.connect, .sending(false), .offer(1), .sendingFails(.connectionLost), .disconnect])
        #expect(!rig.machine.isPending(upTo: .max) && rig.machine.causeOfLoss(upTo: .max) == .notConnected)
        rig.run([.connect])
        #expect(rig.machine.isPending(upTo: .max) && rig.machine.causeOfLoss(upTo: .max) == nil)
    }

    @Test func `newer frames do not prolong the wait, and a cancelled caller does not wait`() {
        var rig = UploaderRig()
        rig.run([.connect, .sending(false), .offer(1), .finish(1), .offer(2), .finish(2), .finish(3), .cancelFinish(3)])
        #expect(rig.finished.isEmpty && rig.machine.waiterCount == 2)
        // The first is out, and the second under way.
        rig.run([.messageIsOut, .offer(3)])
        #expect(rig.finished == [1])
        rig.run([.sending(true), .wait(0)])
        #expect(rig.finished == [1, 2] && rig.machine.waiterCount == 0)
    }

    /// Shows P281.
    @Test func `a caller that waits for a buffer is told if there is no memory for it, unless it was cancelled`() throws
    {
        var machine = UploaderMachine(.init(sharing: .allowed(buffers: 1)), owner: 1)
        var terms = ReceiverTerms()
        (terms.connection, terms.revision, terms.isConnected) = (1, 1, true)
        (terms.isGreeted, terms.acceptsSharedMemory) = (true, true)
        machine.termsChanged(terms, at: 0)
        // The frame in progress may need the buffer next.
        let jpeg = UploadFrame(.jpeg(FrameBytes([1]), BufferSize(width: 8, height: 8)), offeredAt: 0)
        _ = machine.offer(jpeg, at: 0)
        let lent = machine.lend(BufferSize(width: 8, height: 8), .gray, 64)
        let lease = try #require(lent).lease
        machine.awaitBuffer(7, at: 0)
        machine.awaitBuffer(8, at: 0)
        machine.cancelWait(8)
        let before = machine.takeEffects().finished
        machine.lendingFailed(lease, at: 0)
        let after = machine.takeEffects().finished
        #expect(before == [] && after == [7])
    }
}
