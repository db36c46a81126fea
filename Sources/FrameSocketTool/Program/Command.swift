/// A command of the program.
protocol Command: Sendable {
    /// The name that selects the command.
    static var name: String { get }
    /// What the command does, in one line.
    static var summary: String { get }
    /// The command's full help text.
    static var help: String { get }

    /// Whether `--json` reports a failure as a `failed` event; false if another event already does.
    static var reportsFailure: Bool { get }

    /// Parses the command's options and operands.
    init(_ arguments: inout Arguments) throws(UsageError)

    /// Runs the command.
    func run() async throws(CommandFailure)
}

extension Command {
    static var reportsFailure: Bool { true }
}
