import Foundation
import TestDescriptions
import Testing

/// `framesocket-bench`: that it measures, and those of its figures that are the same on every machine.
@Suite(.serialized) struct BenchmarkTests {
    private let place = Workplace.new

    /// A line that the program printed.
    private struct Row: Decodable {
        let name: String
        let metric: String
        let baseline: Double?
        let ours: Double
    }

    private func bench(_ arguments: String...) async throws -> Ending {
        let common = ["--fixtures", Places.fixture("")]
        return try await place.start(Places.benchmarks, arguments + common).ended()
    }

    /// What a quick run of some cases measured, by metric.
    private func measure(_ filter: String) async throws -> [String: Row] {
        let ending = try await bench("--quick", "--json", "--filter", filter).checked(0)
        #expect(ending.lines.first?.contains("\"processors\"") == true)
        let rows = try ending.lines.dropFirst().map { try JSONDecoder().decode(Row.self, from: Data($0.utf8)) }
        #expect(rows.allSatisfy { $0.name.contains(filter) })
        return Dictionary(rows.map { ($0.metric, $0) }) { first, _ in first }
    }

    @Test func `every kind of case exists exactly once`() async throws {
        let ending = try await bench("--list").checked(0)
        #expect(Set(ending.lines).count == ending.lines.count)
        let kinds = Set(ending.lines.compactMap { $0.split(separator: "/").first.map(String.init) })
        let wanted: Set = [
            "transport", "60 a second", "senders", "encode", "decode", "processes", "processes at 30 a second",
            "memory", "lane",
        ]
        #expect(kinds == wanted)
    }

    /// Cases, and what they measure of both sides.
    private static let measures: [(filter: String, metrics: [String])] =
        [
            ("encode/typing", ["time"]), ("decode/typing", ["time"]),
            ("senders/64", ["time", "receiver's CPU", "fairness"]),
        ]
        + (isLinux ? [("lane/copied", ["p50", "CPU"])] : [])

    #if os(Linux)
        private static let isLinux = true
    #else
        private static let isLinux = false
    #endif

    @Test(arguments: measures) func `both sides are measured`(filter: String, metrics: [String]) async throws {
        let rows = try await measure(filter)
        for metric in metrics {
            let row = try #require(rows[metric], "\(metric)")
            let baseline = try #require(row.baseline, "\(metric)")
            // A sender that gets no turn in so short a run makes the fairness 0.
            #expect(metric == "fairness" ? row.ours >= 0 && baseline >= 0 : row.ours > 0 && baseline > 0, "\(metric)")
        }
        // Of many senders in other processes, only the receiver's is.
        #expect(!filter.hasPrefix("senders") || rows["CPU"] == nil)
    }

    #if os(Linux)
        @Test(.leftOut(of: .address, .thread, because: "the sanitizer uses memory of its own"))
        func `a silent sender takes less than 16 KiB`() async throws {
            let memory = try #require(try await measure("memory/silent sender")["memory"])
            #expect(memory.ours > 0 && memory.ours < 16 * 1024)
        }
    #endif

    @Test(arguments: [
        (["--nonsense"], 64, "Usage: framesocket-bench"), (["--filter"], 64, "Usage: framesocket-bench"),
        (["head"], 64, "Usage: framesocket-bench"),
        (["--quick", "--filter", "encode/still", "--fixtures", "none"], 1, "none/screens/desktop-typing/000.png"),
    ])
    func `what is wrong with the arguments is said`(arguments: [String], status: Int32, words: String) async throws {
        let ending = try await place.start(Places.benchmarks, arguments).ended()
        #expect(ending.status == status && ending.text.contains(words), "\(ending)")
    }
}
