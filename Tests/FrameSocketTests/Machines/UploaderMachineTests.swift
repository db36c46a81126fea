import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

private let skipping = SampleUploader.Configuration(pacing: .everyFrame.skippingUnchanged(keepAlive: .seconds(1)))

/// The uploader's decisions, without a socket, an encoder or a clock.
@Suite(.tags(.computes)) struct UploaderMachineTests {
    /// Shows P21, P60, P61, P64, P66, P67, P69, P70, P72, P74, P76, P77, P79, P207, P214, P303.
    @Test func `an uploader sends and counts what the table of cases says`() throws {
        let cases = try UploaderCase.all()
        #expect(cases.count > 100)
        let complaints = cases.compactMap(\.complaint)
        #expect(complaints.isEmpty, "\(complaints.joined(separator: "\n"))")
    }

    /// Why no frame may be sent, how that ends, and what the caller is told meanwhile.
    static let obstacles: [(UploaderRig.Step, UploaderRig.Step, SampleUploader.DropCause)] = [
        (.disconnect, .connect, .notConnected), (.pause, .resume, .paused),
        (.hello(wantsFrames: false), .hello(wantsFrames: true), .notWanted),
        (.update(.init(pacing: .framesPerSecond(2))), .wait(500), .paced),
    ]

    /// Shows P66, P75.
    @Test(arguments: obstacles.indices)
    func `a frame is deferred for its cause, and of several the newest is sent when that ends`(index: Int) {
        let (begins, ends, cause) = Self.obstacles[index]
        var rig = UploaderRig()
        rig.run([.connect, .offer(0), begins, .offer(1), .offer(2), .offer(3), ends])
        #expect(rig.outcomes == [.taken] + [SampleUploader.Outcome](repeating: .deferred(cause), count: 3))
        #expect(rig.submitted.last == 3 && rig.submitted.first == 0)
        #expect(rig.machine.statistics.drops == [cause: 2] && rig.machine.statistics.sent == 2)
    }

    /// Shows P65.
    @Test func `a repeat keeps its number, timestamp and orientation`() throws {
        var rig = UploaderRig()
        rig.run([.connect, .offer(1), .offer(2), .wait(7), .refresh, .disconnect, .wait(3), .connect, .offer(3)])
        #expect(rig.submitted == [1, 2, 2, 2, 3])
        #expect(rig.messages.map(\.sequence) == [0, 1, 1, 1, 2])
        #expect(Set(rig.messages[1...3].map(\.timestamp)).count == 1)
    }

    @Test func `a source that shows the same again and again is kept alive by what was sent`() {
        var rig = UploaderRig(skipping)
        rig.run(.connect)
        for _ in 0..<300 { rig.run([.offer(1), .wait(10)]) }
        #expect(rig.machine.statistics.repeats == 3)
        #expect(rig.machine.statistics.sent == 1 && rig.machine.statistics.drops == [.unchanged: 299])
    }

    @Test func `without pacing and comparison there is neither a timer nor a hash`() {
        var rig = UploaderRig()
        rig.run([.offer(1), .connect])
        for number in UInt8(0)..<100 { rig.run([.offer(number), .wait(5)]) }
        rig.run([.pause, .offer(1), .resume, .refresh, .disconnect, .connect, .finish(1)])
        #expect(rig.timerCount == 0 && rig.digestCount == 0 && rig.finished == [1])
    }
}
