/// Where a run of bytes is cut: at random places that follow from a seed, or nowhere.
package struct Cuts {
    private var state: UInt64
    private let meanDistance: UInt64

    /// No cut at all.
    package init() {
        state = 0
        meanDistance = 0
    }

    /// Cuts that lie 1 to 2 x `meanDistance` bytes apart.
    package init(seed: UInt64, meanDistance: UInt64) {
        state = seed
        self.meanDistance = meanDistance
    }

    /// The first cut behind `start`, or the end of all bytes.
    package mutating func end(behind start: Int, of count: Int) -> Int {
        guard meanDistance > 0 else { return count }
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return min(count, start + 1 + Int((state >> 33) % (2 * meanDistance)))
    }
}
