/// Why the program cannot go on, in one line, and its exit code.
struct Failure: Error {
    let message: String
    let exitCode: Int32

    static func usage(_ message: String) -> Failure { Failure(message: message, exitCode: 64) }
    /// What was to be shared does not exist, or no longer.
    static func noInput(_ message: String) -> Failure { Failure(message: message, exitCode: 66) }
    static func unavailable(_ message: String) -> Failure { Failure(message: message, exitCode: 69) }
}
