// The files of this folder are the only ones of the module that import the C library.

internal import CFrameTransport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The result of a nonblocking read or write.
package enum Transfer {
    /// The number of bytes; fewer than requested (`isShort`) if the socket is now empty, or full.
    case bytes(Int, isShort: Bool)
    case wouldBlock
}

/// A run of memory for one read or write.
///
/// The caller keeps it valid for the call.
package typealias MemoryRun = UnsafeMutableRawBufferPointer

extension MemoryRun {
    /// A run of no bytes.
    static var empty: MemoryRun { unsafe MemoryRun(start: nil, count: 0) }
}

/// System calls that are retried on `EINTR` and throw their failures.
enum Syscalls {
    /// Repeats `call` while it is interrupted by a signal.
    static func retrying<Value: SignedInteger>(_ call: () -> Value) throws(Errno) -> Value {
        while true {
            let value = call()
            if value != -1 { return value }
            if errno != EINTR { throw .current }
        }
    }

    static func closeDescriptor(_ descriptor: Int32) {
        _ = close(descriptor)
    }

    static var effectiveUserID: UInt32 { geteuid() }
}

// MARK: - Transfers

extension Syscalls {
    /// Reads into two runs of memory, one after the other.
    ///
    /// 0 bytes mean that the peer sends no more.
    static func receive(
        from socket: Int32,
        into first: MemoryRun,
        _ second: MemoryRun = unsafe .empty
    ) throws(Errno) -> Transfer {
        try unsafe transfer(first, second, .empty) { unsafe recvmsg(socket, $0, 0) }
    }

    /// Reads as ``receive(from:into:_:)`` does, and accepts the descriptors that arrive with the bytes.
    static func receive(
        from socket: Int32,
        into first: MemoryRun,
        _ second: MemoryRun,
        passing: inout PassedDescriptors
    ) throws(Errno) -> Transfer {
        var (descriptor, count, isCut) = (Int32(-1), Int32(0), false)
        let result = try unsafe transfer(first, second, .empty) {
            unsafe frame_socket_receive_passed(socket, $0, &descriptor, &count, &isCut)
        }
        passing.add(count: Int(count), first: descriptor, areLost: isCut)
        // A read ends with the bytes that descriptors arrived with: more may follow.
        if case .bytes(let bytes, true) = result, count > 0 || isCut { return .bytes(bytes, isShort: false) }
        return result
    }

    /// Makes the system add nothing but descriptors to what a socket receives.
    static func expectDescriptorsAlone(from socket: Int32) {
        frame_socket_expect_descriptors_alone(socket)
    }

    /// Writes bytes as far as the socket accepts them.
    static func send(to socket: Int32, _ bytes: ArraySlice<UInt8>) throws(Errno) -> Transfer {
        try unsafe bytes.span.withUnsafeBytes { bytes throws(Errno) in
            try unsafe send(to: socket, MemoryRun(mutating: bytes), .empty, .empty)
        }
    }

    /// Writes three runs of memory, one after the other, as far as the socket accepts them.
    static func send(
        to socket: Int32,
        _ first: MemoryRun,
        _ second: MemoryRun,
        _ third: MemoryRun
    ) throws(Errno) -> Transfer {
        try unsafe transfer(first, second, third) { unsafe sendmsg(socket, $0, frame_send_flags) }
    }

    /// Writes a run of memory as far as the socket accepts it, and passes a descriptor with the first byte.
    static func send(to socket: Int32, _ run: MemoryRun, passing descriptor: Int32) throws(Errno) -> Transfer {
        try unsafe transfer(run, .empty, .empty) { unsafe frame_socket_send_passing(socket, $0, descriptor) }
    }

