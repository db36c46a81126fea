#if os(Linux)
    import Foundation
    import Glibc
    import Synchronization

    /// What somebody else does to a path at the very moment between two of our calls, and how often we make some.
    ///
    /// The linker takes the functions below in place of the C library's, for the whole process: a test that uses this has a
    /// process to itself.
    enum SyscallHooks {
        enum Moment {
            case beforeBind, afterBind, afterConnect, beforeChangeOfMode
        }

        /// How often a connection was to be accepted.
        static var accepts: Int { accepting.load(ordering: .acquiring) }

        /// How often something connected, or tried to.
        static var connects: Int { connecting.load(ordering: .acquiring) }

        /// Gives every socket that connects from now on this port of the loopback address, as the system might.
        static func useLocalPort(_ port: UInt16) {
            localPort.store(port, ordering: .releasing)
        }

        /// Does something once, the next time that the moment comes.
        static func once(_ moment: Moment, _ action: @escaping @Sendable () -> Void) {
            lock.withLock { unsafe actions[moment] = action }
        }

        /// How often this process has read from sockets, and how often its threads have begun to wait for them.
        static var reads: Int { reading.load(ordering: .relaxed) }
        static var waits: Int { waiting.load(ordering: .relaxed) }

        /// How many reads and writes there were while `body` ran.
        static func transfers(during body: () async throws -> Void) async rethrows -> (reads: Int, writes: Int) {
            let before = (reads, writing.load(ordering: .relaxed))
            try await body()
            return (reads - before.0, writing.load(ordering: .relaxed) - before.1)
        }

        fileprivate static let accepting = Atomic(0)
        fileprivate static let connecting = Atomic(0)
        fileprivate static let reading = Atomic(0)
        fileprivate static let writing = Atomic(0)
        fileprivate static let waiting = Atomic(0)
        fileprivate static let localPort = Atomic<UInt16>(0)
        // Not a Mutex, of which the thread sanitizer reports what is no race.
        private static let lock = NSLock()
        private nonisolated(unsafe) static var actions: [Moment: @Sendable () -> Void] = [:]

        fileprivate static func comes(_ moment: Moment) {
            let error = errno
            lock.withLock { unsafe actions.removeValue(forKey: moment) }?()
            errno = error
        }
    }

    /// The C library's own function.
    private func original<Function>(_ name: String) -> Function? {
        // RTLD_NEXT, which Swift does not import.
        let next = unsafe UnsafeMutableRawPointer(bitPattern: -1)
        return unsafe unsafeBitCast(dlsym(next, name), to: Function?.self)
    }

    private typealias Address = @convention(c) (Int32, UnsafeRawPointer?, UInt32) -> Int32
    private typealias Accept =
        @convention(c) (Int32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, Int32) -> Int32
    private typealias ChangeMode = @convention(c) (Int32, UnsafePointer<CChar>?, UInt32, Int32) -> Int32

    private typealias Transfer = @convention(c) (Int32, UnsafeMutablePointer<msghdr>?, Int32) -> Int
    // The module of the C library has no epoll_event.
    private typealias Wait = @convention(c) (Int32, UnsafeMutableRawPointer?, Int32, Int32) -> Int32

    private let systemReceive: Transfer? = unsafe original("recvmsg")
    private let systemSend: Transfer? = unsafe original("sendmsg")
    private let systemWait: Wait? = unsafe original("epoll_wait")
    private let systemBind: Address? = unsafe original("bind")
    private let systemConnect: Address? = unsafe original("connect")
    private let systemAccept: Accept? = unsafe original("accept4")
    private let systemChangeMode: ChangeMode? = unsafe original("fchmodat")

    @_cdecl("bind")
    func hookBind(_ socket: Int32, _ address: UnsafeRawPointer?, _ length: UInt32) -> Int32 {
        SyscallHooks.comes(.beforeBind)
        let result = unsafe systemBind?(socket, address, length) ?? -1
        if result == 0 { SyscallHooks.comes(.afterBind) }
        return result
    }

    /// Binds a socket that is about to connect, if ``SyscallHooks/useLocalPort(_:)`` was called.
    private func bindToLocalPort(_ socket: Int32) {
        let port = SyscallHooks.localPort.load(ordering: .acquiring)
        guard port != 0 else { return }
        var reuses: Int32 = 1
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &reuses, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        _ = unsafe systemBind?(socket, &address, UInt32(MemoryLayout<sockaddr_in>.size))
    }

    @_cdecl("connect")
    func hookConnect(_ socket: Int32, _ address: UnsafeRawPointer?, _ length: UInt32) -> Int32 {
        SyscallHooks.connecting.add(1, ordering: .acquiringAndReleasing)
        bindToLocalPort(socket)
        let result = unsafe systemConnect?(socket, address, length) ?? -1
        SyscallHooks.comes(.afterConnect)
        return result
    }

    @_cdecl("accept4")
    func hookAccept(
        _ socket: Int32,
        _ address: UnsafeMutableRawPointer?,
        _ length: UnsafeMutableRawPointer?,
        _ flags: Int32
    ) -> Int32 {
        SyscallHooks.accepting.add(1, ordering: .acquiringAndReleasing)
        return unsafe systemAccept?(socket, address, length, flags) ?? -1
    }

    @_cdecl("fchmodat")
    func hookChangeMode(_ directory: Int32, _ name: UnsafePointer<CChar>?, _ mode: UInt32, _ flags: Int32) -> Int32 {
        SyscallHooks.comes(.beforeChangeOfMode)
        return unsafe systemChangeMode?(directory, name, mode, flags) ?? -1
    }

    @_cdecl("recvmsg")
    func countReceive(_ socket: Int32, _ message: UnsafeMutablePointer<msghdr>?, _ flags: Int32) -> Int {
        SyscallHooks.reading.add(1, ordering: .relaxed)
        return unsafe systemReceive?(socket, message, flags) ?? -1
    }

    @_cdecl("sendmsg")
    func countSend(_ socket: Int32, _ message: UnsafeMutablePointer<msghdr>?, _ flags: Int32) -> Int {
        SyscallHooks.writing.add(1, ordering: .relaxed)
        return unsafe systemSend?(socket, message, flags) ?? -1
    }

    @_cdecl("epoll_wait")
    func countWait(_ poller: Int32, _ events: UnsafeMutableRawPointer?, _ capacity: Int32, _ timeout: Int32) -> Int32 {
        SyscallHooks.waiting.add(1, ordering: .relaxed)
        return unsafe systemWait?(poller, events, capacity, timeout) ?? -1
    }
#endif
