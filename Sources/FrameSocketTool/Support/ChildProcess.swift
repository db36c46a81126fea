// The Apple branch of this file has not been compiled.

/// Another process of this program, whose standard output is read here.
final class ChildProcess: Sendable {
    private let process: pid_t
    private let output: Int32

    /// Starts this program's own executable with `arguments`.
    init(_ arguments: [String]) throws(CommandFailure) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw CommandFailure(.cannotCreate, Files.Failure("a pipe").message) }
        let (readEnd, writeEnd) = (ends[0], ends[1])
        defer { close(writeEnd) }
        _ = fcntl(readEnd, F_SETFD, FD_CLOEXEC)
        _ = fcntl(writeEnd, F_SETFD, FD_CLOEXEC)
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, writeEnd, STDOUT_FILENO)
        let executable = Self.executable
        var words = unsafe ([executable] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        var process = pid_t()
        let error = unsafe posix_spawn(&process, executable, &actions, nil, &words, environ)
        guard error == 0 else {
            close(readEnd)
            throw CommandFailure(.cannotCreate, "cannot start \(executable) (error \(error))")
        }
        self.process = process
        output = readEnd
    }

    deinit {
        close(output)
    }

    /// The path of this program.
    private static var executable: String {
        #if os(Linux)
            "/proc/self/exe"
        #else
            CommandLine.arguments[0]
        #endif
    }

    /// The lines that the process prints until it ends.
    ///
    /// Blocks, so it must not be called on Swift's pool.
    func readLines(_ body: (String) -> Void) {
        var bytes: [UInt8] = []
        while (try? Files.read(from: output, into: &bytes, name: "the receiver's output")) == true {
            while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                body(String(decoding: bytes[..<end], as: UTF8.self))
                bytes.removeSubrange(...end)
            }
        }
    }

    /// Waits for the end of the process, and returns its exit code.
    ///
    /// Blocks, so it must not be called on Swift's pool.
    func wait() -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }

    /// Asks the process to end.
    func stop() {
        kill(process, SIGTERM)
    }
}
