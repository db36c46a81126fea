public import FrameTransport
internal import Locking

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// A socket that does what a test says, by plain system calls: a peer without the protocol code of what is tested.
///
/// Whatever may take a while is `async` and blocks no thread of Swift's pool. It ends with an error if its task is
/// cancelled, or if the other end does nothing for longer than ``patience``.
///
/// The socket closes when its last reference is released.
///
/// Thread safety: any thread may use a socket at any time; one task at a time should read, and one write. Two
/// simultaneous reads each get part of the bytes, and the bytes of two simultaneous writes may mix.
public final class PeerSocket: Sendable {
    /// How long a call waits for the other end before it fails with the error `timedOut`: a minute, or what is set for
    /// the calls of a task with `PeerSocket.patience.withValue(_:operation:)`.
    ///
    /// It is not part of a test: it only ends one that would hang.
    public static let patience = TaskLocal<Duration>(wrappedValue: .seconds(60))

    /// The descriptor, for a test's own system calls; not to be used after ``close()``.
    ///
    /// It is in blocking mode unless it listens.
    public let descriptor: Int32

    /// The open socket; nil once it is closed.
    private let open: Locked<OpenDescriptor?>

    /// Takes ownership of a descriptor, which the socket closes at its end.
    public init(descriptor: Int32) {
        self.descriptor = descriptor
        open = Locked(OpenDescriptor(descriptor))
    }

    // MARK: Opening

    /// Returns a socket that is connected to a server at a path, which need not have accepted it yet.
    ///
    /// - Throws: `system` if no server listens at the path, or if no more clients may wait for it.
    public static func connected(to path: String) throws(PeerError) -> PeerSocket {
        try connected(to: .path(path))
    }

    /// Returns a socket that is connected to a server, or begins to connect to a port of this machine.
    ///
    /// The first write or read waits for the connection to a port.
    public static func connected(to endpoint: SocketEndpoint) throws(PeerError) -> PeerSocket {
        let socket = try unconnected(for: endpoint)
        let result = try unsafe withAddress(of: endpoint) { unsafe connect(socket.descriptor, $0, $1) }
        guard result == 0 || errno == EINPROGRESS else { throw failure("connect") }
        setNonBlocking(socket.descriptor, false)
        return socket
    }

    /// Returns a socket that listens at a path.
    ///
    /// The file stays when the socket closes, as it does if a server crashes. `backlog` is passed to the system's
    /// `listen`: the number of clients that may wait to be accepted. Linux lets one more wait.
    public static func listening(at path: String, backlog: Int32 = 16) throws(PeerError) -> PeerSocket {
        try listening(at: .path(path), backlog: backlog)
    }

    /// Returns a socket that listens at a path, or at a port of this machine: 0 for one that the system chooses.
    public static func listening(at endpoint: SocketEndpoint, backlog: Int32 = 16) throws(PeerError) -> PeerSocket {
        let socket = try unconnected(for: endpoint)
        let result = try unsafe withAddress(of: endpoint) { unsafe bind(socket.descriptor, $0, $1) }
        guard result == 0 else { throw failure("bind") }
        guard listen(socket.descriptor, backlog) == 0 else { throw failure("listen") }
        return socket
    }

    /// The port that the socket is bound to.
    public var port: UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
            _ = unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Waits for a client, and returns the connection to it.
    public func accepted() async throws(PeerError) -> PeerSocket {
        let client = try await perform("accept", whenReadyFor: POLLIN) { Int(accept($0, nil, nil)) }
        let socket = PeerSocket(descriptor: Int32(client))
        Self.prepare(socket.descriptor)
        Self.setNonBlocking(socket.descriptor, false)
        return socket
    }

    // MARK: Writing

