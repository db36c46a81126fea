import Foundation
import FrameSocket
import TestDescriptions
import Testing

@testable import FrameSocketTool

/// The tables of Tests/Commands: what is wrong with words, and how commands end that people type.
@Suite(.serialized) struct CommandTableTests {
    // MARK: Words

    /// The lines of a table without comments.
    private static func lines(of table: String) throws -> [Substring] {
        let text = try String(contentsOfFile: Places.package + "Tests/Commands/\(table).txt", encoding: .utf8)
        return text.split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.hasPrefix("#") }
    }

    private static let commands: [any Command.Type] = [
        ReceiveCommand.self, SendCommand.self, RecordCommand.self, ReplayCommand.self, PreviewCommand.self,
        DoctorCommand.self,
    ]

    /// What is wrong with a command's words; nil if nothing is.
    private func complaint(about words: [String]) -> String? {
        guard let command = Self.commands.first(where: { $0.name == words.first }) else { return "no command" }
        var arguments = Arguments(words.dropFirst())
        do {
            _ = try command.init(&arguments)
            return nil
        } catch {
            return error.message
        }
    }

    @Test func `words that make no sense are answered with what is wrong with them`() throws {
        let rows = try Self.lines(of: "usage").filter { !$0.isEmpty }.map { $0.components(separatedBy: " | ") }
        #expect(rows.count > 100 && rows.allSatisfy { $0.count == 2 })
        let wrong = rows.compactMap { row in
            let words = row[0].split(separator: " ").map { $0 == "''" ? "" : String($0) }
            let found = complaint(about: words) ?? "nothing"
            return found.contains(row[1]) ? nil : "\(row[0]): \(found)"
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }

    @Test(arguments: [
        "d/-p --count=1 --output=d/out --json", "--count 1 --json --output d/out d/-p",
        "--count=1 --output d/out --json -- d/-p",
        // The last one counts.
        "d/-p --count 7 --output in --json --count=1 --output d/out --json",
    ])
    func `values follow a space or an equals sign, and arguments after two dashes are not options`(words: String) throws
    {
        var arguments = Arguments(words.split(separator: " ").map(String.init))
        let command = try ReceiveCommand(&arguments)
        guard case .at(let endpoint) = command.place else {
            Issue.record("no path")
            return
        }
        #expect("\(endpoint)" == "d/-p" && command.count == 1 && command.directory == "d/out")
        guard case .json = command.output else {
            Issue.record("no events")
            return
        }
    }

    @Test func `the subsampling is the one that is named`() throws {
        var arguments = Arguments(["s", "x.png", "--subsampling", "4:4:0"])
        #expect(try SendCommand(&arguments).configuration.subsampling == .yuv440)
    }

    @Test(arguments: ["r s", "s r"]) func `replay accepts its two operands in either order`(words: String) throws {
        let place = try Workplace()
        let file = try place.file("r", [])
        var arguments = Arguments(words.split(separator: " ").map { $0 == "r" ? file : place.socket })
        let command = try ReplayCommand(&arguments)
        #expect(command.file == file && "\(command.endpoint)" == place.socket)
    }

    @Test(arguments: [
        ("--help", "framesocket moves video frames"), ("help receive", "Usage: framesocket receive PATH"),
        ("receive s --count 3 -h", "Usage: framesocket receive PATH"), ("receive --version", "framesocket 0."),
    ])
    func `help and version go to standard output, and are a success`(words: String, start: String) async throws {
        let place = try Workplace()
        let ending = try await place.shell("exec $F \(words)").ended()
        #expect(ending.status == 0 && ending.errors == "" && ending.text.hasPrefix(start), "\(ending)")
    }

    @Test func `the examples of a command's help are words that it accepts`() throws {
        for command in Self.commands {
            let lines = command.help.split(separator: "\n")
            #expect(
                command.help.hasPrefix("Usage: framesocket \(command.name) ") && lines.allSatisfy { $0.count <= 80 }
            )
            let parts = command.help.components(separatedBy: "\n\nExamples:\n")
            let examples = parts.last?.split(separator: "\n") ?? []
            #expect(parts.count == 2 && (1...3).contains(examples.count), "\(command.name)")
            for example in examples {
                let words = example.split(separator: "|").first { $0.contains("framesocket ") } ?? ""
                #expect(complaint(about: words.split(separator: " ").dropFirst().map(String.init)) == nil, "\(example)")
            }
        }
    }

    // MARK: Commands

    /// A block of the table.
    struct Case: Sendable, CustomTestStringConvertible {
        var command = ""
        var status: Int32 = 0
        var words: [String] = []
        var absent: [String] = []
        var events: [String]?
        var frames: Int?
        var testDescription: String { shortened(command) }
    }

    static let cases: [Case] = {
        guard let lines = try? lines(of: "failures") else { return [] }
        return lines.split(whereSeparator: \.isEmpty).map { block in
            var example = Case()
            for line in block {
                let rest = String(line.dropFirst(2))
                switch line.first {
                case "$": example.command = rest
                case "?": example.status = Int32(rest) ?? -1
                case "!": example.words.append(rest)
                case "-": example.absent.append(rest)
                case "=": example.frames = Int(rest) ?? -1
                case ">": example.events = rest.components(separatedBy: ", ")
                default: example.command = "not a line of a block: \(line)"
                }
            }
            return example
        }
    }()

    /// A recording of three frames, which no case changes.
    static let recording = Task {
        let place = try Workplace()
        let program = try place.shell("exec $F record $S $D/r --once --quiet")
        let jpeg = Places.fixture("jpeg/chelsea-420.jpg")
        _ = try await place.send(jpeg, "--loop", "3", "--passthrough", "--quiet", "--wait", "60")
        await program.ended(0)
        return try Data.bytes(at: place.path("r"))
    }

    @Test func `the table of failures is read`() {
        #expect(Self.cases.count > 90)
    }

    @Test(arguments: cases)
    func `a command ends with its code, words and events, and disturbs no server`(_ example: Case) async throws {
        let place = try Workplace()
        _ = try place.file("r", await Self.recording.value)
        // Those that do not name it leave it alone.
        let receiver = try await example.command.contains(/\bs\b/) ? place.receiver("--json") : nil
        let programs = URL(filePath: Places.framesocket).deletingLastPathComponent().path()
        let ending = try await place.shell("cd $D; PATH=\(programs):$PATH; \(example.command)").ended(example.status)
        for words in example.words {
            let count = ending.errors.split(separator: "\n").count { $0.contains(words) }
            #expect(count == 1, "\(words): \(ending)")
        }
        for words in example.absent { #expect(!ending.errors.contains(words), "\(ending)") }
        if let expected = example.events {
            let events = try ending.events
            let found = events.map { event in
                [event.name, event.name == "error" ? event.text("code") : nil].compactMap(\.self)
                    .joined(separator: " ")
            }
            #expect(found == expected, "\(ending)")
            if let last = events.last, last.name == "failed" {
                #expect(last["exitCode"] == Int(example.status), "\(ending)")
                #expect(ending.errors.contains(last.text("message") ?? "?"), "\(ending)")
            }
            try await place.checkSchema(of: ending.lines)
        }
        // What has arrived is told first.
        receiver?.send(.terminate)
        let received = await receiver?.ended()
        #expect((received?.status ?? 130) == 130)
        if let frames = example.frames { #expect(try received?.events("frame").count == frames, "\(ending)") }
    }
}
