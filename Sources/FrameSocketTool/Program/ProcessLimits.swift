import Dispatch
import FrameSocket

/// The system's limits for this process, checked before anything starts.
///
/// The runtime and the libraries end a process, or wait indefinitely, if they do not get their first descriptors and
/// threads.
enum ProcessLimits {
    /// The descriptors that a command needs for itself: standard streams, sockets, files and the runtime's.
    private static let ownDescriptors = 24

    /// How many of them a running command still needs.
    private static let laterDescriptors = 16

    /// The address space that threads, libraries and a first frame take.
    private static let addressSpace = 400 << 20

    /// How many descriptors can be opened beyond those that are open.
    ///
    /// The soft limit is raised for `wanted` of them, as far as the hard limit allows.
    static func freeDescriptors(wanted: Int) -> Int {
        var limits = rlimit()
        #if canImport(Glibc)
            let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let kind = RLIMIT_NOFILE
        #endif
        guard unsafe getrlimit(kind, &limits) == 0 else { return wanted }
        let open = openCount(below: Int32(clamping: limits.rlim_cur), wanted)
        if limits.rlim_cur < rlim_t(open + wanted), limits.rlim_cur < limits.rlim_max {
            var raised = limits
            raised.rlim_cur = min(limits.rlim_max, rlim_t(open + wanted))
            if unsafe setrlimit(kind, &raised) == 0 { limits = raised }
        }
        return Int(clamping: limits.rlim_cur) - open
    }

    /// How many descriptors below a limit are open; of more than are wanted, and 1024, it may be fewer.
    private static func openCount(below limit: Int32, _ wanted: Int) -> Int {
        var states = (0..<min(limit, Int32(clamping: wanted + 1024))).map { pollfd(fd: $0, events: 0, revents: 0) }
        guard unsafe poll(&states, nfds_t(states.count), 0) >= 0 else { return 0 }
        return states.count { Int($0.revents) & Int(POLLNVAL) == 0 }
    }

    /// The threads that a command needs at least.
    private static let threads = 4

    /// Ends the program with a sentence if it cannot have its threads: everything after this would wait for one for ever.
    static func checkThreads() {
        let gate = DispatchSemaphore(value: 0)
        defer { for _ in 0..<threads { gate.signal() } }
        for _ in 0..<threads {
            do throws(Errno) {
                _ = try SystemThread(named: "framesocket.check") { gate.wait() }
            } catch {
                let reason = CommandFailure(on: "framesocket: no thread can be started", error.rawValue).message
                let help = "raise the limit of processes (ulimit -u, or the container's), or let it start them"
                // Messages usually go out on a thread.
                let line = Array("\(reason); \(help)\n".utf8)
                try? Files.write(line, to: STDERR_FILENO, name: "standard error")
                _exit(ExitCode.systemError.rawValue)
            }
        }
    }

    /// Checks that the limits allow what every command needs.
    static func check() throws(CommandFailure) {
        _ = try descriptors(atLeast: ownDescriptors, wanted: ownDescriptors)
        let flags = MAP_PRIVATE | Int32(truncatingIfNeeded: MAP_ANONYMOUS)
        let space = unsafe mmap(nil, addressSpace, PROT_NONE, flags, -1, 0)
        guard let space = unsafe space, unsafe space != MAP_FAILED else {
            throw CommandFailure(
                .systemError,
                "less than \(addressSpace >> 20) MiB of address space is available; raise the limit (ulimit -v)"
            )
        }
        unsafe munmap(space, addressSpace)
    }

    /// How many descriptors can be opened, if those are `least` or more; as many as are `wanted` if the system allows it.
    private static func descriptors(atLeast least: Int, wanted: Int) throws(CommandFailure) -> Int {
        let free = freeDescriptors(wanted: wanted)
        guard free >= least else {
            throw CommandFailure(
                .systemError,
                "only \(Format.count(max(0, free), "descriptor")) can be opened, and \(least) are needed;"
                    + " raise the limit (ulimit -n)"
            )
        }
        return free
    }

    /// The number of senders, at most `wanted`, that a server may admit and still leave enough descriptors for everything
    /// else, of which `others` are the command's own.
    static func places(_ wanted: Int, beside others: Int = 0) throws(CommandFailure) -> Int {
        let others = laterDescriptors + others
        return min(wanted, try descriptors(atLeast: others + 1, wanted: wanted + others) - others)
    }

    /// Opens replacements for standard streams that are closed.
    ///
    /// Otherwise the next file or socket would take their numbers, and output would go there. Reading and writing fail
    /// as they would without the replacement.
    static func fillStandardStreams() {
        for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) < 0 {
            // The system assigns the lowest free number: this one.
            _ = unsafe open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
