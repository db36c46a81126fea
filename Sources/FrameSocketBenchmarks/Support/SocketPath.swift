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
        "/tmp/framesocket-bench-\(getpid())-\(last.wrappingAdd(1, ordering: .relaxed).newValue)"
    }
}
