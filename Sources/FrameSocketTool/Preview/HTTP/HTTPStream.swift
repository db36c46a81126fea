internal import CMicroHTTPD
import Locking

/// The body of an endless answer: the server's thread takes from it whatever its client has room for.
///
/// A client that stops reading is not asked again until it reads on, so nothing piles up for it here.
@safe final class HTTPStream: Sendable {
    /// What a source has to offer.
    enum Supply {
        /// This many bytes were written.
        case bytes(Int)
        /// Nothing now; the source is asked again after ``wake()``.
        case later
        /// The end.
        case end
    }

    /// Writes the next bytes to a buffer.
    ///
    /// Called with the stream's lock held; must not call the stream.
    typealias Source = @Sendable (inout MutableSpan<UInt8>) -> Supply

    @safe private struct State: @unchecked Sendable {
        /// The connection that the body is sent on, once there is one.
        var connection: OpaquePointer?
        /// Whether the connection is suspended until the stream is woken.
        var isWaiting = false
        /// Whether its client has left.
        var isAbandoned = false
    }

    private let state = Locked(State())
    private let source: Source
    private let released: @Sendable () -> Void

    /// Creates a stream from `source` that calls `released` when its answer has ended for any reason.
    init(_ source: @escaping Source, released: @escaping @Sendable () -> Void) {
        self.source = source
        self.released = released
    }

    /// Announces that the source has something, or has ended.
    func wake() {
        state.withLock { state in resume(&state) }
    }

    /// Checks whether a waiting client is still connected, and ends its answer if it is not.
    ///
    /// The server does not watch a connection without anything to write.
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

    /// Starts sending on a connection.
    func begin(on connection: OpaquePointer) {
        state.withLock { state in unsafe state.connection = connection }
    }

    /// Returns bytes to the server, which has asked for them.
    func read(into room: inout MutableSpan<UInt8>) -> Int {
        state.withLock { state in
            guard !state.isAbandoned else { return microhttpd_end_with_error }
            switch source(&room) {
            case .bytes(let count): return count
            case .end: return microhttpd_end_of_stream
            case .later:
                guard let connection = unsafe state.connection else { return microhttpd_end_with_error }
                // Within the lock, so that whoever wakes the stream finds it waiting, or has been seen by the source.
                unsafe microhttpd_suspend(connection)
                state.isWaiting = true
                return 0
            }
        }
    }

    /// Handles the end of the answer; the connection must not be used any more.
    func end() {
        state.withLock { state in
            unsafe state.connection = nil
            state.isWaiting = false
        }
        released()
    }
}
