internal import FrameTransport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The system calls of a peer: none of them waits, and each is tried again if a signal interrupts it.
///
/// The sockets themselves stay in blocking mode, which is what a simple peer's are in.
enum SocketCalls {
    /// The most bytes of a path that a socket's address holds.
    static let maximumPathBytes = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    #if os(Linux)
        private static let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
        private static let stream = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        private static let rights = Int32(SCM_RIGHTS)
    #else
        private static let flags = MSG_DONTWAIT
        private static let stream = SOCK_STREAM
        private static let rights = SCM_RIGHTS
    #endif

    /// Calls `body` until no signal interrupts it.
    private static func retrying<Value: BinaryInteger>(
        _ name: String,
        _ body: () -> Value
    ) throws(PeerError) -> Value {
        while true {
            let result = body()
            if result >= 0 { return result }
            guard errno == EINTR else { throw failure(name) }
        }
    }

    private static func failure(_ name: String) -> PeerError {
        PeerError(.system, underlyingErrno: errno, "'\(name)' failed")
    }

    /// Makes a stream socket that no program which the test starts inherits.
    static func socket(isLocal: Bool) throws(PeerError) -> Int32 {
        let descriptor = try retrying("socket") { systemSocket(isLocal ? AF_UNIX : AF_INET, stream, 0) }
        prepare(descriptor)
        return descriptor
    }

