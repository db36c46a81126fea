#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Another process of this program, which reads commands and prints answers, one per line.
///
/// It ends when its input does. Waiting for an answer blocks.
///
/// - Note: `@unchecked Sendable` holds because one side of one case uses it at a time.
@safe final class ChildProcess: @unchecked Sendable {
    private let process: pid_t
    private let input: UnsafeMutablePointer<FILE>
    private let output: UnsafeMutablePointer<FILE>

    /// The descriptor number at which the child finds the one that it was given.
    static let givenDescriptor: Int32 = 3

    /// Starts this program with `arguments`, and passes it a descriptor.
    init(_ arguments: [String], giving descriptor: Int32? = nil) throws {
        let (inputRead, inputWrite) = try Self.makePipe()
        let (outputRead, outputWrite) = try Self.makePipe()
        defer { [inputRead, outputWrite].forEach { close($0) } }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, inputRead, STDIN_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, outputWrite, STDOUT_FILENO)
        // Last, since the pipes may have this number here.
        if let descriptor { unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Self.givenDescriptor) }
        #if os(Linux)
            let executable = "/proc/self/exe"
        #else
            let executable = CommandLine.arguments[0]
        #endif
        var words = unsafe ([executable, Peer.command] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        var process = pid_t()
        guard unsafe posix_spawn(&process, executable, &actions, nil, &words, environ) == 0,
            let input = unsafe fdopen(inputWrite, "w"),
            let output = unsafe fdopen(outputRead, "r")
        else { throw BaselineFailure() }
        self.process = process
        unsafe (self.input, self.output) = unsafe (input, output)
    }

    deinit {
        end()
        unsafe fclose(output)
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    /// Sends a command.
    func write(_ line: String) {
        let bytes = Array("\(line)\n".utf8)[...]
        write(bytes.span)
    }

    /// Sends bytes.
    func write(_ bytes: Span<UInt8>) {
        _ = unsafe bytes.withUnsafeBufferPointer { unsafe fwrite($0.baseAddress, 1, $0.count, input) }
        unsafe fflush(input)
    }

    /// Closes the child's input, after what was written.
    private func end() {
        unsafe fclose(input)
    }

    /// Waits for the numbers of an answer.
    func answer() throws -> [Double] {
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { unsafe free(line) }
        guard unsafe getline(&line, &capacity, output) > 0, let line = unsafe line else { throw BaselineFailure() }
        return unsafe String(cString: line).split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    }

    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw BaselineFailure() }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
