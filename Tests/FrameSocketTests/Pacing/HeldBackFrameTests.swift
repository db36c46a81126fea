import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

/// When the uploader's machine sends a frame that the pacing holds back, and which: without a socket.
///
/// What it sends then is in Tests/Uploader/cases.txt.
@Suite(.tags(.computes)) struct HeldBackFrameTests {
    // MARK: Rates

    /// Shows P70.
    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6, 7, 8])
    func `no rate is exceeded, and the last frame is always sent`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        for _ in 0..<50 {
            let rate = Double.random(in: 1...60, using: &random)
            var rig = UploaderRig(.init(pacing: .framesPerSecond(rate)))
            rig.run(.connect)
            let start = rig.now
            var last: UInt8 = 0
            for _ in 0..<Int.random(in: 1...200, using: &random) {
                last &+= 1
                rig.run([.offer(last), .wait(UInt64.random(in: 0...40, using: &random))])
                // Now and then a silence.
                if Int.random(in: 0..<20, using: &random) == 0 { rig.run(.wait(300)) }
            }
            let seconds = Double(rig.now - start) / 1e9
            #expect(Double(rig.submitted.count) <= seconds * rate + 2, "seed \(seed), rate \(rate)")
            rig.run(.wait(3000))
            #expect(rig.submitted.last == last, "seed \(seed), rate \(rate)")
            #expect(rig.machine.statistics.repeats == 0)
        }
    }

    @Test func `the timer is set once for many frames that are held back`() {
        var rig = UploaderRig(.init(pacing: .framesPerSecond(10)))
        rig.run(.connect)
        for number in UInt8(0)..<250 { rig.run([.offer(number), .wait(4)]) }
        // A second at ten frames a second.
        #expect(rig.timerCount <= 22, "\(rig.timerCount)")
        #expect(rig.submitted.count == 10)
    }

    static let rates: [SampleUploader.Pacing] = [
        .framesPerSecond(10), .framesPerSecond(15), .framesPerSecond(60), .every(3), .adaptive(still: 1, motion: 10),
        .framesPerSecond(10).skippingUnchanged(keepAlive: .seconds(1)),
    ]

    /// Shows P70.
    @Test(arguments: rates, [UInt64(16), 7, 40])
    func `a source whose timestamps stand still is paced by the time of submission`(
        pacing: SampleUploader.Pacing,
        interval: UInt64
    ) {
        var (own, stopped) = (UploaderRig(.init(pacing: pacing)), UploaderRig(.init(pacing: pacing)))
        own.run(.connect)
        stopped.run(.connect)
        for number in UInt8(1)...200 {
            own.run([.offer(number), .wait(interval)])
            stopped.run([.offer(number, timestamp: 5), .wait(interval)])
        }
        #expect(stopped.submitted == own.submitted)
        #expect(stopped.submitted.count > 5)
    }

    /// Shows P70.
    @Test(arguments: [UInt64(0), 1, 16, 1000])
    func `a source whose clock is too slow is not held back for long`(step: UInt64) {
        var rig = UploaderRig(.init(pacing: .framesPerSecond(10)))
        rig.run(.connect)
        for number in UInt8(1)...200 { rig.run([.offer(number, timestamp: step * UInt64(number)), .wait(16)]) }
        // In 3.2 seconds: an interval of 100 ms, and at most two frames of the source beyond it.
        #expect(rig.submitted.count >= 3200 / (100 + 3 * 16))
    }

    /// A second frame whose time is before the first one's: by less than an interval of the rate, which is no new start.
    ///
    /// Shows P70.
    @Test(arguments: [(1.0, UInt64(900)), (1, 40), (0.5, 1900), (10, 99)])
    func `a source whose clock steps back is not held back for longer`(rate: Double, step: UInt64) {
        var rig = UploaderRig(.init(pacing: .framesPerSecond(rate)))
        rig.run([.connect, .offer(1, timestamp: 10_000_000_000), .wait(33)])
        rig.run([.offer(2, timestamp: 10_000_000_000 - step * 1_000_000), .wait(UInt64(1000 / rate) - 33 - 1)])
        #expect(rig.submitted == [1])
        rig.run(.wait(34))
        #expect(rig.submitted == [1, 2])
    }

    /// Shows P70.
    @Test(arguments: [5.0, 10, 2])
    func `a source whose timestamps begin again and again is paced as it submits`(rate: Double) {
        var rig = UploaderRig(.init(pacing: .framesPerSecond(rate)))
        rig.run(.connect)
        for number in UInt8(0)..<240 {
            rig.run([.offer(number, timestamp: 1_000_000_000 + 33_000_000 * UInt64(number % 5)), .wait(33)])
        }
        // In eight seconds.
        #expect(abs(rig.submitted.count - Int(8 * rate)) <= 2, "\(rig.submitted.count)")
    }
}
