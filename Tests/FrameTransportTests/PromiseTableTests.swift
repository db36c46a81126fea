import Foundation
import TestDescriptions
import TestSupport
import Testing

/// The table in docs/promises.md: its numbers, the tests that it names, and what the simulator checks of it.
@Suite("Promise table", .tags(.computes)) struct PromiseTableTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static let simulator = root.appendingPathComponent("Tests/Simulation")

    private static func table() throws -> PromiseTable {
        let file = root.appendingPathComponent("docs/promises.md")
        return PromiseTable(try String(contentsOf: file, encoding: .utf8))
    }

    @Test func `numbers are unique and ascend, and every row has its four columns`() throws {
        let table = try Self.table()
        #expect(table.rows.count > 100)
        #expect(table.faults == [])
    }

    @Test func `every test that the table names exists`() throws {
        let sources = try Self.sources(under: Self.root.appendingPathComponent("Tests"))
        #expect(sources.count > 100)
        var known: Set<String> = []
        for (suite, text) in sources {
            known.formUnion(PromiseTable.testNames(in: text).map { "\(suite)/\($0)" })
        }
        let table = try Self.table()
        #expect(table.rows.contains { !$0.tests.isEmpty })
        #expect(table.missingTests(of: known) == [])
    }

    @Test(
        .enabled(if: FileManager.default.fileExists(atPath: simulator.path), "there is no simulator yet")
    )
    func `the simulator checks every promise that it should, and no other`() throws {
        let checked = PromiseTable.checkedNumbers(in: try Self.sources(under: Self.simulator).map(\.text))
        let table = try Self.table()
        #expect(table.uncheckedNumbers(of: checked) == [])
        #expect(checked.subtracting(table.rows.map(\.number)).sorted() == [])
    }

    /// The Swift files in a directory: the name of each without its extension, and its text.
    private static func sources(under directory: URL) throws -> [(name: String, text: String)] {
        let files = try #require(FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil))
        return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .map { ($0.deletingPathExtension().lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) }
    }

    // MARK: The checks themselves

    private static let row = "| P7 | A promise. | file.md | simulation, `SomeTests/a name, with a comma` |"

    @Test(
        arguments: [
            ("", 0), (row, 0), (row + "\n" + row, 1), (row + "\n| P6 | A. | f.md | none yet |", 1),
            ("| P1 | A. | f.md |", 1), ("| P1 | A. | | none yet |", 1), ("| P1x | A. | f.md | none yet |", 1),
            ("| P1 | A. | f.md | none yet, simulation |", 1), ("| P1 | A. | f.md | some day |", 1),
            ("| P1 | A. | f.md | |", 1), ("| P1 | A. | f.md | `NoSlash` |", 1), ("| P1 | A. | f.md | none yet |", 0),
            ("| P01 | A. | f.md | none yet |", 1),
            ("| number | promise | stated in | shown by |\n|---|---|---|---|", 0),
        ]
    )
    func `a faulty table is found`(text: String, count: Int) {
        let table = PromiseTable(text)
        #expect(table.faults.count == count, "\(table.faults)")
    }

    @Test func `a test that is missing and a number that nobody checks are found`() {
        let table = PromiseTable(Self.row)
        #expect(table.missingTests(of: ["SomeTests/another name"]) == ["SomeTests/a name, with a comma"])
        #expect(table.missingTests(of: ["SomeTests/a name, with a comma"]) == [])
        #expect(table.uncheckedNumbers(of: [70]) == [7])
        #expect(table.uncheckedNumbers(of: [7]) == [])
    }

    @Test func `only tests are names of tests, and only checks are numbers of the simulator`() {
        let text = """
            func helper() {}
            @Test func plain() { helper() }
            @Test(arguments: [1, 2]) func `with spaces, and a comma`(number: Int) {}
            @Test(
                "A display name",
                arguments: [3]
            )
            func named() {}
            """
        let names: Set = ["plain", "with spaces, and a comma", "A display name", "named"]
        #expect(PromiseTable.testNames(in: text) == names)
    }

    @Test func `a number of the simulator counts if the check that carries it is made somewhere`() {
        let definitions = """
            /// P99 is not a promise that a check carries.
            enum Promise {
                /// P60, P61: the latest frame arrives.
                ///
                /// P66 too.
                case latestFrame
                /// P44: a stop is final.
                case stopIsFinal
                /// P90.
                case integrity
                case order  // P96
                case progress
            }
            """
        let uses = """
            check(.latestFrame, missing == nil, "P7")
            return violate(.integrity, "")
            check(
                .order, true)
            check(.progress, true, "")
            """
        #expect(PromiseTable.checkedNumbers(in: [definitions, uses]) == [60, 61, 66, 90, 96])
        #expect(PromiseTable.checkedNumbers(in: [definitions]) == [])
    }
}