    /// Writes all bytes, at most `chunk` in one system call: 1 writes byte by byte.
    ///
    /// - Throws: `system` with `EPIPE` or `ECONNRESET` if the other end has gone.
    public func write(_ bytes: [UInt8], chunk: Int = .max) async throws(PeerError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(max(1, chunk))
            let count = try await perform("send", whenReadyFor: POLLOUT) { descriptor in
                unsafe piece.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, Self.sendFlags) }
            }
            rest = rest.dropFirst(count)
        }
    }

    // MARK: Reading

    /// Reads at most `limit` bytes that have arrived, 1 MiB at most, and waits if there are none; empty if the other end
    /// has ended, or if `limit` is not positive.
    ///
    /// - Throws: `system` with `ECONNRESET` if the other end has reset the connection.
    package func readSome(upTo limit: Int) async throws(PeerError) -> [UInt8] {
        try await receive(upTo: limit)
    }

    /// Reads `count` bytes, or fewer if the other end ends first.
    ///
    /// A reset counts as an end: an end that left bytes unread looks like one.
    public func read(_ count: Int) async throws(PeerError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let piece = try await receiveToEnd(upTo: min(count - bytes.count, 1 << 16))
            guard !piece.isEmpty else { break }
            bytes += piece
        }
        return bytes
    }

    /// Returns the next message that meets a condition, or nil if the program ends first; by default the next one.
    ///
    /// Messages that do not meet the condition are skipped. What follows the message is left in the socket.
    ///
    /// - Throws: `ended` if the program ends within a message; `malformed` if what it writes is not a message.
    public func nextMessage(
        where condition: (PeerMessage) -> Bool = { _ in true }
    ) async throws(PeerError) -> PeerMessage? {
        while let message = try await readMessage() { if condition(message) { return message } }
        return nil
    }

    /// Returns the messages before the first one that meets a condition, which is read too; all of them if the program
    /// ends first.
    public func messages(
        until condition: (PeerMessage) -> Bool = { _ in false }
    ) async throws(PeerError) -> [PeerMessage] {
        var messages: [PeerMessage] = []
        while let message = try await readMessage(), !condition(message) { messages.append(message) }
        return messages
    }

    private func readMessage() async throws(PeerError) -> PeerMessage? {
        var header: [UInt8] = []
        var end: Int?
        while end == nil {
            guard header.count <= 1 << 16 else {
                throw PeerError(.malformed, "no empty line ends the header within \(header.count) bytes")
            }
            // Only looked at: what follows the header is not this message's.
            let arrived = try await receiveToEnd(upTo: 4096, Int32(MSG_PEEK))
            guard !arrived.isEmpty else {
                if header.isEmpty { return nil }
                throw PeerError(.ended, "the program ended after \(header.count) bytes of a header")
            }
            end = (header + arrived).firstRange(of: PeerMessage.emptyLine)?.upperBound
            header += try await read(end.map { $0 - header.count } ?? arrived.count)
        }
        var message = PeerMessage(header: String(decoding: header, as: UTF8.self))
        let stated = message.field("Content-Length")
        guard let length = stated.map({ Int($0) }) ?? 0, length >= 0 else {
            throw PeerError(.malformed, "invalid Content-Length '\(stated ?? "")' in the header")
        }
        message.body = try await read(length)
        guard message.body.count == length else {
            throw PeerError(.ended, "the program ended after \(message.body.count) of \(length) bytes of a body")
        }
        return message
    }

    /// Whether there is nothing to read, not even the end.
    public var isQuiet: Bool {
        !open.withLock { $0 != nil && Self.isReady(descriptor, for: POLLIN, within: 0) }
    }

    /// Waits, without reading, until the other end has finished writing or has closed.
    public func otherEndEnded() async throws(PeerError) {
        _ = try await perform("poll", whenReadyFor: Self.end) {
            if Self.isReady($0, for: Self.end, within: 0) { return 0 }
            errno = EAGAIN
            return -1
        }
    }

    // MARK: Ending

    /// Finishes writing: the other end reads what was written, and then the end.
    public func finishWriting() {
        open.withLock { if $0 != nil { _ = shutdown(descriptor, Int32(SHUT_WR)) } }
    }

    /// Closes the connection with a reset, if the system allows it.
    ///
    /// Over TCP the other end sees `ECONNRESET` instead of an end. Over a Unix-domain socket it does so only if it has
    /// written something that this end has not read; otherwise it sees an ordinary end.
    public func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout<linger>.size)
        open.withLock { if $0 != nil { _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, size) } }
        close()
    }

    /// Closes the socket, as the end of its process would; a second call has no effect.
    ///
    /// Calls that wait for the socket end with the error `closed`.
    public func close() {
        open.withLock { open in
            // Calls under way keep it open, but the other end sees the end now.
            if open != nil, !isKnownUniquelyReferenced(&open) { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
            open = nil
        }
    }

    // MARK: Calls and waits

    private var isClosed: Bool { open.withLock { $0 == nil } }

    private static var closedError: PeerError { PeerError(.closed, "the peer's socket is closed") }

    private static func failure(_ call: String) -> PeerError {
        PeerError(.system, underlyingErrno: errno, "'\(call)' failed")
    }

    /// Makes a system call that does not wait, and again whenever the socket is ready if it was not before.
    private func perform(
        _ name: String,
        whenReadyFor events: Int32,
        _ call: (Int32) -> Int
    ) async throws(PeerError) -> Int {
        guard let socket = open.withLock({ $0 }) else { throw Self.closedError }
        defer { withExtendedLifetime(socket) {} }
        let patience = Self.patience.get()
        let deadline = ContinuousClock.now + patience
        while true {
            if Task.isCancelled { throw PeerError(.cancelled, "the task was cancelled") }
            let result = call(socket.descriptor)
            if result >= 0 { return result }
            if errno == EINTR { continue }
            guard errno == EAGAIN else { throw isClosed ? Self.closedError : Self.failure(name) }
            if ContinuousClock.now >= deadline {
                throw PeerError(.timedOut, "'\(name)' has waited for the other end for \(patience)")
            }
            try await wait(for: events, until: deadline)
            if isClosed { throw Self.closedError }
        }
    }

    /// Waits on a thread that lives as long as the wait.
    ///
    /// It needs no descriptor of its own, so that a peer goes on while a test has the process run out of them. So nothing
    /// can wake its `poll`, which looks every 20 ms whether the wait is still wanted.
    private func wait(for events: Int32, until deadline: ContinuousClock.Instant) async throws(PeerError) {
        let isCancelled = Locked(false)
        do {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    do throws(Errno) {
                        _ = try SystemThread(named: "peer") { [self] in
                            while !isClosed, !isCancelled.withLock({ $0 }), ContinuousClock.now < deadline,
                                !Self.isReady(descriptor, for: events, within: 20)
                            {}
                            continuation.resume()
                        }
                    } catch {
                        continuation.resume(throwing: error)
                    }
                }
            } onCancel: {
                isCancelled.withLock { $0 = true }
            }
        } catch {
            let cause = (error as? Errno)?.rawValue
            throw PeerError(.system, underlyingErrno: cause, "cannot create a thread to wait on")
        }
    }

    /// Waits up to `timeout` milliseconds for one of the events, or a failure of the socket.
    private static func isReady(_ descriptor: Int32, for events: Int32, within timeout: Int32) -> Bool {
        var state = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return unsafe poll(&state, 1, timeout) > 0
    }

    /// Receives what has arrived; empty at the end.
    private func receive(upTo limit: Int, _ flags: Int32 = 0) async throws(PeerError) -> [UInt8] {
        guard limit > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: min(limit, 1 << 20))
        let count = try await perform("recv", whenReadyFor: POLLIN) { descriptor in
            unsafe buffer.withUnsafeMutableBytes {
                unsafe recv(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | flags)
            }
        }
        return Array(buffer.prefix(count))
    }

    /// Receives what has arrived; empty at the end, and after a reset, which is how an end looks that left bytes unread.
    private func receiveToEnd(upTo limit: Int, _ flags: Int32 = 0) async throws(PeerError) -> [UInt8] {
        do {
            return try await receive(upTo: limit, flags)
        } catch {
            guard error.underlyingErrno == ECONNRESET else { throw error }
            return []
        }
    }

    // MARK: The system's structures

    #if os(Linux)
        private static let sendFlags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
        private static let stream = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        /// The other end has ended its sending, and what it sent has been read or not: `POLLRDHUP`, which Glibc
        /// declares for GNU sources alone.
        private static let end: Int32 = 0x2000
    #else
        private static let sendFlags = MSG_DONTWAIT
        private static let stream = SOCK_STREAM
        private static let end = POLLHUP
    #endif

    /// Makes a socket that is in non-blocking mode, so that neither `connect` nor `accept` waits.
    private static func unconnected(for endpoint: SocketEndpoint) throws(PeerError) -> PeerSocket {
        let family = if case .path = endpoint { AF_UNIX } else { AF_INET }
        let descriptor = socket(family, stream, 0)
        guard descriptor >= 0 else { throw failure("socket") }
        prepare(descriptor)
        setNonBlocking(descriptor, true)
        return PeerSocket(descriptor: descriptor)
    }

    /// Keeps a socket from the programs that the test starts, and signals from the test.
    private static func prepare(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        #if !os(Linux)
            var one: Int32 = 1
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
        #endif
    }

    private static func setNonBlocking(_ descriptor: Int32, _ isNonBlocking: Bool) {
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, isNonBlocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK)
    }

    /// Calls `body` with the address of an endpoint.
    private static func withAddress(
        of endpoint: SocketEndpoint,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(PeerError) -> Int32 {
        switch endpoint {
        case .path(let path):
            var address = sockaddr_un()
            let maximum = MemoryLayout.size(ofValue: address.sun_path) - 1
            guard 1...maximum ~= path.utf8.count, !path.utf8.contains(0) else {
                throw PeerError(.invalidPath, "invalid path '\(path)': expected 1 to \(maximum) bytes without NUL")
            }
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
            return unsafe withAddress(address, body)
        case .loopback(let port):
            let loopback: UInt32 = 0x7F00_0001
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = loopback.bigEndian
            return unsafe withAddress(address, body)
        }
    }

    private static func withAddress<Address>(
        _ address: Address,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }
}

/// A descriptor that is closed when its last owner lets it go: the socket, or a call that is under way.
private final class OpenDescriptor: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        _ = close(descriptor)
    }
}
