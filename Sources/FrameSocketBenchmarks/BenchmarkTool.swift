import FrameSocket
import PNGReading

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The program `framesocket-bench`: measures this package beside plain C, in one run, and prints ratios.
@main
enum BenchmarkTool {
    private static let help = """
        Usage: framesocket-bench [--quick] [--json] [--filter TEXT] [--fixtures DIR]

        Prints for each case the time of the baseline in C, ours, and the ratio: below 1 ours is faster.

          --quick        fewer rounds
          --json         one JSON object a line
          --filter TEXT  only cases whose name contains TEXT
          --fixtures DIR where the pictures are (Fixtures)
        """

    @concurrent
    static func main() async {
        var words = Array(CommandLine.arguments.dropFirst())
        func flag(_ name: String) -> Bool {
            defer { words.removeAll { $0 == name } }
            return words.contains(name)
        }
        func value(_ name: String) -> String? {
            guard let index = words.firstIndex(of: name), index + 1 < words.count else { return nil }
            defer { words.removeSubrange(index...(index + 1)) }
            return words[index + 1]
        }
        let isQuick = flag("--quick")
        let isJSON = flag("--json")
        let filter = value("--filter") ?? ""
        let fixtures = value("--fixtures") ?? "Fixtures"
        guard words.isEmpty else {
            print(help)
            exit(words == ["--help"] ? 0 : 64)
        }
        do {
            try await run(filter: filter, fixtures: fixtures, isQuick: isQuick, isJSON: isJSON)
        } catch {
            print("framesocket-bench: \(error)")
            exit(1)
        }
    }

    private static func run(filter: String, fixtures: String, isQuick: Bool, isJSON: Bool) async throws {
        let pictures = try [
            ("screen 1920x1080", "screens/desktop-window/000.png"),
            ("screen 1125x2436", "screens/phone-scroll/000.png"),
            ("photo 1920x1080", "photos/rocket-1920x1080.png"),
        ].map { name, path in (name: name, pixels: try picture(at: "\(fixtures)/\(path)")) }
        let benchmarks =
            try TransportBenchmarks.all(isQuick: isQuick)
            + CodecBenchmarks.all(pictures, isQuick: isQuick)
            + EndToEndBenchmarks.all(pictures, isQuick: isQuick)
            + WireBenchmarks.all(isQuick: isQuick)
        if !isJSON { printRow("case", "baseline", "ours", "ratio") }
        for benchmark in benchmarks where filter.isEmpty || benchmark.name.contains(filter) {
            let measurement = try await Measurement(benchmark, rounds: isQuick ? 5 : 15)
            isJSON ? printJSON(measurement) : printRow(measurement)
        }
    }

    private static func picture(at path: String) throws -> PixelBuffer {
        guard let file = unsafe fopen(path, "rb") else { throw MissingFixture(path: path) }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 16 << 20)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        return try PixelBuffer(png: bytes.span.extracting(..<count))
    }

    private static func printRow(_ measurement: Measurement) {
        printRow(
            measurement.name,
            duration(measurement.baseline),
            duration(measurement.ours),
            decimal(measurement.ratio, digits: 2)
        )
    }

    private static func printRow(_ name: String, _ cells: String...) {
        let padded = cells.map { String(repeating: " ", count: max(0, 12 - $0.count)) + $0 }
        print(name + String(repeating: " ", count: max(0, 36 - name.count)) + padded.joined())
    }

    private static func printJSON(_ measurement: Measurement) {
        print(
            """
            {"name":"\(measurement.name)","baseline_ns":\(decimal(measurement.baseline, digits: 1)),\
            "ours_ns":\(decimal(measurement.ours, digits: 1)),"ratio":\(decimal(measurement.ratio, digits: 3))}
            """
        )
    }

    private static func duration(_ nanoseconds: Double) -> String {
        if nanoseconds < 1000 { return decimal(nanoseconds, digits: 1) + " ns" }
        if nanoseconds < 1_000_000 { return decimal(nanoseconds / 1000, digits: 1) + " us" }
        return decimal(nanoseconds / 1_000_000, digits: 2) + " ms"
    }

    private static func decimal(_ value: Double, digits: Int) -> String {
        let scale = [1.0, 10, 100, 1000][digits]
        let rounded = Int((value * scale).rounded())
        let fraction = String(rounded % Int(scale))
        return "\(rounded / Int(scale))." + String(repeating: "0", count: digits - fraction.count) + fraction
    }
}

/// A picture that is not where it should be.
struct MissingFixture: Error, CustomStringConvertible {
    let path: String

    var description: String { "there is no \(path); run this from the package's root, or name --fixtures" }
}