/// The promises of a Markdown text, one a row, and what is wrong with them.
private struct PromiseTable {
    struct Row {
        let number: Int
        /// Whether the simulator checks it.
        let isSimulated: Bool
        /// The tests that show it, each with its suite: `Suite/test`.
        let tests: [String]
    }

    private(set) var rows: [Row] = []
    private(set) var faults: [String] = []

    init(_ text: String) {
        for line in text.split(separator: "\n") where line.hasPrefix("| P") {
            switch Self.row(line) {
            case .success(let row):
                if let last = rows.last?.number, row.number <= last {
                    faults.append("P\(row.number) stands behind P\(last)")
                }
                rows.append(row)
            case .failure(let fault): faults.append("\(fault.reason): \(line)")
            }
        }
    }

    private struct Fault: Error {
        let reason: String
    }

    private static func row(_ line: Substring) -> Result<Row, Fault> {
        let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
            .map { $0.trimmingCharacters(in: .whitespaces) }
        guard cells.count == 4, cells.allSatisfy({ !$0.isEmpty }) else {
            return .failure(Fault(reason: "four filled columns are wanted"))
        }
        guard let match = cells[0].wholeMatch(of: /P([1-9]\d*)/), let number = Int(match.1) else {
            return .failure(Fault(reason: "the number is none"))
        }
        let tests = cells[3].matches(of: /`([^`]*)`/).map { String($0.1) }
        guard tests.allSatisfy({ $0.wholeMatch(of: /\w+\/.+/) != nil }) else {
            return .failure(Fault(reason: "a test is named as Suite/test"))
        }
        // What is left once the names of tests are taken out, which may have commas of their own.
        let words = cells[3].replacing(/`[^`]*`/, with: "").split(separator: ",")
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        switch (words, tests.isEmpty) {
        case (["simulation"], _): return .success(Row(number: number, isSimulated: true, tests: tests))
        case ([], false), (["none yet"], true):
            return .success(Row(number: number, isSimulated: false, tests: tests))
        default: return .failure(Fault(reason: "the last column says something else than how it is shown"))
        }
    }

    /// The tests that are named and are not among those that exist.
    func missingTests(of known: Set<String>) -> [String] {
        rows.flatMap(\.tests).filter { !known.contains($0) }
    }

    /// The promises that the simulator should check and does not.
    func uncheckedNumbers(of checked: Set<Int>) -> [Int] {
        rows.filter { $0.isSimulated && !checked.contains($0.number) }.map(\.number)
    }

    /// The names of the tests in a file: of the function, and for display.
    static func testNames(in text: String) -> Set<String> {
        var names: Set<String> = []
        for match in text.matches(of: /@Test\b(?:\s*\(\s*"([^"]*)")?/) {
            if let display = match.1 { names.insert(String(display)) }
            if let function = text[match.range.upperBound...].firstMatch(of: /func\s+(?:`([^`]*)`|(\w+))/),
                let name = function.1 ?? function.2
            {
                names.insert(String(name))
            }
        }
        return names
    }

    /// The numbers that the simulator's checks carry.
    ///
    /// The case of a check has its numbers in its comment, as in `/// P60: …` before `case latestFrame`. They count if the
    /// check is made, by `check(.latestFrame, …)` or `violate(.latestFrame, …)`.
    static func checkedNumbers(in sources: [String]) -> Set<Int> {
        var numbers: [Substring: Set<Int>] = [:]
        var made: Set<Substring> = []
        for text in sources {
            // Words end at a dot too, as in `world.check(…)`.
            let call = /\b(?:check|violate)\(\s*\.(\w+)/.wordBoundaryKind(.simple)
            made.formUnion(text.matches(of: call).map(\.1))
            var comment = ""
            for line in text.split(separator: "\n") {
                if let match = line.firstMatch(of: /^\s*case (\w+)/) {
                    let text = comment + line
                    numbers[match.1, default: []].formUnion(text.matches(of: /\bP(\d+)\b/).compactMap { Int($0.1) })
                }
                comment = line.firstMatch(of: /^\s*\/\/\//) == nil ? "" : comment + line
            }
        }
        return made.reduce(into: []) { $0.formUnion(numbers[$1] ?? []) }
    }
}
