import Locking
import Testing

@testable import FrameTransport

/// The number of frames in a row that could not be decoded.
@Suite struct DecodingTallyTests {
    /// Frames by their numbers, negative if they could not be decoded, and after how many of them the limit of 3 is
    /// reached.
    @Test(arguments: [
        ([-1, -2, -3], 3), ([-1, -2, 3, -4, -5, -6], 6), ([-1, -1, -2, -2, -3], 5),
        // One reader decodes an old frame after another has failed at newer ones.
        ([-2, -3, 1, -4], 4), ([-2, 3, -1, -4, -5, -6], 6),
    ])
    func `only a newer frame that can be decoded ends a row`(frames: [Int], end: Int) {
        let reached = Locked(0)
        let failures = Locked([Int]())
        let tally = DecodingTally(limit: 3) { index in
            failures.withLock { $0.append(index) }
        } onLimit: {
            reached.withLock { $0 += 1 }
        }
        for (index, frame) in frames.enumerated() {
            tally.note(frame: abs(frame), isDecoded: frame > 0)
            #expect(reached.withLock { $0 } == (index + 1 >= end ? 1 : 0), "frame \(index)")
        }
        // Each failure counts once, however many readers report it.
        let told = failures.withLock { $0 }
        #expect(told == Array(Set(told)).sorted() && told.allSatisfy { frames.contains(-$0) })
    }
}
