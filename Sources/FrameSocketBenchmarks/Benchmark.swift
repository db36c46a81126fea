import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A cost of the work, per repetition.
enum Metric: String {
    case time
    /// Of the whole process, or of both if there are two.
    case cpu = "CPU"
    case senderCPU = "sender's CPU"
    case receiverCPU = "receiver's CPU"
    case median = "p50"
    case tail = "p99"
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
        case .memory: .bytes
        case .fairness: .number
        }
    }
}

/// The cost of one run.
typealias Sample = [Metric: Double]

/// One case: work that this package does, and if possible plain C that does the same.
struct Benchmark {
    /// Does the work once more, and returns its cost.
    typealias Run = () async throws -> Sample

    /// One metric of both sides: medians of the rounds.
    struct Row {
        let name: String
        let metric: Metric
        let baseline: Double?
        let ours: Double?

        /// Ours divided by the baseline's; nil if that is next to nothing.
        var ratio: Double? {
            guard let baseline, let ours, baseline >= 0.1 else { return nil }
            return ours / baseline
        }
    }

    /// The name, which `--filter` searches: `transport/50 kB/own executor`.
    let name: String

    /// The metrics to report, in this order.
    let metrics: [Metric]

    /// Whether a run takes a second or more, so that it is repeated less often.
    var isSlow = false

    /// Prepares what is not measured, such as images, connections and other processes, and returns both sides.
    let prepare: () async throws -> (baseline: Run?, ours: Run)

    /// Runs both sides in turns, so that disturbances of the machine affect both.
    func measure(rounds: Int) async throws -> [Row] {
        let sides = try await prepare()
        var (baseline, ours): ([Sample], [Sample]) = ([], [])
        for _ in 0...rounds {
            if let run = sides.baseline { baseline.append(try await run()) }
            ours.append(try await sides.ours())
        }
        return metrics.map { metric in
            Row(
                name: name,
                metric: metric,
                baseline: Self.median(of: metric, baseline),
                ours: Self.median(of: metric, ours)
            )
        }
    }

    /// The first round is not counted: it pays for pages and caches.
    private static func median(of metric: Metric, _ samples: [Sample]) -> Double? {
        let values = samples.dropFirst().compactMap { $0[metric] }.sorted()
        return values.isEmpty ? nil : values[values.count / 2]
    }
}

/// A baseline that failed, or a process that did not answer.
struct BenchmarkFailure: Error {}

/// Returns what `work`, which does something `times` times, takes per repetition: time, and the CPU time of this process.
func measure(_ times: Int, _ work: () async throws -> Void) async rethrows -> Sample {
    let (time, cpu) = (MonotonicClock.now(), processTime())
    try await work()
    return [
        .time: Double(MonotonicClock.now() - time) / Double(times), .cpu: Double(processTime() - cpu) / Double(times),
    ]
}

private func processTime() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

extension Sample {
    /// Adds the median and the tail of latencies, in nanoseconds.
    mutating func add(latencies: [Int64]) {
        guard !latencies.isEmpty else { return }
        let sorted = latencies.sorted()
        self[.median] = Double(sorted[sorted.count / 2])
        self[.tail] = Double(sorted[Swift.min(sorted.count - 1, sorted.count * 99 / 100)])
    }
}
