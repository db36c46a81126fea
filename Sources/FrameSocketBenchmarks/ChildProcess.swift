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
    /// The argument that selects what another process does.
    static let command = "peer"

    /// The descriptor number at which the child finds the first that it was given.
    static let firstDescriptor: Int32 = 3

    private let process: pid_t
    private let input: UnsafeMutablePointer<FILE>
    private let output: UnsafeMutablePointer<FILE>

    /// Starts this program with a role and its arguments, and passes descriptors.
    init(_ arguments: [String], giving descriptors: [Int32] = []) throws {
        let (inputRead, inputWrite) = try Self.makePipe()
        let (outputRead, outputWrite) = try Self.makePipe()
        // Above those that the child gets, so that none replaces another.
        let given = descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, 100) }
        defer { for descriptor in [inputRead, outputWrite] + given { close(descriptor) } }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, inputRead, STDIN_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, outputWrite, STDOUT_FILENO)
        for (index, descriptor) in given.enumerated() {
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Self.firstDescriptor + Int32(index))
        }
        #if os(Linux)
            let executable = "/proc/self/exe"
        #else
            let executable = CommandLine.arguments[0]
        #endif
        var words = unsafe ([executable, Self.command] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        var process = pid_t()
        guard unsafe posix_spawn(&process, executable, &actions, nil, &words, environ) == 0,
            let input = unsafe fdopen(inputWrite, "w"),
            let output = unsafe fdopen(outputRead, "r")
        else { throw BenchmarkFailure() }
        self.process = process
        unsafe (self.input, self.output) = unsafe (input, output)
    }

    deinit {
        unsafe fclose(input)
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

    /// Waits for the numbers of an answer.
    func answer() throws -> [Double] {
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { unsafe free(line) }
        guard unsafe getline(&line, &capacity, output) > 0, let line = unsafe line else { throw BenchmarkFailure() }
        return unsafe String(cString: line).split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    }

    /// Prints the numbers of an answer, in the other process.
    static func answer(_ numbers: Double...) {
        print(numbers.map { "\($0)" }.joined(separator: " "))
        fflush(nil)
    }

    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw BenchmarkFailure() }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
