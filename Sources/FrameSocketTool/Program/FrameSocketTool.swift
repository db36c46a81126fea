/// The `framesocket` program.
@main
enum FrameSocketTool {
    static let version = "0.1.0"

    private static let commands: [any Command.Type] = [
        ReceiveCommand.self, SendCommand.self, PreviewCommand.self, RecordCommand.self, ReplayCommand.self,
        DoctorCommand.self,
    ]

    private static var help: String {
        let list = commands.map { "  \($0.name.rightPadded(10))\($0.summary)" }.joined(separator: "\n")
        return """
            framesocket moves video frames between processes over a Unix-domain socket.

            Usage: framesocket COMMAND [options]

            \(list)

            'framesocket help COMMAND' and 'framesocket COMMAND --help' describe a command;
            'framesocket --version' prints the version.
            """
    }

    static func main() {
        ProcessLimits.fillStandardStreams()
        var words: [String] = []
        do throws(CommandFailure) {
            words = try arguments
            try ProcessLimits.check()
        } catch {
            if let name = words.first, let command = commands.first(where: { $0.name == name }) {
                report(error, of: command, words.dropFirst())
            }
            Terminal.say("framesocket: \(error.message)")
            exit(error.code.rawValue)
        }
        Signals.watch { [words] in
            exit(await run(words).rawValue)
        }
    }

    /// The command-line arguments after the program's name, as the system has them.
    ///
    /// The runtime replaces bytes that are not UTF-8 by other characters, which name another file; it loses all of
    /// them if a library that is preloaded changes the environment, and traps without /proc.
    private static var arguments: [String] {
        get throws(CommandFailure) {
            var words: [String] = []
            for bytes in try rawArguments {
                guard let word = String(validating: bytes, as: UTF8.self) else {
                    let text = unsafe bytes.withUnsafeBytes { unsafe FilePath($0).text }
                    throw CommandFailure(
                        .usage,
                        "invalid argument '\(text)': not UTF-8; rename the file, or change to the directory and "
                            + "name it '.'"
                    )
                }
                words.append(word)
            }
            return words
        }
    }

    private static var rawArguments: [[UInt8]] {
        get throws(CommandFailure) {
            #if os(Linux)
                do throws(CommandFailure) {
                    let bytes = try Files.contents(of: InputFile(FilePath("/proc/self/cmdline")))
                    // A zero follows each of them.
                    let words = bytes.split(separator: 0, omittingEmptySubsequences: false)
                    return words.dropFirst().dropLast().map { Array($0) }
                } catch {
                    throw CommandFailure(.systemError, "\(error.message); mount /proc, where its arguments are")
                }
            #else
                return (1..<max(1, Int(CommandLine.argc))).compactMap { index in
                    guard let bytes = unsafe CommandLine.unsafeArgv[index] else { return nil }
                    return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: strlen(bytes)))
                }
            #endif
        }
    }

    private static func run(_ words: [String]) async -> ExitCode {
        switch words.first {
        case nil:
            Terminal.say(lines: help)
            return .usage
        case "--help", "-h", "help":
            guard words.count > 1, words[0] == "help" else { return show(help) }
            guard let command = command(words[1]) else { return .usage }
            return show(command.help)
        case "--version":
            return show("framesocket \(version)")
        case let name?:
            guard let command = command(name) else { return .usage }
            return await run(command, words.dropFirst())
        }
    }

    /// Returns the command of that name; if there is none, reports that and returns nil.
    private static func command(_ name: String) -> (any Command.Type)? {
        let command = commands.first { $0.name == name }
        if command == nil {
            let suggestion = name.suggestion(among: commands.map { $0.name })
            Terminal.say("framesocket: unknown command '\(name)'\(suggestion); see 'framesocket --help'")
        }
        return command
    }

    private static func run(_ type: any Command.Type, _ words: ArraySlice<String>) async -> ExitCode {
        var arguments = Arguments(words)
        if arguments.flag("--help", "-h") { return show(type.help) }
        if arguments.flag("--version") { return show("framesocket \(version)") }
        do {
            try await type.init(&arguments).run()
            return .done
        } catch let error as UsageError {
            Terminal.say("framesocket \(type.name): \(error.message); see 'framesocket \(type.name) --help'")
            return .usage
        } catch let failure as CommandFailure {
            guard !failure.message.isEmpty else { return failure.status }
            report(failure, of: type, words)
            Terminal.say("framesocket \(type.name): \(failure.message)")
            return failure.status
        } catch {
            Terminal.say("framesocket \(type.name): \(error)")
            return .unavailable
        }
    }

    /// Reports how a command ends to scripts that ask for events, as the last one.
    private static func report(_ failure: CommandFailure, of type: any Command.Type, _ words: ArraySlice<String>) {
        guard type.reportsFailure, words.prefix(while: { $0 != "--" }).contains("--json"), failure.code != .usage else {
            return
        }
        // Standard output itself may have failed.
        try? Terminal.print(failure.event.text)
    }

    private static func show(_ text: String) -> ExitCode {
        do {
            try Terminal.print(text)
            return .done
        } catch {
            // The reader of a pipe may have seen enough.
            if error.isBrokenPipe { return .done }
            Terminal.say("framesocket: \(error.message)")
            return .cannotCreate
        }
    }
}
