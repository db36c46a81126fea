import CBaseline
import FrameSocket

/// Frames of given sizes through a socket, against a plain loop of sendmsg and recv: as fast as possible, and at 60
/// frames a second.
enum TransportBenchmarks {
    static func all(_ options: Options) -> [Benchmark] {
        let saturated = [
            (4096, "4 kB", 4000), (50_000, "50 kB", 4000), (200_000, "200 kB", 2000), (1_000_000, "1 MB", 400),
        ].flatMap { bytes, label, frames in
            executors.map { executor, isOnOwnThread in
                benchmark(
                    "transport/\(label)/\(executor)",
                    [.time, .cpu, .switches, .reads, .writes, .waits, .allocations, .copied],
                    Stream(bytes: bytes, frames: options.amount(frames / 4, frames), isOnOwnThread: isOnOwnThread)
                )
            }
        }
        let paced = [(50_000, "50 kB"), (200_000, "200 kB"), (1_000_000, "1 MB")].flatMap { bytes, label in
            executors.map { executor, isOnOwnThread in
                benchmark(
                    "60 a second/\(label)/\(executor)",
                    [.median, .tail, .cpu, .switches],
                    Stream(
                        bytes: bytes,
                        frames: options.amount(60, 300),
                        interval: 1_000_000_000 / 60,
                        isOnOwnThread: isOnOwnThread
                    )
                )
            }
        }
        return saturated + paced
    }

    private static let executors = [("own executor", true), ("default pool", false)]

    /// What is sent, and where it is received.
    private struct Stream {
        let bytes: Int
        let frames: Int
        var interval: UInt64 = 0
        let isOnOwnThread: Bool
    }

    private static func benchmark(_ name: String, _ metrics: [Metric], _ stream: Stream) -> Benchmark {
        Benchmark(name: name, metrics: metrics, isSlow: stream.interval > 0) {
            let baseline = try BaselineLink(bytes: stream.bytes)
            let link = try await Link()
            let message = FrameMessage(
                jpeg: FrameBytes(copying: [UInt8](repeating: 1, count: stream.bytes)),
                info: FrameInfo(bufferSize: BufferSize(width: 1920, height: 1080))
            )
            return Benchmark.Comparison(
                baseline: {
                    var latencies: [Int64] = []
                    var sample = try measureSynchronously(stream.frames) {
                        latencies = try baseline.run(frames: stream.frames, interval: stream.interval)
                    }
                    sample.add(latencies: latencies)
                    return sample
                },
                ours: {
                    var latencies: [Int64] = []
                    var sample = try await measure(stream.frames) {
                        latencies = try await link.run(
                            message,
                            frames: stream.frames,
                            interval: stream.interval,
                            isOnOwnThread: stream.isOnOwnThread
                        )
                    }
                    sample.add(latencies: latencies)
                    return sample
                }
            )
        }
    }
}

/// Owns a socket pair of the baseline.
@safe private final class BaselineLink {
    private let link: OpaquePointer

    init(bytes: Int) throws {
        guard let link = unsafe baseline_link_create(107, bytes) else { throw BaselineFailure() }
        unsafe self.link = unsafe link
    }

    deinit {
        unsafe baseline_link_destroy(link)
    }

    /// Sends frames from a thread to this one, and returns the age of each if they are paced.
    func run(frames: Int, interval: UInt64) throws -> [Int64] {
        var latencies = [Int64](repeating: 0, count: interval > 0 ? frames : 0)
        let status = unsafe latencies.withUnsafeMutableBufferPointer { buffer in
            unsafe baseline_link_run(link, Int32(frames), Int64(interval), interval > 0 ? buffer.baseAddress : nil)
        }
        guard status == 0 else { throw BaselineFailure() }
        return latencies
    }
}
