import CBaseline

/// One case: work that this package does, and if available a baseline that does the same.
struct Benchmark {
    /// Does the work once more, and returns its cost.
    typealias Run = () async throws -> Sample

    /// The two sides, ready to run.
    struct Comparison {
        /// By plain C; nil if there is nothing to compare with.
        var baseline: Run?
        /// By another program; nil if there is none, or it is not installed.
        var other: Other?
        /// By this package; nil if it does not do this yet.
        var ours: Run?
        /// What a reader of the figures has to know.
        var notes: [String] = []
    }

    /// Another program that does the same.
    struct Other {
        /// Ends the name of the case in the rows that compare with it.
        let name: String
        let run: Run
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
        let ours: Double?

        /// Ours divided by the baseline's; nil if that is next to nothing.
        var ratio: Double? {
            guard let baseline, let ours, baseline >= 0.1 else { return nil }
            return ours / baseline
        }
    }

    let rows: [Row]
    let notes: [String]

    /// Runs all sides in turns, so that disturbances of the machine affect all.
    init(_ benchmark: Benchmark, rounds: Int) async throws {
        let comparison = try await benchmark.prepare()
        let runs = [comparison.baseline, comparison.other?.run, comparison.ours]
        var sides = runs.map { _ in Samples() }
        // Unmeasured: the first round pays for pages and caches. Another program does that in each.
        _ = try await comparison.baseline?()
        _ = try await comparison.ours?()
        for _ in 0..<rounds {
            for (index, run) in runs.enumerated() {
                if let run { sides[index].timed.append(try await run()) }
            }
        }
        if benchmark.metrics.contains(where: \.isCounted), baseline_counts_enable(true) {
            for (index, run) in runs.enumerated() { sides[index].counted = try await run?() }
            _ = baseline_counts_enable(false)
        }
        let (baseline, other, ours) = (sides[0], sides[1], sides[2])
        let againstBaseline = benchmark.metrics.compactMap { metric -> Row? in
            guard baseline[metric] != nil || ours[metric] != nil else { return nil }
            return Row(name: benchmark.name, metric: metric, baseline: baseline[metric], ours: ours[metric])
        }
        let againstOther = benchmark.metrics.compactMap { metric -> Row? in
            guard let name = comparison.other?.name, let value = other[metric] else { return nil }
            return Row(name: "\(benchmark.name)/\(name)", metric: metric, baseline: value, ours: ours[metric])
        }
        rows = againstBaseline + againstOther
        notes = comparison.notes
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
