#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The program `framesocket-bench`: measures this package against plain C in the same run, and prints ratios.
@main
enum BenchmarkTool {
    private static let help = """
        Usage: framesocket-bench [--quick] [--json] [--filter TEXT]... [--list] [--fixtures DIR]

        Runs each case with plain C and with this package, in turns, and prints the
        median cost per frame of both, and the ratio: below 1, this package costs less.

          --quick        run fewer and shorter rounds
          --json         print one JSON object per line
          --filter TEXT  run only cases whose names contain TEXT; may be repeated
          --list         list the names of the cases
          --fixtures DIR directory of the images (Fixtures)
        """

    @concurrent
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        defer { SocketPath.removeAll() }
        do {
            if words.first == ChildProcess.command { return try await serve(Array(words.dropFirst())) }
            guard let options = Options(words) else {
                print(help)
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
        let all =
            TransportBenchmarks.all(options) + SenderBenchmarks.all(options) + CodecBenchmarks.all(options)
            + ProcessBenchmarks.all(options) + MemoryBenchmarks.all(options) + LaneBenchmarks.all(options)
        let benchmarks = all.filter { options.wants($0.name) }
        guard !options.isList else { return benchmarks.forEach { print($0.name) } }
        let report = Report(isJSON: options.isJSON)
        report.begin()
        for benchmark in benchmarks {
            report.show(try await benchmark.measure(rounds: options.rounds(benchmark)))
        }
    }

    /// What this program does as the other process of a case.
    private static func serve(_ words: [String]) async throws {
        switch words.first {
        case SenderBenchmarks.role: try await SenderBenchmarks.serve(words)
        case ProcessBenchmarks.role: try await ProcessBenchmarks.serve(words)
        case MemoryBenchmarks.cameraRole: try await MemoryBenchmarks.serveCamera(words)
        case MemoryBenchmarks.silentRole: try await MemoryBenchmarks.serveSilence(words)
        case LaneBenchmarks.role: try await LaneBenchmarks.serve(words)
        default: throw BenchmarkFailure()
        }
    }
}

/// The options of the command line.
struct Options {
    private(set) var isQuick = false
    private(set) var isJSON = false
    private(set) var isList = false
    private(set) var fixtures = "Fixtures"
    private var filters: [String] = []

    /// Parses a command line; nil if an argument is invalid.
    init?(_ words: [String]) {
        var words = words.makeIterator()
        while let word = words.next() {
            switch word {
            case "--quick": isQuick = true
            case "--json": isJSON = true
            case "--list": isList = true
            case "--filter":
                guard let text = words.next() else { return nil }
                filters.append(text)
            case "--fixtures":
                guard let directory = words.next() else { return nil }
                fixtures = directory
            default: return nil
            }
        }
    }

    /// Whether a case is selected.
    func wants(_ name: String) -> Bool {
        filters.isEmpty || filters.contains { name.contains($0) }
    }

    /// One of two amounts: for a quick run, or for a full one.
    func amount(_ quick: Int, _ full: Int) -> Int {
        isQuick ? quick : full
    }

    /// How often both sides of a case are run.
    func rounds(_ benchmark: Benchmark) -> Int {
        benchmark.isSlow ? amount(1, 5) : amount(5, 15)
    }
}
