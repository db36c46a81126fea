#if os(Linux)
    import Glibc
    import Synchronization

    /// How often the threads of this process have begun to wait for sockets.
    ///
    /// The linker takes the function below in place of the C library's, for the whole process: a test that counts has a
    /// process to itself.
    enum WaitCount {
        fileprivate static let waits = Atomic(0)

        static var value: Int { waits.load(ordering: .relaxed) }
    }

    // The module of the C library has no epoll_event.
    private typealias Wait = @convention(c) (Int32, UnsafeMutableRawPointer?, Int32, Int32) -> Int32

    // RTLD_NEXT, which Swift does not import.
    private let wait = unsafe unsafeBitCast(
        dlsym(UnsafeMutableRawPointer(bitPattern: -1), "epoll_wait"),
        to: Wait?.self
    )

    @_cdecl("epoll_wait")
    func countWait(_ poller: Int32, _ events: UnsafeMutableRawPointer?, _ capacity: Int32, _ timeout: Int32) -> Int32 {
        WaitCount.waits.add(1, ordering: .relaxed)
        return unsafe wait?(poller, events, capacity, timeout) ?? -1
    }
#endif
