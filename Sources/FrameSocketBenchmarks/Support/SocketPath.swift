import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Paths for the sockets of this process, one for each case.
enum SocketPath {
    private static let last = Atomic(0)

    static func next() -> String {
        path(last.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    /// Removes what is left at the end: a server that is released closes on its own thread, which ends with the
    /// process.
    static func removeAll() {
        for number in 0..<last.load(ordering: .relaxed) {
            for name in [path(number + 1), path(number + 1) + ".lock"] { _ = unsafe unlink(name) }
        }
    }

    private static func path(_ number: Int) -> String {
        "/tmp/framesocket-bench-\(getpid())-\(number)"
    }
}
