/// One of the program's commands.
protocol Command: Sendable {
    /// The word that names it.
    static var name: String { get }
    /// What it does, in a line.
    static var summary: String { get }
    /// How it is used.
    static var help: String { get }

    /// Whether a failure is told as an event of its own with `--json`; not if another one says it.
    static var reportsFailure: Bool { get }

    /// Takes its options and operands.
    init(_ arguments: inout Arguments) throws(UsageError)

    /// Does it.
    func run() async throws(CommandFailure)
}

extension Command {
    static var reportsFailure: Bool { true }
}
