import Foundation

/// A program that runs to its end.
package struct ChildProcess: Sendable {
    /// The exit code, or the negative number of the signal that ended it.
    package let status: Int32

    /// What it wrote to standard output.
    package let output: [UInt8]

    /// The Python that `scripts/setup` makes: a link, which must not be followed, for it finds its modules beside the link.
    package static let python =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../.tools/venv/bin/python"

    /// Runs a program, which is found as a shell finds it, and waits for its end.
    ///
    /// Standard error is this process's own.
    package init(_ program: String, _ arguments: [String], input: [UInt8] = []) throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("input-\(UUID().uuidString)")
        try Data(input).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let source = unsafe open(file.path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw SystemFailure(call: "open \(file.path)", error: errno) }
        defer { close(source) }
        let pipe = try PipeEnds()
        let process: pid_t
        do {
            defer { close(pipe.writeEnd) }
            process = try spawn("/usr/bin/env", [program] + arguments, [source, pipe.writeEnd, 2])
        } catch {
            close(pipe.readEnd)
            throw error
        }
        let written = FileHandle(fileDescriptor: pipe.readEnd, closeOnDealloc: true)
        output = try [UInt8](written.readToEnd() ?? Data())
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        self.status = status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
    }
}
