import FrameWire
import TestDescriptions
import Testing

@testable import FrameTransport

/// Which reader of a fan-out receives what.
@Suite(.tags(.computes)) struct FanOutMachineTests {
    /// Shows P222.
    @Test func `a late reader starts with the last frame, and no reader with one after the end`() {
        var machine = FanOutMachine<Int>()
        let early = machine.join()
        #expect(early.first == nil && machine.publish(1) == [early.reader])
        let late = machine.join()
        #expect(late.first == 1 && machine.publish(2) == [early.reader, late.reader])
        machine.leave(early.reader)
        #expect(machine.publish(3) == [late.reader])
        #expect(machine.end(.closedByPeer(.callEnded)) == [late.reader])
        #expect(machine.end(.closedLocally(.stoppedByUser)).isEmpty)
        #expect(machine.publish(4).isEmpty)
        let last = machine.join()
        #expect(last.first == 3 && last.ending == .closedByPeer(.callEnded) && machine.readerCount == 0)
    }
}
