/// A small, fast generator (SplitMix64): the same seed gives the same numbers on every system.
struct Random {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// Creates a generator for one part of a history, independent of how often the others are asked.
    init(seed: UInt64, part: Int) {
        state = seed &+ UInt64(truncatingIfNeeded: part) &* 0xd1b5_4a32_d192_ed03
        _ = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `bound - 1`; 0 if there is none.
    mutating func below(_ bound: Int) -> Int {
        guard bound > 1 else { return 0 }
        return Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    /// Returns a number of a range.
    mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + below(range.count)
    }

    /// Returns a time of a range.
    mutating func time(in range: ClosedRange<UInt64>) -> UInt64 {
        range.lowerBound + UInt64(below(Int(clamping: range.upperBound - range.lowerBound) + 1))
    }

    /// Returns true in so many of 100 cases.
    mutating func chance(_ percent: Int) -> Bool {
        below(100) < percent
    }

    /// Returns one of several values; the first if there is only one.
    mutating func pick<Value>(_ first: Value, _ others: Value...) -> Value {
        let index = below(others.count + 1)
        return index == 0 ? first : others[index - 1]
    }
}
