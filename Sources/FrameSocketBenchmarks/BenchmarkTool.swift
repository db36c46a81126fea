#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The program `framesocket-bench`: measures this package against plain C in the same run, and prints ratios.
@main
enum BenchmarkTool {
    @concurrent
    static func main() async {
        let words = CommandLine.arguments.dropFirst()
        defer { SocketPath.removeAll() }
        do {
            if words.first == Peer.command { return try await Peer.run(Array(words.dropFirst())) }
            guard let options = Options(words) else {
                print(Options.help)
                exit(words == ["--help"] ? 0 : 64)
            }
            try await run(options)
        } catch {
            print("framesocket-bench: \(error)")
            SocketPath.removeAll()
            exit(1)
        }
    }

    private static func run(_ options: Options) async throws {
        // A process that ends early is noticed by its missing answer.
        signal(SIGPIPE, SIG_IGN)
        if let path = options.linksFile { return try await LinkMeasurement.run(fixtures: options.fixtures, to: path) }
        let benchmarks = all(options).filter { options.wants($0.name) }
        guard !options.isList else { return benchmarks.forEach { print($0.name) } }
        var report = Report(isJSON: options.isJSON)
        report.begin(Host())
        for benchmark in benchmarks {
            report.show(try await Measurement(benchmark, rounds: options.rounds(benchmark)))
        }
    }

    private static func all(_ options: Options) -> [Benchmark] {
        TransportBenchmarks.all(options) + SenderBenchmarks.all(options) + FanOutBenchmarks.all(options)
            + FloodBenchmarks.all(options) + HeaderBenchmarks.all(options) + StreamBenchmarks.all(options)
            + CodecBenchmarks.all(options) + ThreadBenchmarks.all(options) + ProcessBenchmarks.all(options)
            + MemoryBenchmarks.all(options) + LaneBenchmarks.all(options)
    }
}
