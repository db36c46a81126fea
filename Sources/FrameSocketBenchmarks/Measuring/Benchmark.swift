import CBaseline

/// One case: work that this package does, and if available a baseline that does the same.
struct Benchmark {
    /// Does the work once more, and returns its cost.
    typealias Run = () async throws -> Sample

    /// The two sides, ready to run.
    struct Comparison {
        /// By plain C; nil if there is nothing to compare with.
        var baseline: Run?
        /// By this package.
        let ours: Run
    }

    /// The name, which `--filter` searches: `transport/200 kB/own executor`.
    let name: String

    /// The metrics to report, in this order.
    let metrics: [Metric]

    /// Whether a run takes a second or more, so that it is repeated less often.
    var isSlow = false

    /// Prepares what is not measured: images, connections, other processes.
    let prepare: () async throws -> Comparison
}

/// The result of a benchmark.
struct Measurement {
    /// One metric of both sides: medians of the rounds.
    struct Row {
        let name: String
        let metric: Metric
        let baseline: Double?
        let ours: Double

        /// Ours divided by the baseline's; nil if that is next to nothing.
        var ratio: Double? { baseline.flatMap { $0 < 0.1 ? nil : ours / $0 } }
    }

    let rows: [Row]

    /// Runs both sides in turns, so that disturbances of the machine affect both.
    init(_ benchmark: Benchmark, rounds: Int) async throws {
        let comparison = try await benchmark.prepare()
        var baseline = Samples()
        var ours = Samples()
        // Unmeasured: the first round pays for pages and caches.
        _ = try await comparison.baseline?()
        _ = try await comparison.ours()
        for _ in 0..<rounds {
            if let run = comparison.baseline { baseline.timed.append(try await run()) }
            ours.timed.append(try await comparison.ours())
        }
        if benchmark.metrics.contains(where: \.isCounted), baseline_counts_enable(true) {
            if let run = comparison.baseline { baseline.counted = try await run() }
            ours.counted = try await comparison.ours()
            _ = baseline_counts_enable(false)
        }
        rows = benchmark.metrics.compactMap { metric in
            guard let value = ours[metric] else { return nil }
            return Row(name: benchmark.name, metric: metric, baseline: baseline[metric], ours: value)
        }
    }
}

/// The samples of one side.
private struct Samples {
    var timed: [Sample] = []
    var counted: Sample?

    /// The median of a metric, or its count; nil if it was not measured.
    subscript(metric: Metric) -> Double? {
        if metric.isCounted { return counted?[metric] }
        let values = timed.compactMap { $0[metric] }.sorted()
        return values.isEmpty ? nil : values[values.count / 2]
    }
}

/// A baseline in C that failed, or a process that did not answer.
struct BaselineFailure: Error {}
