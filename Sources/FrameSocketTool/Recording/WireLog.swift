import FrameSocket
import Locking

/// Writes the raw bytes of one connection, the first that sends any, for `receive --wire-log`.
///
/// - Note: The thread that reads the connection waits for the disk, and a slow disk holds up the senders. Nothing is
///   lost.
final class WireLog: Sendable {
    private struct State {
        /// The file; nil until it is opened, and after a failure.
        var output: OutputFile?
        /// The connection whose bytes are written; nil until one sends any.
        var connection: Int?
        /// Why bytes could not be written.
        var failure: Files.Failure?
    }

    private let state = Locked(State())
    private let failed: @Sendable (Files.Failure) -> Void

    /// Creates a log, whose file has to be opened before a server accepts a connection.
    ///
    /// - Parameter failed: Called once, if bytes cannot be written; later bytes are left out.
    init(failed: @escaping @Sendable (Files.Failure) -> Void) {
        self.failed = failed
    }

    /// Why bytes could not be written; nil if all could.
    var failure: Files.Failure? { state.withLock { $0.failure } }

    /// Creates the file, or empties it.
    func open(_ path: String) throws(Files.Failure) {
        let output = try OutputFile(path, overwrites: true)
        state.withLock { $0.output = output }
    }

    /// Writes what was read from a connection, if it is the first.
    func write(_ bytes: Span<UInt8>, of connection: Int) {
        let output = state.withLock { state in
            if state.connection == nil { state.connection = connection }
            return state.connection == connection ? state.output : nil
        }
        do throws(Files.Failure) {
            // Outside the lock: a connection is read by one thread.
            try output?.write(bytes)
        } catch {
            state.withLock { ($0.output, $0.failure) = (nil, error) }
            failed(error)
        }
    }
}
