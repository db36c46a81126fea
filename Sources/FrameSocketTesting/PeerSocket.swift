internal import FrameTransport
internal import Locking

/// A socket that does what a test says, using plain system calls: a peer that shares no code with what is tested.
///
/// Whatever may take a while is `async`, ends with an error if its task is cancelled, and blocks no thread of Swift's
/// pool. Calls may be made from any task; two simultaneous reads each get part of the bytes, and the bytes of two
/// simultaneous writes may mix.
///
/// The socket closes when its last reference is released.
///
/// Thread safety: any thread may use a socket at any time; one task at a time should read, and one write.
public final class PeerSocket: Sendable {
    private struct State: ~Copyable {
        var isClosed = false
        /// The calls under way, which the descriptor must outlive.
        var calls = 0
    }

    /// The descriptor, for a test's own system calls; not to be used after ``close()``.
    ///
    /// It is in blocking mode unless it listens.
    public let descriptor: Int32

    private let state = Locked(State())

    /// Takes ownership of a descriptor, which the socket closes at its end.
    public init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close()
    }

    // MARK: Connecting

    /// Returns a stream socket that is neither connected nor bound: for a path, or for a port of this machine.
    public static func unconnected(isLocal: Bool = true) throws(PeerError) -> PeerSocket {
        PeerSocket(descriptor: try SocketCalls.socket(isLocal: isLocal))
    }

    /// Returns a socket that is connected to a server, which need not have accepted it yet.
    ///
    /// - Throws: `system` if no server listens at the path, or if no more clients may wait for it.
    public static func connected(to path: String) throws(PeerError) -> PeerSocket {
        let socket = try unconnected()
        try socket.connect(to: path)
        return socket
    }

    /// Returns a socket that is connected to a server, once one listens at the path.
    public static func connectedWhenListening(at path: String) async throws(PeerError) -> PeerSocket {
        while true {
            do {
                return try connected(to: path)
            } catch {
                guard let cause = error.underlyingErrno.map({ Errno($0) }),
                    [.noEntry, .refused, .again].contains(cause)
                else { throw error }
            }
            try await pause(for: .milliseconds(1))
        }
    }

    /// Connects to a server, as ``connected(to:)`` does.
    public func connect(to path: String) throws(PeerError) {
        try call { descriptor throws(PeerError) in try SocketCalls.connect(descriptor, to: path) }
    }

    /// Returns a socket that begins to connect to a port of this machine, without waiting for the connection.
    ///
    /// The first write or read waits for the connection.
    public static func connecting(toPort port: UInt16) throws(PeerError) -> PeerSocket {
        let socket = try unconnected(isLocal: false)
        try socket.call { descriptor throws(PeerError) in try SocketCalls.connect(descriptor, toPort: port) }
        return socket
    }

    // MARK: Listening

    /// Returns a socket that is bound to a path but does not listen: its file exists, and connections are refused.
    public static func bound(to path: String) throws(PeerError) -> PeerSocket {
        let socket = try unconnected()
        try socket.bind(to: path)
        return socket
    }

    /// Binds to a path.
    public func bind(to path: String) throws(PeerError) {
        try call { descriptor throws(PeerError) in try SocketCalls.bind(descriptor, to: path) }
    }

    /// Returns a socket that listens at a path.
    ///
    /// The file stays when the socket closes, as it does if a server crashes. `backlog` is passed to the system's
    /// `listen`: the number of clients that may wait to be accepted. Linux lets one more wait.
    public static func listening(at path: String, backlog: Int32 = 16) throws(PeerError) -> PeerSocket {
        let socket = try bound(to: path)
        try socket.listen(backlog: backlog)
        return socket
    }

    /// Returns a socket that listens at a port of this machine, which the system chooses: see ``port``.
    public static func listeningOnLoopback(backlog: Int32 = 16) throws(PeerError) -> PeerSocket {
        let socket = try unconnected(isLocal: false)
        try socket.call { descriptor throws(PeerError) in try SocketCalls.bindToPort(descriptor) }
        try socket.listen(backlog: backlog)
        return socket
    }

    private func listen(backlog: Int32) throws(PeerError) {
        try call { descriptor throws(PeerError) in try SocketCalls.listen(descriptor, backlog: backlog) }
    }

    /// The port that the socket is bound to.
    public var port: UInt16 {
        (try? call { descriptor in SocketCalls.port(of: descriptor) }) ?? 0
    }

    /// Waits for a client, and returns the connection to it.
    public func accepted() async throws(PeerError) -> PeerSocket {
        let client = try await whenReady(for: SocketEvents.readable) { descriptor throws(PeerError) in
            try SocketCalls.accept(descriptor)
        }
        return PeerSocket(descriptor: client)
    }

    // MARK: Ending

    /// Finishes writing: the other end reads what was written, and then the end.
    public func finishWriting() {
        try? call { descriptor in SocketCalls.finishWriting(descriptor) }
    }

    /// Closes the connection with a reset, if the system allows it.
    ///
    /// Over TCP the other end sees `ECONNRESET` instead of an end. Over a Unix-domain socket it does so only if it has
    /// written something that this end has not read; otherwise it sees an ordinary end.
    public func reset() {
        try? call { descriptor in SocketCalls.setReset(descriptor) }
        close()
    }

    /// Closes the socket, as the end of its process would; a second call has no effect.
    ///
    /// Calls that wait for the socket end with the error `closed`.
    public func close() {
        let isUnused = state.withLock { state in
            defer { state.isClosed = true }
            if !state.isClosed, state.calls > 0 { SocketCalls.endBoth(descriptor) }
            return !state.isClosed && state.calls == 0
        }
        if isUnused { SocketCalls.close(descriptor) }
    }

    // MARK: Calls

    /// Runs a system call, or several, on the descriptor, which stays open meanwhile.
    func call<Value>(_ body: (Int32) throws(PeerError) -> Value) throws(PeerError) -> Value {
        try begin()
        defer { end() }
        return try body(descriptor)
    }

    /// Runs `body`, and again whenever the socket is ready if it was not before.
    func whenReady<Value>(
        for events: Int16,
        _ body: (Int32) throws(PeerError) -> Value
    ) async throws(PeerError) -> Value {
        try begin()
        defer { end() }
        while true {
            if Task.isCancelled { throw PeerError(.cancelled, "the task was cancelled") }
            do {
                return try body(descriptor)
            } catch {
                guard error.underlyingErrno == Errno.again.rawValue else { throw isClosed ? Self.closedError : error }
            }
            try await SocketWait(descriptor, for: events) { self.isClosed }.value()
            if isClosed { throw Self.closedError }
        }
    }

    /// Waits for events of the socket.
    func wait(for events: Int16) async throws(PeerError) {
        try begin()
        defer { end() }
        try await SocketWait(descriptor, for: events) { self.isClosed }.value()
        if isClosed { throw Self.closedError }
    }

    private static var closedError: PeerError { PeerError(.closed, "the peer's socket is closed") }

    /// Whether ``close()`` was called.
    public var isClosed: Bool { state.withLock { $0.isClosed } }

    private func begin() throws(PeerError) {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.calls += 1 }
            return !state.isClosed
        }
        guard isOpen else { throw Self.closedError }
    }

    private func end() {
        let isLast = state.withLock { state in
            state.calls -= 1
            return state.isClosed && state.calls == 0
        }
        if isLast { SocketCalls.close(descriptor) }
    }

    /// Sleeps.
    static func pause(for duration: Duration) async throws(PeerError) {
        // A sleep of centuries would trap.
        try? await Task.sleep(for: min(duration, .seconds(1 << 30)))
        try checkCancellation()
    }

    static func checkCancellation() throws(PeerError) {
        guard !Task.isCancelled else { throw PeerError(.cancelled, "the task was cancelled") }
    }
}