    private static func transfer(
        _ first: MemoryRun,
        _ second: MemoryRun,
        _ third: MemoryRun,
        _ call: (UnsafeMutablePointer<msghdr>) -> Int
    ) throws(Errno) -> Transfer {
        try unsafe withUnsafeTemporaryAllocation(of: iovec.self, capacity: 3) { vectors throws(Errno) in
            unsafe vectors[0] = iovec(iov_base: first.baseAddress, iov_len: first.count)
            unsafe vectors[1] = iovec(iov_base: second.baseAddress, iov_len: second.count)
            unsafe vectors[2] = iovec(iov_base: third.baseAddress, iov_len: third.count)
            var message = unsafe msghdr()
            unsafe message.msg_iov = vectors.baseAddress
            unsafe message.msg_iovlen = 3
            do throws(Errno) {
                let count = try retrying { unsafe call(&message) }
                // A read also ends if a peer has passed descriptors, which are not accepted: more bytes may follow.
                let isCut = unsafe message.msg_flags & Int32(MSG_CTRUNC) != 0
                return .bytes(count, isShort: count < first.count + second.count + third.count && !isCut)
            } catch .again {
                return .wouldBlock
            }
        }
    }
}

// MARK: - Sockets

extension Syscalls {
    static func makeSocket(for address: SocketAddress) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(try retrying { frame_socket_create(address.family) })
    }

    /// Returns the port that a TCP socket is bound to.
    static func port(of socket: Int32) throws(Errno) -> UInt16 {
        UInt16(truncatingIfNeeded: try retrying { frame_socket_port(socket) })
    }

    /// Returns whether a TCP socket is connected to itself, which can happen if nobody listens at the port.
    static func isConnectedToItself(_ socket: Int32) -> Bool {
        frame_socket_is_own_peer(socket) == 1
    }

    /// Makes closing the socket abort the connection, so that its port is free.
    static func abortWhenClosed(_ socket: Int32) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    }

    /// Checks the outcome of a pending connect.
    static func checkConnected(_ socket: Int32) throws(Errno) {
        let error = frame_socket_error(socket)
        if error != 0 { throw Errno(error) }
    }

    static func accept(from listener: Int32) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(try retrying { frame_socket_accept(listener) })
    }

    /// Binds to an address, whose path is resolved relative to `directory` if it is too long for the system.
    static func bindSocket(_ socket: Int32, to address: SocketAddress, in directory: Int32? = nil) throws(Errno) {
        try unsafe address.withSockaddr(in: directory) { address, length throws(Errno) in
            _ = try retrying { unsafe bind(socket, address, length) }
        }
    }

    /// Connects to an address, whose path is resolved relative to `directory` if it is too long for the system.
    static func connectSocket(_ socket: Int32, to address: SocketAddress, in directory: Int32? = nil) throws(Errno) {
        try unsafe address.withSockaddr(in: directory) { address, length throws(Errno) in
            _ = try retrying { unsafe connect(socket, address, length) }
        }
    }

    static func startListening(on socket: Int32, backlog: Int32) throws(Errno) {
        _ = try retrying { listen(socket, backlog) }
    }

    /// Shuts down sending; the peer reads what is in transit and then the end.
    static func shutdownSending(_ socket: Int32) {
        _ = shutdown(socket, Int32(SHUT_WR))
    }

    /// Shuts down receiving; what has arrived is read, and then the end.
    ///
    /// On Apple systems what has arrived is lost.
    static func shutdownReceiving(_ socket: Int32) {
        _ = shutdown(socket, Int32(SHUT_RD))
    }

    /// Requests a send buffer of `bytes`; the system may silently provide less.
    static func setSendBuffer(of socket: Int32, bytes: Int) {
        var bytes = Int32(clamping: bytes)
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Returns whether a socket is a Unix-domain socket, which keeps what was sent when its peer resets it.
    static func isLocal(_ socket: Int32) -> Bool { frame_socket_is_local(socket) }

    /// Returns the size of a socket's send buffer, including the system's overhead.
    static func sendBuffer(of socket: Int32) -> Int {
        var bytes: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, &length)
        return Int(bytes)
    }

    /// Returns what the peer of a Unix-domain socket has not read yet; nil if the system does not report it.
    static func backlog(of socket: Int32) -> SendBacklog? {
        var unread: Int32 = 0
        var hasPeerClosed = false
        guard unsafe frame_socket_backlog(socket, &unread, &hasPeerClosed) == 0 else { return nil }
        return SendBacklog(unreadByteCount: Int(unread), hasPeerClosed: hasPeerClosed)
    }

    /// Returns how many bytes written to a socket wait for its peer; nil if the system does not report it.
    static func untakenByteCount(of socket: Int32) -> Int? {
        var byteCount: Int32 = 0
        return unsafe frame_socket_untaken(socket, &byteCount) == 0 ? Int(byteCount) : nil
    }

    static func peer(of socket: Int32) throws(Errno) -> PeerPolicy.Credentials {
        var process: pid_t = 0
        var user: uid_t = 0
        var group: gid_t = 0
        _ = try retrying { unsafe frame_socket_peer(socket, &process, &user, &group) }
        return PeerPolicy.Credentials(processID: process, userID: user, groupID: group)
    }
}

