/// Which numbers of a sequence have not come, tolerant of numbers out of order.
public struct SequenceLoss: Sendable, Hashable {
    /// Numbers that have not come, of those between the lowest and the highest.
    ///
    /// A number that comes late is no longer missing.
    public private(set) var missing: UInt64 = 0

    /// Numbers that came after a higher one.
    public private(set) var reordered = 0

    /// Numbers that came twice.
    public private(set) var repeated = 0

    /// Numbers that came, each counted once.
    public private(set) var received = 0

    /// The share that did not come, from 0 to 1; 0 before any number came.
    public var rate: Double {
        received == 0 ? 0 : Double(missing) / (Double(received) + Double(missing))
    }

    private var highest: UInt64?
    private var lowest: UInt64 = 0
    /// Which of the 64 numbers up to the highest have come; the lowest bit is the highest number.
    private var window: UInt64 = 0

    /// How far a number may be behind the highest and still be late.
    ///
    /// One that is further behind is the beginning of a new sequence.
    public static let reach: UInt64 = 64

    /// Nothing counted yet.
    public init() {}

    /// Counts a number.
    public mutating func add(_ number: UInt64) {
        received += 1
        guard let highest else { return begin(at: number) }
        if number > highest {
            let step = number - highest
            missing &+= step - 1
            window = step < Self.reach ? window << step | 1 : 1
            self.highest = number
            return
        }
        let age = highest - number
        guard age < Self.reach else { return begin(at: number) }
        guard window & (1 << age) == 0 else {
            repeated += 1
            received -= 1
            return
        }
        window |= 1 << age
        reordered += 1
        if number < lowest {
            missing &+= lowest - number - 1
            lowest = number
        } else {
            missing &-= 1
        }
    }

    private mutating func begin(at number: UInt64) {
        highest = number
        lowest = number
        // What came before the first one is none of this sequence's gaps.
        window = 1
    }
}
