import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

/// Presentation times of a source, in nanoseconds.
private func times(_ count: Int, rate: Double, from start: UInt64 = 5_000_000_000) -> [UInt64] {
    (0..<count).map { start + UInt64((Double($0) * 1e9 / rate).rounded()) }
}

private func taken(_ pacing: SampleUploader.Pacing, _ times: [UInt64], isChanged: (Int) -> Bool = { _ in true })
    -> [Int]
{
    var pacer = FramePacer(pacing)
    return times.indices.filter { pacer.decide(at: times[$0], isChanged: isChanged($0)) == .take }
}

/// Which frames `FramePacer` takes, by their times alone.
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

    /// Shows P70.
    @Test func `timestamps that jump start the pacing again`() {
        var pacer = FramePacer(.framesPerSecond(10))
        #expect(pacer.decide(at: 900_000_000_000) == .take)
        #expect(pacer.decide(at: 900_010_000_000) == .drop(.paced))
        // Back to the beginning, like a source that was opened again.
        #expect(pacer.decide(at: 0) == .take)
        #expect(pacer.decide(at: 10_000_000) == .drop(.paced))
        #expect(pacer.decide(at: 100_000_000) == .take)
        // To the end of time, and back.
        #expect(pacer.decide(at: .max) == .take)
        #expect(pacer.decide(at: .max) == .drop(.paced))
        #expect(pacer.decide(at: 5) == .take)
        // A step back of less than a frame is jitter.
        #expect(pacer.decide(at: 30_000_000) == .drop(.paced))
        #expect(pacer.decide(at: 20_000_000) == .drop(.paced))
    }

    @Test func `a refresh takes the next frame`() {
        var pacer = FramePacer(.framesPerSecond(1).skippingUnchanged(keepAlive: nil))
        #expect(pacer.decide(at: 0, isChanged: false) == .take)
        #expect(pacer.decide(at: 100_000_000, isChanged: true) == .drop(.paced))
        pacer.refresh()
        #expect(pacer.decide(at: 200_000_000, isChanged: false) == .take)
        #expect(pacer.decide(at: 300_000_000, isChanged: true) == .drop(.paced))
        // The rate counts from the frame that was asked for.
        #expect(pacer.decide(at: 1_050_000_000, isChanged: true) == .drop(.paced))
        #expect(pacer.decide(at: 1_200_000_000, isChanged: true) == .take)
    }

    @Test func `unchanged frames are left out until keepAlive has passed`() {
        let times = times(301, rate: 60, from: 0)
        let changes: Set = [0, 100, 101]
        let second = taken(.everyFrame.skippingUnchanged(), times) { changes.contains($0) }
        #expect(second == [0, 60, 100, 101, 161, 221, 281])
        let never = taken(.everyFrame.skippingUnchanged(keepAlive: nil), times) { changes.contains($0) }
        #expect(never == [0, 100, 101])
        let always = taken(.everyFrame.skippingUnchanged(keepAlive: .zero), times) { _ in false }
        #expect(always.count == 301)
    }

    @Test func `an unchanged frame has its own cause`() {
        var pacer = FramePacer(.framesPerSecond(10).skippingUnchanged())
        #expect(pacer.decide(at: 0, isChanged: true) == .take)
        #expect(pacer.decide(at: 10_000_000, isChanged: false) == .drop(.paced))
        #expect(pacer.decide(at: 100_000_000, isChanged: false) == .drop(.unchanged))
        #expect(pacer.decide(at: 110_000_000, isChanged: true) == .take)
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

    @Test func `images are compared only if the result matters`() {
        for (pacing, count) in [
            (SampleUploader.Pacing.framesPerSecond(15), 0), (.framesPerSecond(15).skippingUnchanged(), 15),
        ] {
            var pacer = FramePacer(pacing)
            var compared = 0
            for time in times(60, rate: 60) {
                if pacer.comparesFrame(at: time) { compared += 1 }
                _ = pacer.decide(at: time)
            }
            #expect(compared == count)
        }
    }

    /// Shows P70.
    @Test func `a new rate counts from the last frame`() {
        var pacer = FramePacer(.framesPerSecond(1))
        #expect(pacer.decide(at: 0) == .take)
        #expect(pacer.decide(at: 100_000_000) == .drop(.paced))
        pacer.pacing = .framesPerSecond(4)
        #expect(pacer.decide(at: 200_000_000) == .take)
        #expect(pacer.decide(at: 300_000_000) == .drop(.paced))
        pacer.pacing = .everyFrame
        #expect(pacer.decide(at: 310_000_000) == .take)
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `any timestamps are accepted`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        for pacing in [
            SampleUploader.Pacing.framesPerSecond(30), .adaptive(), .every(3), .everyFrame.skippingUnchanged(),
        ] {
            var pacer = FramePacer(pacing)
            var count = 0
            for _ in 0..<2000 {
                let time = UInt64.random(in: 0...(.max), using: &random) >> UInt64.random(in: 0..<64, using: &random)
                if pacer.decide(at: time, isChanged: .random(using: &random)) == .take { count += 1 }
            }
            #expect(count > 0, "seed \(seed)")
        }
    }
}
