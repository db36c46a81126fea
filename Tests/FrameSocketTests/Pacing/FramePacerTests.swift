import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

/// Presentation times of a source, in nanoseconds.
private func times(_ count: Int, rate: Double, from start: UInt64 = 5_000_000_000) -> [UInt64] {
    (0..<count).map { start + UInt64((Double($0) * 1e9 / rate).rounded()) }
}

/// A source whose images are sent as soon as they have their turn.
private final class PacedSource {
    var pacer: FramePacer

    init(_ pacing: SampleUploader.Pacing) { pacer = FramePacer(pacing) }

    /// Offers an image; true if it is sent.
    func sends(_ timestamp: UInt64, isChanged: Bool = true, at now: UInt64? = nil) -> Bool {
        let now = now ?? timestamp
        let time = pacer.offer(timestamp, at: now)
        let turn = pacer.turn(of: time, offeredAt: now)
        guard turn <= now else {
            pacer.hold(until: turn)
            return false
        }
        pacer.take(time, at: now)
        guard pacer.pacing.comparesImages, !isChanged else { return true }
        pacer.putBack()
        guard pacer.sendsUnchanged(time) else { return false }
        pacer.take(time, at: now)
        return true
    }
}

private func taken(_ pacing: SampleUploader.Pacing, _ times: [UInt64], isChanged: (Int) -> Bool = { _ in true })
    -> [Int]
{
    let source = PacedSource(pacing)
    return times.indices.filter { source.sends(times[$0], isChanged: isChanged($0)) }
}