    /// What Linux sets as the socket is made, or with each call.
    private static func prepare(_ descriptor: Int32) {
        #if !os(Linux)
            var one: Int32 = 1
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
            setNonBlocking(descriptor, false)
        #endif
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    private static func setNonBlocking(_ descriptor: Int32, _ isNonBlocking: Bool) {
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0 else { return }
        _ = fcntl(descriptor, F_SETFL, isNonBlocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK)
    }

    /// Calls `body` with the address of a path.
    private static func withAddress<Value>(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(PeerError) -> Value
    ) throws(PeerError) -> Value {
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count <= maximumPathBytes, !bytes.contains(0) else {
            let message = "invalid path '\(path)': expected 1 to \(maximumPathBytes) bytes without NUL"
            throw PeerError(.invalidPath, message)
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        return try unsafe withUnsafeBytes(of: &address) { bytes throws(PeerError) in
            guard let base = bytes.baseAddress else { throw PeerError(.invalidPath, "no address") }
            return try unsafe body(base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
    }

    /// Calls `body` with the address of a port of the loopback interface.
    private static func withAddress<Value>(
        port: UInt16,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(PeerError) -> Value
    ) throws(PeerError) -> Value {
        let loopback: UInt32 = 0x7F00_0001
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = loopback.bigEndian
        return try unsafe withUnsafeBytes(of: &address) { bytes throws(PeerError) in
            guard let base = bytes.baseAddress else { throw PeerError(.invalidPath, "no address") }
            return try unsafe body(base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
    }

    /// Connects to a server, and fails with `EAGAIN` if no more clients may wait for it.
    static func connect(_ descriptor: Int32, to path: String) throws(PeerError) {
        // A blocking socket would wait for a place.
        setNonBlocking(descriptor, true)
        defer { setNonBlocking(descriptor, false) }
        try unsafe withAddress(path) { address, length throws(PeerError) in
            _ = try retrying("connect") { unsafe systemConnect(descriptor, address, length) }
        }
    }

    /// Begins to connect to a port.
    static func connect(_ descriptor: Int32, toPort port: UInt16) throws(PeerError) {
        setNonBlocking(descriptor, true)
        defer { setNonBlocking(descriptor, false) }
        try unsafe withAddress(port: port) { address, length throws(PeerError) in
            let result = unsafe systemConnect(descriptor, address, length)
            guard result == 0 || errno == EINPROGRESS || errno == EINTR else { throw failure("connect") }
        }
    }

    static func bind(_ descriptor: Int32, to path: String) throws(PeerError) {
        try unsafe withAddress(path) { address, length throws(PeerError) in
            _ = try retrying("bind") { unsafe systemBind(descriptor, address, length) }
        }
    }

    /// Binds to a port of the loopback interface that the system chooses.
    static func bindToPort(_ descriptor: Int32) throws(PeerError) {
        try unsafe withAddress(port: 0) { address, length throws(PeerError) in
            _ = try retrying("bind") { unsafe systemBind(descriptor, address, length) }
        }
    }

    /// Listens, and makes the socket non-blocking so that nobody waits in ``accept(_:)``.
    static func listen(_ descriptor: Int32, backlog: Int32) throws(PeerError) {
        setNonBlocking(descriptor, true)
        _ = try retrying("listen") { systemListen(descriptor, backlog) }
    }

    /// The port that a socket is bound to.
    static func port(of descriptor: Int32) -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
            _ = unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Accepts a client.
    static func accept(_ descriptor: Int32) throws(PeerError) -> Int32 {
        let client = try retrying("accept") { systemAccept(descriptor) }
        prepare(client)
        return client
    }

    /// Sends what the socket has room for.
    static func send(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) throws(PeerError) -> Int {
        try retrying("send") {
            unsafe bytes.withUnsafeBytes { unsafe systemSend(descriptor, $0.baseAddress, $0.count, flags) }
        }
    }

    /// Sends what the socket has room for, and passes descriptors with the first byte.
    static func send(
        _ descriptor: Int32,
        _ bytes: ArraySlice<UInt8>,
        passing passed: [Int32]
    ) throws(PeerError) -> Int {
        var control = controlMessage(passing: passed)
        var bytes = bytes
        return try retrying("sendmsg") {
            unsafe bytes.withUnsafeMutableBytes { bytes in
                unsafe control.withUnsafeMutableBytes { control in
                    var run = unsafe iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                    return unsafe withUnsafeMutablePointer(to: &run) { run in
                        var message = unsafe msghdr()
                        unsafe message.msg_iov = run
                        unsafe message.msg_iovlen = 1
                        if !passed.isEmpty { unsafe message.msg_control = control.baseAddress }
                        unsafe message.msg_controllen = numericCast(passed.isEmpty ? 0 : control.count)
                        return unsafe systemSendMessage(descriptor, &message, flags)
                    }
                }
            }
        }
    }

    /// Returns a control message with these descriptors, as `CMSG_LEN` and `CMSG_SPACE` lay it out, which Swift does not import.
    private static func controlMessage(passing passed: [Int32]) -> [UInt8] {
        #if os(Linux)
            let unit = MemoryLayout<Int>.size
        #else
            let unit = MemoryLayout<UInt32>.size
        #endif
        func aligned(_ count: Int) -> Int { (count + unit - 1) / unit * unit }
        let start = aligned(MemoryLayout<cmsghdr>.size)
        let length = start + passed.count * MemoryLayout<Int32>.size
        var header = cmsghdr()
        header.cmsg_len = numericCast(length)
        header.cmsg_level = SOL_SOCKET
        header.cmsg_type = rights
        var bytes = unsafe withUnsafeBytes(of: &header) { unsafe Array($0) }
        bytes += repeatElement(0, count: start - bytes.count)
        for descriptor in passed { unsafe withUnsafeBytes(of: descriptor) { unsafe bytes += Array($0) } }
        bytes += repeatElement(0, count: aligned(length) - length)
        return bytes
    }

    /// Receives what has arrived, into `buffer`.
    static func receive(_ descriptor: Int32, into buffer: inout [UInt8], upTo limit: Int) throws(PeerError) -> Int {
        try retrying("recv") {
            unsafe buffer.withUnsafeMutableBytes { buffer in
                unsafe recv(descriptor, buffer.baseAddress, min(limit, buffer.count), Int32(MSG_DONTWAIT))
            }
        }
    }

    /// Waits up to `timeout` milliseconds, and returns whether one of the events has happened, or the socket has
    /// failed.
    static func poll(_ descriptor: Int32, for events: Int16, timeout: Int32) throws(PeerError) -> Bool {
        var state = pollfd(fd: descriptor, events: events, revents: 0)
        return try retrying("poll") { unsafe systemPoll(&state, 1, timeout) } > 0
    }

    static func finishWriting(_ descriptor: Int32) {
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Ends both directions, which wakes whoever waits for the socket.
    static func endBoth(_ descriptor: Int32) {
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Has the next close throw away what is not sent yet and reset the connection.
    static func setReset(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    static func close(_ descriptor: Int32) {
        _ = systemClose(descriptor)
    }
}

/// What a peer may wait for.
struct SocketEvents {
    static let readable = Int16(POLLIN)
    static let writable = Int16(POLLOUT)
    #if os(Linux)
        /// The other end has ended its sending, and what it sent has been read or not.
        ///
        /// `POLLRDHUP`, which Glibc declares for GNU sources alone.
        static let ended: Int16 = 0x2000
    #else
        static let ended = Int16(POLLHUP)
    #endif
}

// The members above have the names of these functions, and so hide them.
private func systemSocket(_ family: Int32, _ type: Int32, _ protocolNumber: Int32) -> Int32 {
    socket(family, type, protocolNumber)
}
private func systemConnect(_ socket: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    unsafe connect(socket, address, length)
}
private func systemBind(_ socket: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    unsafe bind(socket, address, length)
}
private func systemListen(_ socket: Int32, _ backlog: Int32) -> Int32 { listen(socket, backlog) }
private func systemAccept(_ socket: Int32) -> Int32 { accept(socket, nil, nil) }
private func systemSend(_ socket: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    unsafe send(socket, bytes, count, flags)
}
private func systemSendMessage(_ socket: Int32, _ message: UnsafePointer<msghdr>, _ flags: Int32) -> Int {
    unsafe sendmsg(socket, message, flags)
}
private func systemPoll(_ states: UnsafeMutablePointer<pollfd>, _ count: nfds_t, _ timeout: Int32) -> Int32 {
    unsafe poll(states, count, timeout)
}
private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
