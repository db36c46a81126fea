internal import CFrameTransport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// What is asked of the system to say what is wrong: none of it changes anything.
extension Syscalls {
    /// How many descriptors a process has open, and how many it may have.
    struct DescriptorUse {
        let open: Int
        let limit: Int
    }

    /// The descriptors of a process, or of this one; nil if the system does not tell.
    static func descriptorUse(of process: Int32? = nil) -> DescriptorUse? {
        var limit: UInt64 = 0
        guard unsafe frame_descriptor_limit(process ?? 0, &limit) == 0 else { return nil }
        #if os(Linux)
            let folder = process.map { "/proc/\($0)/fd" } ?? descriptorFolder
        #else
            let folder = "/dev/fd"
        #endif
        guard let count = countEntries(in: folder) else { return nil }
        // One is there only to count them.
        return DescriptorUse(open: process == nil ? max(0, count - 1) : count, limit: Int(clamping: limit))
    }

    private static func countEntries(in folder: String) -> Int? {
        guard let stream = unsafe opendir(folder) else { return nil }
        defer { unsafe closedir(stream) }
        var count = 0
        while unsafe readdir(stream) != nil { count += 1 }
        // The folder itself, and the one above it.
        return max(0, count - 2)
    }

    /// Sees whether this process, as its effective user, may make files in a directory.
    static func checkWritable(_ directory: Int32) throws(Errno) {
        _ = try retrying { unsafe faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) }
    }

    /// Whether another process holds the lock of a file.
    static func isLocked(named name: String, in directory: Int32) -> Bool {
        let flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        guard let raw = try? retrying({ unsafe openat(directory, name, flags, 0) }) else { return false }
        let descriptor = OwnedDescriptor(raw)
        // Shared, and for as long as this takes: nobody who looks keeps out another who looks.
        return flock(descriptor.rawValue, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    /// Waits until there is something to read, or its end; false if the deadline passes before.
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

    /// Waits for nothing but the time.
    static func pause(until deadline: UInt64) {
        _ = try? waitForInput(on: -1, until: deadline)
    }
}
