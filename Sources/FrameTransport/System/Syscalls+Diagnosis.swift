internal import CFrameTransport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Queries for diagnosis. Only ``tryBinding(at:in:)`` changes anything, for a moment.
extension Syscalls {
    /// The number of open descriptors of a process, and its limit.
    struct DescriptorUse {
        let open: Int
        let limit: Int
    }

    /// Returns the descriptors of a process, or with nil of this one; nil if the system does not report them.
    static func descriptorUse(of process: Int32?) -> DescriptorUse? {
        var limit: UInt64 = 0
        guard unsafe frame_descriptor_limit(process ?? 0, &limit) == 0 else { return nil }
        #if os(Linux)
            let folder = process.map { "/proc/\($0)/fd" } ?? descriptorFolder
        #else
            let folder = "/dev/fd"
        #endif
        guard let count = countEntries(in: folder) else { return nil }
        // One is open only for counting.
        return DescriptorUse(open: process == nil ? max(0, count - 1) : count, limit: Int(clamping: limit))
    }

    private static func countEntries(in folder: String) -> Int? {
        guard let stream = unsafe opendir(folder) else { return nil }
        defer { unsafe closedir(stream) }
        var count = 0
        while unsafe readdir(stream) != nil { count += 1 }
        // The directory itself, and its parent.
        return max(0, count - 2)
    }

    /// Checks whether this process, as its effective user, may create files in a directory.
    static func checkWritable(_ directory: Int32) throws(Errno) {
        _ = try retrying { unsafe faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) }
    }

    /// Binds a socket in a directory, to learn whether that is possible, and removes it.
    static func tryBinding(at path: SocketPath, in directory: Int32) throws(Errno) {
        let socket = try makeSocket(for: .path(path))
        try setMode(of: socket.rawValue, 0o600)
        try bindSocket(socket.rawValue, to: .path(path), in: directory)
        try removeEntry(named: path.name, in: directory)
    }

    /// Returns whether another process holds the lock of a file.
    static func isLocked(named name: String, in directory: Int32) -> Bool {
        let flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        guard let raw = try? retrying({ unsafe openat(directory, name, flags, 0) }) else { return false }
        let descriptor = OwnedDescriptor(raw)
        // A shared lock, held briefly: several observers do not block each other.
        return flock(descriptor.rawValue, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    /// Waits for input or its end; false if the deadline passes first.
    static func waitForInput(on descriptor: Int32, until deadline: UInt64) throws(Errno) -> Bool {
        while true {
            let now = MonotonicClock.now()
            let milliseconds = deadline > now ? (deadline - now) / 1_000_000 + 1 : 0
            var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let count = try retrying { unsafe poll(&state, 1, Int32(clamping: milliseconds)) }
            if count > 0 { return true }
            if milliseconds == 0 { return false }
        }
    }

    /// Sleeps until the deadline.
    static func pause(until deadline: UInt64) {
        _ = try? waitForInput(on: -1, until: deadline)
    }
}
