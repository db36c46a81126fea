import FrameSocket
import Locking

/// Writes a wire log: each record at once, on the thread that reads the sockets.
///
/// - Note: That thread waits for the disk, and a slow disk holds up the senders. Nothing is lost.
final class WireLogWriter: FrameServer.Tap {
    private let output: OutputFile
    private let startedAt = MonotonicClock.now()
    private let failure = Locked<(@Sendable (Files.Failure) -> Void)?>(nil)

    /// Creates the log, or empties it.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - failed: Called once, if a record cannot be written; later records are left out.
    /// - Throws: The system's error.
    init(_ path: String, failed: @escaping @Sendable (Files.Failure) -> Void) throws(Files.Failure) {
        output = try OutputFile(path, overwrites: true)
        failure.withLock { $0 = failed }
        let magic = WireLog.magic
        try output.write(magic.span)
    }

    func connectionDidOpen(_ id: Int) { write(.opened, id, []) }

    func connection(_ id: Int, didRead bytes: Span<UInt8>) {
        var copy: [UInt8] = []
        unsafe bytes.withUnsafeBytes { unsafe copy.append(contentsOf: $0) }
        write(.bytes, id, copy)
    }

    func connectionDidClose(_ id: Int) { write(.closed, id, []) }

    private func write(_ kind: WireLog.Kind, _ id: Int, _ bytes: [UInt8]) {
        let header =
            WireLog.bytes(MonotonicClock.now() &- startedAt) + WireLog.bytes(UInt32(truncatingIfNeeded: id))
            + WireLog.bytes(kind.rawValue) + WireLog.bytes(UInt32(truncatingIfNeeded: bytes.count))
        let error = failure.withLock { failed -> ((@Sendable (Files.Failure) -> Void)?, Files.Failure)? in
            guard failed != nil else { return nil }
            do throws(Files.Failure) {
                let record = header + bytes
                try output.write(record.span)
                return nil
            } catch {
                return (failed.take(), error)
            }
        }
        if let error { error.0?(error.1) }
    }
}
