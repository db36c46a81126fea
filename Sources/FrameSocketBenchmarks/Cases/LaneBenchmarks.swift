import FrameSocket

/// Pixels in shared memory from one process to another: the same in plain C between the same two processes, and by
/// GStreamer's shmsink and shmsrc.
///
/// The receiver reads as much of each row as `--lane-read` says. A frame is submitted after it has been drawn, and before
/// it is copied; its latency ends when its rows have been read.
enum LaneBenchmarks {
    /// The baseline.
    private static let plain = LaneContender(PlainLane.self)

    /// This package's lane.
    private static let ours = LaneContender(SharedLane.self)

    /// Those whose sender is this program.
    static let contenders = [plain, ours]

    static func all(_ options: Options) -> [Benchmark] {
        // Sealed memory files are Linux's.
        #if os(Linux)
            let flatOut = LaneScenario.Mode.allCases.flatMap { mode in
                LaneScenario.Format.allCases.map { format in
                    benchmark(
                        LaneScenario(
                            format: format,
                            mode: mode,
                            interval: 0,
                            frames: mode == .inPlace ? options.amount(2000, 5000) : options.amount(100, 300),
                            bytesReadPerRow: options.laneRead
                        ),
                        [.time, .cpu, .senderCPU, .receiverCPU]
                    )
                }
            }
            let paced = LaneScenario.Mode.allCases.filter { $0 != .drawn }.flatMap { mode in
                LaneScenario.Format.allCases.map { format in
                    benchmark(
                        LaneScenario(
                            format: format,
                            mode: mode,
                            interval: 1_000_000_000 / 60,
                            frames: options.amount(30, 120),
                            bytesReadPerRow: options.laneRead
                        ),
                        [.median, .tail, .cpu, .senderCPU, .receiverCPU]
                    )
                }
            }
            return flatOut + paced
        #else
            return []
        #endif
    }

    private static func benchmark(_ scenario: LaneScenario, _ metrics: [Metric]) -> Benchmark {
        Benchmark(name: scenario.name, metrics: metrics, isSlow: true) {
            let shmSink = ShmSink(scenario)
            return Benchmark.Comparison(
                baseline: try await plain.prepare(scenario),
                other: shmSink.run.map { Benchmark.Other(name: ShmSink.name, run: $0) },
                ours: try await ours.prepare(scenario),
                notes: shmSink.notes
            )
        }
    }
}
