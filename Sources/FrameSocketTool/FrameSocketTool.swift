#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The program `framesocket`.
@main
enum FrameSocketTool {
    static let version = "0.1.0"

    private static let commands: [any Command.Type] = [
        ReceiveCommand.self, SendCommand.self, PreviewCommand.self, RecordCommand.self, ReplayCommand.self,
        DoctorCommand.self, DemoCommand.self,
    ]

    private static var help: String {
        let list = commands.map { "  \($0.name.rightPadded(10))\($0.summary)" }.joined(separator: "\n")
        return """
            framesocket hands pictures from one process to another over a Unix-domain
            socket.

            Usage: framesocket COMMAND [options]

            \(list)

            framesocket COMMAND --help tells more of a command,
            framesocket --version which version this is.
            """
    }

    static func main() {
        Interruption.watch {
            exit(await run(Array(CommandLine.arguments.dropFirst())).rawValue)
        }
    }

    private static func run(_ words: [String]) async -> ExitCode {
        switch words.first {
        case nil:
            Terminal.say(help)
            return .usage
        case "--help", "-h", "help":
            return show(help)
        case "--version":
            return show("framesocket \(version)")
        case let name?:
            guard let command = commands.first(where: { $0.name == name }) else {
                Terminal.say("framesocket: there is no command \"\(name)\"; see framesocket --help")
                return .usage
            }
            return await run(command, words.dropFirst())
        }
    }

    private static func run(_ type: any Command.Type, _ words: ArraySlice<String>) async -> ExitCode {
        var arguments = Arguments(words)
        if arguments.flag("--help", "-h") { return show(type.help) }
        do {
            try await type.init(&arguments).run()
            return .done
        } catch let error as UsageError {
            Terminal.say("framesocket \(type.name): \(error.message); see framesocket \(type.name) --help")
            return .usage
        } catch let failure as CommandFailure {
            Terminal.say("framesocket \(type.name): \(failure.message)")
            return failure.code
        } catch {
            Terminal.say("framesocket \(type.name): \(error)")
            return .unavailable
        }
    }

    private static func show(_ text: String) -> ExitCode {
        try? Terminal.print(text)
        return .done
    }
}
