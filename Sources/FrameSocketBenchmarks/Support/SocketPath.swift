import Locking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Paths for the sockets of this process, one for each case.
enum SocketPath {
    private static let last = Locked(0)

    static func next() -> String {
        let number = last.withLock { last in
            last += 1
            return last
        }
        return path(number)
    }

    /// Removes what is left at the end: a server that is released closes on its own thread, which ends with the
    /// process.
    static func removeAll() {
        let count = last.withLock { $0 }
        for number in 0..<count {
            for name in [path(number + 1), path(number + 1) + ".lock"] { _ = unsafe unlink(name) }
        }
    }

    private static func path(_ number: Int) -> String {
        "/tmp/framesocket-bench-\(getpid())-\(number)"
    }
}
