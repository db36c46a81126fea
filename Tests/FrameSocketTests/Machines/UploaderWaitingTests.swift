import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

/// Callers that wait for the frames submitted so far: who is told, when, and of what.
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
}