/// Which images have their turn when they are offered, by their times alone.
@Suite(.tags(.computes)) struct FramePacerTests {
    struct Division: CustomTestStringConvertible {
        let source: Double
        let rate: Double
        let every: Int
        var testDescription: String { "\(source) to \(rate)" }
    }

    static let divisions = [
        Division(source: 60, rate: 15, every: 4), Division(source: 60, rate: 30, every: 2),
        Division(source: 60, rate: 60, every: 1), Division(source: 120, rate: 15, every: 8),
        Division(source: 120, rate: 30, every: 4), Division(source: 120, rate: 60, every: 2),
        Division(source: 59.94, rate: 60, every: 1), Division(source: 30, rate: 60, every: 1),
        Division(source: 30, rate: 30, every: 1), Division(source: 1, rate: 15, every: 1),
        Division(source: 60, rate: 1, every: 60), Division(source: 24, rate: 24, every: 1),
        Division(source: 25, rate: 30, every: 1), Division(source: 45, rate: 60, every: 1),
    ]

    @Test(arguments: divisions)
    func `every nth frame is taken at a whole ratio`(_ division: Division) {
        let indices = taken(.framesPerSecond(division.rate), times(2400, rate: division.source))
        #expect(indices == Array(stride(from: 0, to: 2400, by: division.every)))
    }

    @Test(arguments: divisions, [UInt64(1), 2, 3])
    func `jitter of a fifth of the interval changes nothing`(_ division: Division, seed: UInt64) {
        var random = SplitMix(seed: seed)
        let reach = Int(1e9 / max(division.source, division.rate) / 5)
        let jittered = times(2400, rate: division.source).map { time in
            UInt64(Int(time) + Int.random(in: -reach...reach, using: &random))
        }
        let indices = taken(.framesPerSecond(division.rate), jittered)
        let expected = Array(stride(from: 0, to: 2400, by: division.every))
        // A list of thousands is no help where it is wrong.
        let difference = zip(indices, expected).first { $0 != $1 }
        #expect(difference == nil && indices.count == expected.count, "seed \(seed)")
    }

    /// Shows P70.
    @Test(arguments: [
        (60.0, 24.0), (60, 25), (120, 50), (144, 60), (60, 50), (90, 60), (30, 29), (75, 7.5), (240, 23.976),
    ])
    func `a rate holds on average, without drift or bursts`(source: Double, rate: Double) {
        let seconds = 600.0
        let times = times(Int(source * seconds), rate: source)
        let indices = taken(.framesPerSecond(rate), times)
        // Over ten minutes, to a frame at either end.
        #expect(abs(Double(indices.count) - rate * seconds) <= 1)
        let gaps = zip(indices, indices.dropFirst()).map { $1 - $0 }
        let ideal = source / rate
        #expect(gaps.allSatisfy { Double($0) > ideal - 1 && Double($0) < ideal + 1 })
    }

    /// Shows P70.
    @Test(arguments: [(1, 1), (2, 2), (3, 3), (7, 7), (0, 1), (-4, 1), (Int.min, 1)])
    func `every(n) takes the first frame and every nth after it`(n: Int, step: Int) {
        // The time does not matter.
        let indices = taken(.every(n), Array(repeating: 0, count: 50))
        #expect(indices == Array(stride(from: 0, to: 50, by: step)))
    }

    @Test(arguments: [0.0, -15, .nan, .infinity])
    func `an impossible rate is no limit`(rate: Double) {
        #expect(taken(.framesPerSecond(rate), times(20, rate: 1000)).count == 20)
    }

    /// Shows P70.
    @Test func `frames missed during a pause are not made up for`() {
        // Half a second without frames, then 120 of them a second again.
        let first = times(60, rate: 120)
        let second = times(120, rate: 120, from: first[59] + 500_000_000)
        let indices = taken(.framesPerSecond(15), first + second)
        let gaps = zip(indices, indices.dropFirst()).map { (first + second)[$1] - (first + second)[$0] }
        #expect(gaps.allSatisfy { $0 > 33_000_000 })
        #expect(indices.count == 8 + 15 || indices.count == 8 + 16)
    }

    @Test func `a clock that jumps holds nothing back for longer than the rate`() {
        let second: UInt64 = 1_000_000_000
        let source = PacedSource(.framesPerSecond(10))
        var now = 5 * second
        var sent: [UInt64] = []
        // Back to the beginning, like a source that was opened again; to the end of time, and back.
        for start in [900 * second, 0, .max - second, 5] {
            for step in UInt64(0)..<20 {
                now += second / 60
                if source.sends(start + step * (second / 60), at: now) { sent.append(now) }
            }
        }
        let gaps = zip(sent, sent.dropFirst()).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 <= second / 10 + second / 60 }, "\(gaps)")
        #expect((13...16).contains(sent.count), "\(sent.count)")
    }

    @Test func `the rate counts from an image that was asked for`() {
        let source = PacedSource(.framesPerSecond(1))
        #expect(source.sends(0))
        #expect(!source.sends(100_000_000))
        #expect(!source.sends(200_000_000))
        source.pacer.restart(at: 200_000_000)
        #expect(!source.sends(1_050_000_000))
        #expect(source.sends(1_200_000_000))
    }

    @Test func `an image that comes to nothing has not had its turn`() {
        for pacing in [SampleUploader.Pacing.framesPerSecond(1), .every(3)] {
            let source = PacedSource(pacing)
            #expect(source.sends(0) && !source.sends(300_000_000) && !source.sends(600_000_000))
            #expect(source.sends(1_000_000_000))
            source.pacer.putBack()
            #expect(source.sends(1_300_000_000), "\(pacing)")
            // Not across a change of the rate.
            source.pacer.pacing = .framesPerSecond(0.5)
            source.pacer.putBack()
            #expect(!source.sends(1_500_000_000))
        }
    }

    @Test func `an unchanged image has no turn, or at a rate of its own`() {
        let times = times(301, rate: 60, from: 0)
        let changes: Set = [0, 100, 101]
        #expect(taken(.everyFrame.skippingUnchanged(), times) { changes.contains($0) } == [0, 100, 101])
        let still = taken(.adaptive(still: 1, motion: 60), times) { changes.contains($0) }
        #expect(still == [0, 60, 100, 101, 161, 221, 281])
    }

    @Test func `the rate follows changes of the content`() {
        // Two seconds of each at 60 Hz.
        let times = times(360, rate: 60)
        let indices = taken(.adaptive(still: 15, motion: 30), times) { (120..<240).contains($0) }
        #expect(indices.filter { $0 < 120 } == Array(stride(from: 0, to: 120, by: 4)))
        #expect(indices.filter { 120..<240 ~= $0 } == Array(stride(from: 120, to: 240, by: 2)))
        let after = indices.filter { $0 >= 240 }
        #expect(after.count == 30)
        #expect(zip(after, after.dropFirst()).allSatisfy { $1 - $0 == 4 })
    }

    /// Shows P70.
    @Test func `a new rate counts from the last frame`() {
        let source = PacedSource(.framesPerSecond(1))
        #expect(source.sends(0))
        #expect(!source.sends(100_000_000))
        source.pacer.pacing = .framesPerSecond(4)
        #expect(source.sends(250_000_000))
        #expect(!source.sends(300_000_000))
        source.pacer.pacing = .everyFrame
        #expect(source.sends(310_000_000))
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `any timestamps are accepted`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        for pacing in [
            SampleUploader.Pacing.framesPerSecond(30), .adaptive(), .every(3), .everyFrame.skippingUnchanged(),
        ] {
            let source = PacedSource(pacing)
            var (count, now) = (0, UInt64(0))
            for _ in 0..<2000 {
                let time = UInt64.random(in: 0...(.max), using: &random) >> UInt64.random(in: 0..<64, using: &random)
                now += UInt64.random(in: 0...40_000_000, using: &random)
                if source.sends(time, isChanged: .random(using: &random), at: now) { count += 1 }
            }
            #expect(count > 0, "seed \(seed)")
        }
    }
}
