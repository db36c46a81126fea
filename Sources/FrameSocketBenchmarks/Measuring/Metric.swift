/// A cost of the work, per repetition.
enum Metric: String, CaseIterable {
    case time
    /// Of the whole process, or of both if there are two.
    case cpu = "CPU"
    case senderCPU = "sender's CPU"
    case receiverCPU = "receiver's CPU"
    case median = "p50"
    case tail = "p99"
    /// How often a thread gave up its processor to wait.
    case switches
    case reads
    case writes
    case waits
    case allocations
    /// By `memcpy` and `memmove` in this process; copies by the system are not included.
    case copied
    /// How much the slowest of several had received when the fastest was done, as a fraction.
    case fairness
    case memory

    /// How its values are formatted.
    enum Unit: String {
        case nanoseconds = "ns"
        case bytes = "B"
        case number = ""
    }

    var unit: Unit {
        switch self {
        case .time, .cpu, .senderCPU, .receiverCPU, .median, .tail: .nanoseconds
        case .copied, .memory: .bytes
        case .switches, .reads, .writes, .waits, .allocations, .fairness: .number
        }
    }

    /// Whether it comes from counting, which costs time and therefore needs a run of its own.
    var isCounted: Bool {
        switch self {
        case .reads, .writes, .waits, .allocations, .copied: true
        default: false
        }
    }
}
