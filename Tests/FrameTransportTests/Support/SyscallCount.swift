#if os(Linux)
    import Glibc
    import Synchronization
    import TestSupport

    /// How often this process has read from and written to sockets.
    ///
    /// The linker takes the functions below in place of the C library's, for the whole process: a test that counts has a
    /// process to itself.
    enum SyscallCount {
        fileprivate static let reads = Atomic(0)
        fileprivate static let writes = Atomic(0)

        /// How many reads there have been.
        static var readCount: Int { reads.load(ordering: .relaxed) }

        /// How many reads and writes there were while `body` ran.
        static func during(_ body: () async throws -> Void) async rethrows -> (reads: Int, writes: Int) {
            let before = (reads.load(ordering: .relaxed), writes.load(ordering: .relaxed))
            try await body()
            return (reads.load(ordering: .relaxed) - before.0, writes.load(ordering: .relaxed) - before.1)
        }
    }

    private typealias Transfer = @convention(c) (Int32, UnsafeMutablePointer<msghdr>?, Int32) -> Int

    /// The C library's own function.
    private func original(_ name: String) -> Transfer? {
        // RTLD_NEXT, which Swift does not import.
        let next = unsafe UnsafeMutableRawPointer(bitPattern: -1)
        return unsafe unsafeBitCast(dlsym(next, name), to: Transfer?.self)
    }

    private let receive = unsafe original("recvmsg")
    private let send = unsafe original("sendmsg")

    @_cdecl("recvmsg")
    func countReceive(_ socket: Int32, _ message: UnsafeMutablePointer<msghdr>?, _ flags: Int32) -> Int {
        SyscallCount.reads.add(1, ordering: .relaxed)
        return unsafe receive?(socket, message, flags) ?? -1
    }

    @_cdecl("sendmsg")
    func countSend(_ socket: Int32, _ message: UnsafeMutablePointer<msghdr>?, _ flags: Int32) -> Int {
        SyscallCount.writes.add(1, ordering: .relaxed)
        return unsafe send?(socket, message, flags) ?? -1
    }
#endif
