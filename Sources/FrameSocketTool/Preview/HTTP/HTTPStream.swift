internal import CMicroHTTPD
import Locking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The body of an answer that goes on and on: the server's thread takes from it whatever its client has room for.
///
/// A client that takes nothing is never asked again until it does, so nothing piles up for it here.
@safe final class HTTPStream: Sendable {
    /// What a source has to give.
    enum Supply {
        /// So many bytes were written.
        case bytes(Int)
        /// Nothing now; the source is asked again after ``wake()``.
        case later
        /// Nothing any more.
        case end
    }

    /// Writes to a room what comes next.
    ///
    /// It is called with the stream's lock held, and must not call the stream.
    typealias Source = @Sendable (inout MutableSpan<UInt8>) -> Supply

    @safe private struct State: @unchecked Sendable {
        /// The connection that the body goes out on, once there is one.
        var connection: OpaquePointer?
        /// Whether the connection is suspended, until the stream is woken.
        var isWaiting = false
        /// Whether its client has left.
        var isAbandoned = false
    }

    private let state = Locked(State())
    private let source: Source
    private let released: @Sendable () -> Void

    /// A stream of what `source` gives, which calls `released` when its answer has ended, however that was.
    init(_ source: @escaping Source, released: @escaping @Sendable () -> Void) {
        self.source = source
        self.released = released
    }

    /// Says that the source has something, or has come to its end.
    func wake() {
        state.withLock { state in resume(&state) }
    }

    /// Looks whether a client that waits is still there, and lets its answer end where it is not.
    ///
    /// A connection without anything to write is not watched by the server.
    func checkClient() {
        state.withLock { state in
            guard state.isWaiting, let connection = unsafe state.connection else { return }
            var byte: UInt8 = 0
            let descriptor = unsafe microhttpd_socket(connection)
            let count = unsafe recv(descriptor, &byte, 1, Int32(truncatingIfNeeded: MSG_PEEK | MSG_DONTWAIT))
            let isThere = count > 0 || (count < 0 && [EAGAIN, EWOULDBLOCK, EINTR].contains(errno))
            guard !isThere else { return }
            state.isAbandoned = true
            resume(&state)
        }
    }

    private func resume(_ state: inout State) {
        guard state.isWaiting, let connection = unsafe state.connection else { return }
        state.isWaiting = false
        unsafe microhttpd_resume(connection)
    }

    // MARK: On the server's thread

    /// How many bytes the system may hold for a client that is slow: more would only let it see older things.
    private static let systemBuffer: Int32 = 256 << 10

    /// Begins to go out on a connection.
    func begin(on connection: OpaquePointer) {
        var size = Self.systemBuffer
        let descriptor = unsafe microhttpd_socket(connection)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        state.withLock { state in unsafe state.connection = connection }
    }

    /// What the server is told, having asked for bytes.
    func read(into room: inout MutableSpan<UInt8>) -> Int {
        state.withLock { state in
            guard !state.isAbandoned else { return microhttpd_end_with_error }
            switch source(&room) {
            case .bytes(let count): return count
            case .end: return microhttpd_end_of_stream
            case .later:
                guard let connection = unsafe state.connection else { return microhttpd_end_with_error }
                // Within the lock, so that who wakes the stream finds it waiting, or has been seen by the source.
                unsafe microhttpd_suspend(connection)
                state.isWaiting = true
                return 0
            }
        }
    }

    /// The answer has ended; the connection is not to be touched any more.
    func end() {
        state.withLock { state in
            unsafe state.connection = nil
            state.isWaiting = false
        }
        released()
    }
}
