/// libjpeg-turbo's own programs, which say what is right.
package enum ReferenceTool: String {
    case djpeg, cjpeg

    /// Returns what the program makes of these bytes; a warning is a failure unless it is accepted.
    package func run(
        _ arguments: [String],
        on input: [UInt8],
        acceptsWarnings: Bool = false
    ) throws -> [UInt8] {
        let tool = try ChildProcess(rawValue, arguments, input: input)
        guard tool.status == 0 || (acceptsWarnings && tool.status == 2) else {
            throw Failure(tool: rawValue, status: tool.status)
        }
        return tool.output
    }

    /// The program ended with a status other than 0.
    struct Failure: Error {
        let tool: String
        let status: Int32
    }
}
