import FrameSocket

/// One comparison: the same work by this package and by plain C, or another baseline, in the same run.
struct Benchmark {
    /// What is measured, in words that `--filter` looks through: `transport/200 kB/own executor`.
    let name: String

    /// How many times a run does the work; figures are for one time.
    let repetitions: Int

    /// Does the work `repetitions` times by the baseline, and returns the nanoseconds it took.
    let baseline: () async throws -> UInt64

    /// Does the work `repetitions` times by this package, and returns the nanoseconds it took.
    let ours: () async throws -> UInt64
}

/// What a benchmark came to.
struct Measurement {
    let name: String
    /// Nanoseconds for one time, the median of the rounds.
    let baseline: Double
    let ours: Double

    /// Ours over the baseline: below 1 is faster.
    var ratio: Double { ours / baseline }

    /// Runs both in turns, so that what disturbs the machine disturbs both.
    init(_ benchmark: Benchmark, rounds: Int) async throws {
        // Unmeasured: the first round pays for pages and caches.
        _ = try await benchmark.baseline()
        _ = try await benchmark.ours()
        var baseline: [UInt64] = []
        var ours: [UInt64] = []
        for _ in 0..<rounds {
            baseline.append(try await benchmark.baseline())
            ours.append(try await benchmark.ours())
        }
        name = benchmark.name
        self.baseline = Self.median(baseline) / Double(benchmark.repetitions)
        self.ours = Self.median(ours) / Double(benchmark.repetitions)
    }

    private static func median(_ values: [UInt64]) -> Double {
        Double(values.sorted()[values.count / 2])
    }
}

/// The nanoseconds that `work` takes.
func time(_ work: () async throws -> Void) async rethrows -> UInt64 {
    let start = MonotonicClock.now()
    try await work()
    return MonotonicClock.now() - start
}

/// The nanoseconds that `work`, which does not wait, takes.
func timeSynchronously(_ work: () throws -> Void) rethrows -> UInt64 {
    let start = MonotonicClock.now()
    try work()
    return MonotonicClock.now() - start
}

/// A baseline in C that failed.
struct BaselineFailure: Error {}

/// The nanoseconds that a baseline in C returned.
func baselineTime(_ nanoseconds: Int64) throws -> UInt64 {
    guard nanoseconds > 0 else { throw BaselineFailure() }
    return UInt64(nanoseconds)
}
