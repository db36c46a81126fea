import FrameSocket

/// One receiver and many senders: the cost of a frame, the share of each sender, and the cost of silent senders.
enum SenderBenchmarks {
    static func all(_ options: Options) -> [Benchmark] {
        let cases = [(1, 1), (8, 1), (64, 1), (512, 1), (512, 2)]
        let busy = cases.map { count, threads in
            let frames = max(options.amount(8, 64), options.amount(1024, 8192) / count)
            let name = threads == 1 ? "senders/\(count)" : "senders/\(count)/\(threads) threads"
            return Benchmark(name: name, metrics: [.time, .receiverCPU, .fairness]) {
                let senders = try await Senders(count, threads: threads)
                return Benchmark.Comparison(
                    baseline: { try await senders.runBaseline(frames) },
                    ours: { try await senders.runOurs(frames) }
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
}
