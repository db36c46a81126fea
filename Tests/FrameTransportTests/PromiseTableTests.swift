import Foundation
import TestDescriptions
import TestSupport
import Testing

/// The table in docs/promises.md: its numbers, and that each is shown by a test or by a check of the simulator.
@Suite("Promise table", .tags(.computes)) struct PromiseTableTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func `something shows every promise, and nothing shows another`() throws {
        let table = PromiseTable(
            try String(contentsOf: Self.root.appendingPathComponent("docs/promises.md"), encoding: .utf8)
        )
        #expect(table.numbers.count > 100)
        #expect(table.faults == [])
        let tests = try Self.sources(under: "Tests")
        #expect(tests.count > 100)
        let checks = SimulatorChecks(in: try Self.sources(under: "Tests/Simulation"))
        #expect(checks.unmade == [])
        let shown = checks.numbers.union(tests.flatMap(PromiseTable.shownNumbers(in:)))
        #expect(Set(table.numbers).subtracting(shown).sorted() == [])
        #expect(shown.subtracting(table.numbers).sorted() == [])
    }

    /// The texts of the Swift files in a directory.
    private static func sources(under directory: String) throws -> [String] {
        let place = root.appendingPathComponent(directory)
        let files = try #require(FileManager.default.enumerator(at: place, includingPropertiesForKeys: nil))
        return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
    }

    // MARK: The checks themselves

    private static let row = "| P7 | A promise. | file.md |"

    @Test(
        arguments: [
            ("", 0), (row, 0), (row + "\n" + row, 1), (row + "\n| P6 | A. | f.md |", 1), ("| P1 | A. |", 1),
            ("| P1 | A. | |", 1), ("| P1x | A. | f.md |", 1), ("| P01 | A. | f.md |", 1),
            ("| P1 | A. | f.md | `SomeTests/test` |", 1), ("| number | promise | stated in |\n|---|---|---|", 0),
        ]
    )
    func `a faulty table is found`(text: String, count: Int) {
        let table = PromiseTable(text)
        #expect(table.faults.count == count, "\(table.faults)")
    }
}

/// The promises of a Markdown text, one a row, and what is wrong with them.
private struct PromiseTable {
    private(set) var numbers: [Int] = []
    private(set) var faults: [String] = []

    init(_ text: String) {
        for line in text.split(separator: "\n") where line.hasPrefix("| P") {
            guard let match = line.wholeMatch(of: /\| P([1-9]\d*) (?:\| [^|]*[^| ] ){2}\|/), let number = Int(match.1)
            else {
                faults.append("a number, a sentence and a place are expected: \(line)")
                continue
            }
            if let last = numbers.last, number <= last { faults.append("P\(number) follows P\(last)") }
            numbers.append(number)
        }
    }

    /// The promises that the tests in a file show, by the line before each.
    static func shownNumbers(in text: String) -> [Int] {
        text.matches(of: /\/\/\/ Shows ((?:P\d+, )*P\d+)\.\n *@Test\b/)
            .flatMap { $0.1.matches(of: /\d+/).compactMap { Int($0.output) } }
    }
}

/// The simulator's checks: the promises that they carry, and those that are never made.
///
/// The case of a check has its numbers in its comment, as in `/// P60: …` before `case latestFrame`. It is made by
/// `check(.latestFrame, …)` or `violate(.latestFrame, …)`.
private struct SimulatorChecks {
    private(set) var numbers: Set<Int> = []
    private(set) var unmade: [Substring] = []

    init(in sources: [String]) {
        // Words end at a dot too, as in `world.check(…)`.
        let call = /\b(?:check|violate)\(\s*\.(\w+)/.wordBoundaryKind(.simple)
        let made = Set(sources.flatMap { $0.matches(of: call).map(\.1) })
        for text in sources {
            var comment = ""
            for line in text.split(separator: "\n") {
                if let name = line.firstMatch(of: /^\s*case (\w+)/)?.1, !comment.isEmpty {
                    let found = comment.matches(of: /\bP(\d+)\b/).compactMap { Int($0.1) }
                    if made.contains(name) { numbers.formUnion(found) } else if !found.isEmpty { unmade.append(name) }
                }
                comment = line.firstMatch(of: /^\s*\/\/\//) == nil ? "" : comment + line
            }
        }
    }
}
