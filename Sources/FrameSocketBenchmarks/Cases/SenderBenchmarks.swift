import CBaseline
import FrameSocket

/// One receiver and many senders: the cost of a frame, the share of each sender, and the cost of silent senders.
enum SenderBenchmarks {
    private static let bytes = 50_000

    static func all(_ options: Options) -> [Benchmark] {
        let cases = [(1, 1), (8, 1), (64, 1), (512, 1), (512, 2)]
        let busy = cases.map { count, threads in
            let frames = max(8, options.amount(1024, 8192) / count)
            let name = threads == 1 ? "senders/\(count)" : "senders/\(count)/\(threads) threads"
            return Benchmark(name: name, metrics: [.time, .cpu, .fairness]) {
                let baseline = try BaselineSenders(count)
                let senders = try await Senders(count, threads: threads)
                return Benchmark.Comparison(
                    baseline: {
                        var fairness = 0.0
                        var sample = try measureSynchronously(frames * count) { fairness = try baseline.run(frames) }
                        sample[.fairness] = fairness
                        return sample
                    },
                    ours: {
                        var fairness = 0.0
                        var sample = try await measure(frames * count) { fairness = try await senders.run(frames) }
                        sample[.fairness] = fairness
                        return sample
                    }
                )
            }
        }
        let idle = [("receiver", false), ("both ends", true)].map { name, hasBothEnds in
            // In a fresh process: memory available for reuse would hide what is allocated.
            Benchmark(name: "idle/512 senders/\(name)", metrics: [.memory, .cpu], isSlow: true) {
                Benchmark.Comparison(ours: {
                    let words = ["idle", "512", hasBothEnds ? "both" : "receiver", "\(options.amount(1, 3))"]
                    let answer = try ChildProcess(words).answer()
                    guard answer.count == 2 else { throw BaselineFailure() }
                    return Sample([.memory: answer[0], .cpu: answer[1]])
                })
            }
        }
        return busy + idle
    }

    /// Owns the socket pairs of the baseline.
    @safe private final class BaselineSenders {
        private let senders: OpaquePointer

        init(_ count: Int) throws {
            guard let senders = unsafe baseline_senders_create(Int32(count), 107, bytes) else {
                throw BaselineFailure()
            }
            unsafe self.senders = unsafe senders
        }

        deinit {
            unsafe baseline_senders_destroy(senders)
        }

        func run(_ frames: Int) throws -> Double {
            let fairness = unsafe baseline_senders_run(senders, Int32(frames))
            guard fairness >= 0 else { throw BaselineFailure() }
            return fairness
        }
    }
}
