import Foundation

/// libjpeg-turbo's own programs, which say what is right.
package enum ReferenceTool: String {
    case djpeg, cjpeg

    /// Runs the program on a file of these bytes, and gives what it writes; a warning is a failure unless it is accepted.
    package func run(
        _ arguments: [String],
        on input: [UInt8],
        acceptsWarnings: Bool = false
    ) throws -> [UInt8] {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("turbojpeg-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let (source, target) = (directory.appendingPathComponent("in"), directory.appendingPathComponent("out"))
        try Data(input).write(to: source)

        let tool = try ChildProcess(rawValue, arguments + ["-outfile", target.path, source.path])
        guard tool.status == 0 || (acceptsWarnings && tool.status == 2) else {
            throw Failure(tool: rawValue, status: tool.status)
        }
        return try [UInt8](Data(contentsOf: target))
    }

    /// The program ended with a status other than 0.
    struct Failure: Error {
        let tool: String
        let status: Int32
    }
}
