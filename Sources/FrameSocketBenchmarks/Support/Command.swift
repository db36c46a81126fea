import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Another program, whose output is read line by line.
///
/// - Note: `@unchecked Sendable` holds because one task uses it.
@safe final class Command: @unchecked Sendable {
    private let process: pid_t
    private let output: Int32
    private var unread: [UInt8] = []
    private var status: Int32?

    /// Starts the program that is found in `PATH` by the first word.
    ///
    /// What it writes to standard error is not shown.
    init(_ words: [String]) throws {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw BaselineFailure() }
        defer { close(ends[1]) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        // Threads of a pool block signals, and a program that is started by one would too.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var process = pid_t()
        guard unsafe posix_spawnp(&process, words[0], &actions, &attributes, &arguments, environ) == 0 else {
            close(ends[0])
            throw BaselineFailure()
        }
        self.process = process
        output = ends[0]
    }

    deinit {
        interrupt()
        close(output)
    }

    /// The CPU time of all its threads so far, in nanoseconds.
    var processTime: UInt64 {
        get throws {
            #if os(Linux)
                var (clock, time) = (clockid_t(), timespec())
                if unsafe clock_getcpuclockid(process, &clock) == 0, unsafe clock_gettime(clock, &time) == 0 {
                    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
                }
            #endif
            throw BaselineFailure()
        }
    }

    /// Returns the next line of output; nil at its end.
    ///
    /// - Throws: `BaselineFailure` if there is none in time.
    func line(within limit: Duration) throws -> String? {
        let deadline = ContinuousClock.now + limit
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread.removeSubrange(...end) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero, unsafe poll(&waiting, 1, Int32(left / .milliseconds(1))) > 0 else {
                throw BaselineFailure()
            }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = unsafe read(output, &bytes, bytes.count)
            guard count > 0 else { return nil }
            unread += bytes[..<count]
        }
    }

    /// Waits until there is a file, such as the program's socket.
    func waitForFile(at path: String) async throws {
        let deadline = ContinuousClock.now + .seconds(10)
        while unsafe access(path, F_OK) != 0 {
            guard !hasEnded, ContinuousClock.now < deadline else { throw BaselineFailure() }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Waits for the end of the program, and returns its exit status; -1 if it was killed.
    func wait() -> Int32 {
        while !hasEnded { usleep(2000) }
        let status = status ?? -1
        return status & 0x7f == 0 ? status >> 8 & 0xff : -1
    }

    /// Interrupts the program, so that it removes its files, and kills it if that takes too long.
    func interrupt() {
        guard !hasEnded else { return }
        kill(process, SIGINT)
        let deadline = ContinuousClock.now + .seconds(3)
        while !hasEnded {
            usleep(2000)
            if ContinuousClock.now > deadline { kill(process, SIGKILL) }
        }
    }

    /// Whether the program has ended.
    private var hasEnded: Bool {
        if status != nil { return true }
        var status: Int32 = 0
        let found = unsafe waitpid(process, &status, WNOHANG)
        guard found != 0, found > 0 || errno != EINTR else { return false }
        self.status = found > 0 ? status : -1
        return true
    }
}
