extension ReceptionStatistics {
    /// The loss in a sequence of numbers, tolerant of reordering.
    public struct Loss: Sendable, Hashable {
        /// The count of missing numbers between the lowest and the highest.
        ///
        /// A number that arrives late is no longer missing, nor is that of a frame that arrived and was superseded.
        public var missing: UInt64 { absent - min(absent, superseded) }

        /// The count of numbers that arrived after a higher one.
        package private(set) var reordered = 0

        /// The count of arrivals of numbers that had arrived before.
        public private(set) var repeated = 0

        /// The count of distinct numbers that arrived.
        public private(set) var received = 0

        /// The fraction that did not arrive, from 0 to 1; 0 before any number has arrived.
        public var rate: Double {
            let arrived = Double(received) + Double(min(absent, superseded))
            return received == 0 ? 0 : Double(missing) / (arrived + Double(missing))
        }

        /// The count of numbers between the lowest and the highest that were not added.
        private var absent: UInt64 = 0
        /// How many of these belong to frames that arrived.
        ///
        /// A number that is added late may be one that was taken for one of these: then this is more than what is absent.
        private var superseded: UInt64 = 0
        private var highest: UInt64?
        private var lowest: UInt64 = 0
        /// Which of the 64 numbers up to the highest have arrived; the lowest bit is the highest number.
        private var window: UInt64 = 0

        /// The distance below the highest number at which a number no longer counts as late.
        ///
        /// A number this far behind, or further, begins a new sequence.
        static let reach: UInt64 = 64

        /// Creates an empty count.
        package init() {}

        /// Counts a number.
        package mutating func add(_ number: UInt64) {
            add(number, after: 0)
        }

        /// Counts a number before which the given count of frames arrived that are not added.
        mutating func add(_ number: UInt64, after superseded: UInt64) {
            received += 1
            guard let highest else { return begin(at: number) }
            if number > highest {
                let step = number - highest
                absent &+= step - 1
                self.superseded &+= min(superseded, step - 1)
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
                absent &+= lowest - number - 1
                lowest = number
            } else {
                absent &-= 1
            }
        }

        private mutating func begin(at number: UInt64) {
            highest = number
            lowest = number
            // Numbers before the first one are not gaps of this sequence.
            window = 1
        }
    }
}
