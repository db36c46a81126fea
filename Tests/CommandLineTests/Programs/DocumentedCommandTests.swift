import Foundation
import Testing

#if os(Linux)
    /// The commands of the README, of docs and of the articles, run as they are written there.
    @Suite(.serialized) struct DocumentedCommandTests {
        private static var runs: [DocumentedCommand] {
            DocumentedCommand.all.filter { if case .run = $0.treatment { true } else { false } }
        }

        @Test(
            .needs("ffmpeg", "gst-launch-1.0", "mpv", "socat", "cc", "curl", "Xvfb", "systemd-socket-activate"),
            arguments: runs
        )
        func `a documented command does what its page says`(_ command: DocumentedCommand) async throws {
            guard case .run(let scenario) = command.treatment else { return }
            let all = try Documents.blocks
            // In the order of the scenario, not of the pages.
            let blocks = try command.blocks.map { name in
                try #require(all.first { "\($0.file): \($0.lines.first ?? "")".hasPrefix(name) }, "\(name)")
            }
            let run = try DocumentedRun(blocks)
            try await scenario(run)
            #expect(run.unused == [])
        }

        @Test func `every block of the documentation is run, or says that it is not tested`() throws {
            let steps = try Documents.text(of: ".ci/run").split(separator: "\n").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            let compiled = try Documents.files.filter { !["SECURITY.md", "Examples/README.md"].contains($0) }
            let blocks = try Documents.blocks
            #expect(blocks.count > 100)
            for block in blocks where block.language != "swift" || !compiled.contains(block.file) {
                let place = "\(block.file):\(block.line): \(block.lines.first ?? "")"
                let commands = DocumentedCommand.all.filter { $0.names(block) }
                let isUntested = commands.isEmpty && block.paragraph.localizedCaseInsensitiveContains("not tested")
                #expect(commands.count == 1 || isUntested, "\(place) is in \(commands.count) entries")
                switch commands.first?.treatment {
                case .step:
                    for line in block.commands {
                        let step = "step " + line.prefix { $0 != "#" }.trimmingCharacters(in: .whitespaces)
                        #expect(steps.contains(step), "\(place): .ci/run has no \(step)")
                    }
                case .script(let path):
                    #expect(try Documents.text(of: path).contains(block.file), "\(place): \(path) does not read it")
                case .noCommand, .run, nil: break
                }
            }
        }

        @Test func `every entry refers to a block, and the entries that run refer to one each`() throws {
            let blocks = try Documents.blocks
            for command in DocumentedCommand.all {
                for name in command.blocks {
                    let count = blocks.count { "\($0.file): \($0.lines.first ?? "")".hasPrefix(name) }
                    if case .noCommand = command.treatment {
                        #expect(count > 0, "\(name)")
                    } else {
                        #expect(count == 1, "\(name): \(count) blocks")
                    }
                }
            }
        }

        @Test func `every replacement is needed by a command`() throws {
            let all = try Documents.blocks
            var commands = all.filter { block in Self.runs.contains { $0.names(block) } }.flatMap(\.commands)
            let replacements = try Documents.replacements
            #expect(replacements.count > 10)
            for (written, run) in replacements {
                let isUsed = commands.contains { $0.contains(written) }
                #expect(isUsed, "no command contains \(written)")
                commands = commands.map { $0.replacing(written, with: run) }
            }
        }
    }
#endif