/// The error of a failed system call.
package struct Errno: Error, Sendable, Hashable, CustomStringConvertible {
    /// The value of `errno`.
    package let rawValue: Int32

    package init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    static var current: Errno { Errno(errno) }

    package static let again = Errno(EAGAIN)
    package static let inProgress = Errno(EINPROGRESS)
    package static let noEntry = Errno(ENOENT)
    package static let refused = Errno(ECONNREFUSED)
    package static let reset = Errno(ECONNRESET)
    package static let brokenPipe = Errno(EPIPE)
    package static let aborted = Errno(ECONNABORTED)
    package static let addressInUse = Errno(EADDRINUSE)
    package static let accessDenied = Errno(EACCES)
    package static let notPermitted = Errno(EPERM)
    package static let symlinkLoop = Errno(ELOOP)
    package static let notDirectory = Errno(ENOTDIR)
    package static let wrongType = Errno(EPROTOTYPE)
    package static let notSupported = Errno(EOPNOTSUPP)
    package static let noSystemCall = Errno(ENOSYS)
    package static let inputOutput = Errno(EIO)
    package static let readOnlyFileSystem = Errno(EROFS)
    package static let noSpace = Errno(ENOSPC)
    package static let overQuota = Errno(EDQUOT)
    package static let busy = Errno(EBUSY)

    /// Whether the descriptor is of the wrong kind for the call, which waiting cannot fix.
    var isMisuse: Bool { [EBADF, EINVAL, ENOTSOCK, EOPNOTSUPP].contains(rawValue) }

    /// The system's description, for example "Connection refused".
    package var description: String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
            guard let base = text.baseAddress, unsafe strerror_r(rawValue, base, text.count) == 0 else {
                return "system error \(rawValue)"
            }
            return unsafe String(cString: base)
        }
    }
}

/// A descriptor with one owner, closed when the owner releases it.
struct OwnedDescriptor: ~Copyable {
    /// The number, for system calls while the owner is alive; negative if there is no descriptor.
    let rawValue: Int32

    init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    deinit {
        guard rawValue >= 0 else { return }
        // Never retried: on Linux the number is free again even after EINTR, and may have been reused.
        Syscalls.closeDescriptor(rawValue)
    }
}

/// The descriptors that a peer has passed ahead of their announcements, in order.
///
/// There are two at most: one for the header in progress, and one that arrived in the same read as the rest of it. Of
/// those that arrive together only the first is kept, because an announcement cannot have more.
struct PassedDescriptors: ~Copyable {
    /// The number that have arrived since the last ``takeArrivals()``.
    private var count = 0
    private var areLost = false
    private var first: OwnedDescriptor?
    private var second: OwnedDescriptor?

    /// Keeps the first of the descriptors that have just arrived; `areLost` if this process had no room for others.
    mutating func add(count: Int, first descriptor: Int32, areLost: Bool) {
        self.count += count
        self.areLost = self.areLost || areLost
        guard count > 0 else { return }
        if first == nil { first = OwnedDescriptor(descriptor) } else { second = OwnedDescriptor(descriptor) }
    }

    /// Returns how many have arrived since the last call, and whether others were lost on this side; nil if neither is so.
    mutating func takeArrivals() -> (count: Int, areLost: Bool)? {
        guard count > 0 || areLost else { return nil }
        defer { (count, areLost) = (0, false) }
        return (count, areLost)
    }

    /// Removes the first descriptor.
    mutating func take() -> OwnedDescriptor? {
        let taken = first.take()
        first = second.take()
        return taken
    }

    /// Closes all descriptors.
    mutating func removeAll() {
        first = nil
        second = nil
    }
}
