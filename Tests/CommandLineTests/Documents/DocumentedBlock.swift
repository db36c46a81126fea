import Foundation

/// A block of code in a page of the documentation.
struct DocumentedBlock: Sendable, Equatable {
    /// The page, by its path in the package.
    let file: String
    /// The number of its first line.
    let line: Int
    /// What the fence says; nil if the block is indented.
    let language: String?
    let lines: [String]
    /// The text right before the block.
    let paragraph: String

    /// The commands of the block, as a reader would type them: without the prompt and without the name of the machine.
    var commands: [String] {
        var commands: [String] = []
        var continues = false
        for line in lines {
            var text = line
            for mark in ["$ ", "A: ", "B: "] where line.hasPrefix(mark) { text = String(line.dropFirst(mark.count)) }
            if continues {
                commands[commands.count - 1] += "\n" + text
            } else {
                commands.append(text)
            }
            continues = text.hasSuffix("\\")
        }
        return commands
    }
}

/// The pages that a reader may copy commands from.
enum Documents {
    /// Every page, by its path in the package.
    static var files: [String] {
        get throws {
            let articles = try paths(below: "Sources").filter { $0.contains(".docc/") }
            let examples = ["", "Gateway/", "ScreenCapture/"].map { "Examples/\($0)README.md" }
            return try ["README.md", "SECURITY.md"] + examples + paths(below: "docs") + articles
        }
    }

    private static func paths(below directory: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: Places.package + directory)
            .filter { $0.hasSuffix(".md") }.sorted().map { directory + "/" + $0 }
    }

    static func text(of file: String) throws -> String {
        try String(contentsOfFile: Places.package + file, encoding: .utf8)
    }

    /// Every block of every page.
    static var blocks: [DocumentedBlock] {
        get throws { try files.flatMap { blocks(in: try text(of: $0), of: $0) } }
    }

    /// The fenced and the indented blocks of a text.
    static func blocks(in text: String, of file: String) -> [DocumentedBlock] {
        var blocks: [DocumentedBlock] = []
        var paragraph: [Substring] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var index = 0
        while index < lines.count {
            let line = lines[index]
            if let fence = line.prefix(while: { $0 == " " }).count < 4 ? fence(line) : nil {
                let end = lines[(index + 1)...].firstIndex { Self.fence($0) == "" } ?? lines.count
                blocks.append(
                    DocumentedBlock(
                        file: file,
                        line: index + 2,
                        language: fence,
                        lines: lines[(index + 1)..<end].map(String.init),
                        paragraph: paragraph.joined(separator: " ")
                    )
                )
                index = end + 1
            } else if line.hasPrefix("    "), !line.allSatisfy(\.isWhitespace), index == 0 || lines[index - 1].isEmpty {
                let end = lines[index...].firstIndex { !$0.hasPrefix("    ") } ?? lines.count
                blocks.append(
                    DocumentedBlock(
                        file: file,
                        line: index + 1,
                        language: nil,
                        lines: lines[index..<end].map { String($0.dropFirst(4)) },
                        paragraph: paragraph.joined(separator: " ")
                    )
                )
                index = end
            } else {
                // The paragraph that a block belongs to is the last one before it.
                if line.isEmpty {
                    let next = index + 1 < lines.count ? lines[index + 1] : ""
                    if !next.hasPrefix("    "), Self.fence(next) == nil { paragraph = [] }
                } else {
                    paragraph.append(line)
                }
                index += 1
            }
        }
        return blocks
    }

    /// What stands behind the marks of a fence: empty at the end of a block.
    private static func fence(_ line: Substring) -> String? {
        let text = line.drop { $0 == " " }
        return text.hasPrefix("```") ? String(text.dropFirst(3)) : nil
    }

    /// What the tests replace in a command, in this order: the table of docs/commands.md.
    static var replacements: [(written: String, run: String)] {
        get throws {
            try text(of: "docs/commands.md").split(separator: "\n").compactMap { line in
                // A bar within a cell is written with a backslash.
                let cells = line.replacing("\\|", with: "\u{0}").split(separator: "|").map {
                    $0.trimmingCharacters(in: .whitespaces).replacing("\u{0}", with: "|")
                }
                guard cells.count == 2, cells.allSatisfy({ $0.hasPrefix("`") && $0.hasSuffix("`") && $0.count > 2 })
                else { return nil }
                return (String(cells[0].dropFirst().dropLast()), String(cells[1].dropFirst().dropLast()))
            }
        }
    }

    /// A command as the tests run it.
    static func replaced(_ command: String) throws -> String {
        try replacements.reduce(command) { $0.replacing($1.written, with: $1.run) }
    }
}
