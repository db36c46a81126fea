import FrameSocket
import Locking

/// Writes a wire log: each record at once, on the thread that reads the sockets.
///
/// - Note: That thread waits for the disk, and a slow disk holds up the senders. Nothing is lost.
final class WireLogWriter: FrameServer.Tap {
    private struct State {
        /// The log; nil until it is opened, and after a failure.
        var output: OutputFile?
        var startedAt: UInt64 = 0
        /// Why a record could not be written.
        var failure: Files.Failure?
    }

    private let state = Locked(State())
    private let failed: @Sendable (Files.Failure) -> Void

    /// Creates a writer, whose log has to be opened before a server accepts a connection.
    ///
    /// - Parameter failed: Called once, if a record cannot be written; later records are left out.
    init(failed: @escaping @Sendable (Files.Failure) -> Void) {
        self.failed = failed
    }

    /// Why a record could not be written; nil if all could.
    var failure: Files.Failure? { state.withLock { $0.failure } }

    /// Creates the log, or empties it.
    ///
    /// - Throws: The system's error, unless the log is a pipe whose reader has gone: that is reported as for a record.
    func open(_ path: String) throws(Files.Failure) {
        let output = try OutputFile(path, overwrites: true)
        let magic = WireLog.magic
        do throws(Files.Failure) {
            try output.write(magic)
            state.withLock { $0 = State(output: output, startedAt: MonotonicClock.now()) }
        } catch {
            guard error.isBrokenPipe else { throw error }
            state.withLock { $0.failure = error }
            failed(error)
        }
    }

    func connectionDidOpen(_ id: Int) { write(.opened, id, []) }

    func connection(_ id: Int, didRead bytes: Span<UInt8>) {
        var copy: [UInt8] = []
        unsafe bytes.withUnsafeBytes { unsafe copy.append(contentsOf: $0) }
        write(.bytes, id, copy)
    }

    func connectionDidClose(_ id: Int) { write(.closed, id, []) }

    private func write(_ kind: WireLog.Kind, _ id: Int, _ bytes: [UInt8]) {
        let failure = state.withLock { state -> Files.Failure? in
            guard let output = state.output else { return nil }
            let record =
                WireLog.bytes(MonotonicClock.now() &- state.startedAt) + WireLog.bytes(UInt32(truncatingIfNeeded: id))
                + WireLog.bytes(kind.rawValue) + WireLog.bytes(UInt32(truncatingIfNeeded: bytes.count)) + bytes
            do throws(Files.Failure) {
                try output.write(record)
                return nil
            } catch {
                (state.output, state.failure) = (nil, error)
                return error
            }
        }
        if let failure { failed(failure) }
    }
}
