import CBaseline
import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The cost of one run, per repetition of the work.
struct Sample {
    private(set) var values: [Metric: Double] = [:]

    init(_ values: [Metric: Double] = [:]) {
        self.values = values
    }

    subscript(metric: Metric) -> Double? {
        get { values[metric] }
        set { values[metric] = newValue }
    }

    /// Records the median and the tail of latencies, in nanoseconds.
    mutating func add(latencies: [Int64]) {
        guard !latencies.isEmpty else { return }
        let sorted = latencies.sorted()
        self[.median] = Double(sorted[sorted.count / 2])
        self[.tail] = Double(sorted[min(sorted.count - 1, sorted.count * 99 / 100)])
    }
}

/// What the process has used so far.
struct Usage {
    private let time = MonotonicClock.now()
    private let cpu = Usage.processTime()
    private let switches = baseline_process_switches()
    private let counts = baseline_counts_now()

    /// What has been used since, per repetition.
    func sample(per times: Int) -> Sample {
        let now = Usage()
        func each(_ before: Int64, _ after: Int64) -> Double { Double(after - before) / Double(times) }
        return Sample([
            .time: Double(now.time - time) / Double(times),
            .cpu: Double(now.cpu - cpu) / Double(times),
            .switches: each(switches, now.switches),
            .reads: each(counts.reads, now.counts.reads),
            .writes: each(counts.writes, now.counts.writes),
            .waits: each(counts.waits, now.counts.waits),
            .allocations: each(counts.allocations, now.counts.allocations),
            .copied: each(counts.copied, now.counts.copied),
        ])
    }

    private static func processTime() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

/// Returns what `work`, which does something `times` times, uses per repetition.
func measure(_ times: Int, _ work: () async throws -> Void) async rethrows -> Sample {
    let before = Usage()
    try await work()
    return before.sample(per: times)
}

/// Returns what `work`, which does not wait, uses.
func measureSynchronously(_ times: Int, _ work: () throws -> Void) rethrows -> Sample {
    let before = Usage()
    try work()
    return before.sample(per: times)
}
