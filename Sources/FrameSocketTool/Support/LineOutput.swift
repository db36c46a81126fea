import Dispatch
import FrameSocket
import Locking

/// Lines for somebody who may stop reading, which must hold up nobody.
///
/// A thread of its own writes them. If its reader does not read, lines wait up to a limit, and then are dropped and
/// counted.
final class LineOutput: Sendable {
    /// The number of bytes that may wait.
    static let capacity = 64 << 10
    /// What a pipe takes at once or not at all.
    private static let pieceSize = 4096
    /// How long the end of the program waits for a reader that reads nothing, in nanoseconds.
    private static let patience = TimeLimit.of(.seconds(1)).nanoseconds

    private struct State {
        var waiting: [UInt8] = []
        /// Lines that were dropped since lines were last written.
        var dropped = 0
        /// The number of pieces that were written.
        var pieces: UInt64 = 0
        var isWriting = false
        /// Why nothing can be written any longer.
        var failure: Files.Failure?
    }

    private let descriptor: Int32
    private let name: String
    private let notice: @Sendable (Int) -> String?
    private let failed: @Sendable (Files.Failure) -> Void
    private let queue: DispatchQueue
    private let state = Locked(State())

    /// Creates an output.
    ///
    /// - Parameters:
    ///   - descriptor: Where to write.
    ///   - name: What that is, for the failure.
    ///   - notice: The line that reports how many lines were dropped; nil for none.
    ///   - failed: Called once if a line cannot be written, on another thread.
    init(
        _ descriptor: Int32,
        name: String,
        notice: @escaping @Sendable (Int) -> String? = { _ in nil },
        failed: @escaping @Sendable (Files.Failure) -> Void = { _ in }
    ) {
        (self.descriptor, self.name, self.notice, self.failed) = (descriptor, name, notice, failed)
        queue = DispatchQueue(label: "framesocket.\(name)")
    }

    /// Why nothing can be written any longer; nil if all is well.
    var failure: Files.Failure? { state.withLock { $0.failure } }

    /// Whether everything was written, or cannot be written.
    var isIdle: Bool { state.withLock { !$0.isWriting } }

    /// Writes text soon, or drops it if too much waits; does not wait itself.
    func write(_ text: String) {
        let mustBegin = state.withLock { state in
            guard state.failure == nil else { return false }
            guard state.waiting.count + text.utf8.count <= Self.capacity else {
                state.dropped += 1
                return false
            }
            if state.dropped > 0, let notice = notice(state.dropped) {
                state.waiting += Array((notice + "\n").utf8)
                state.dropped = 0
            }
            state.waiting += Array(text.utf8)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustBegin { queue.async { self.writeWaiting() } }
    }

    /// Waits until everything is written, as long as its reader reads.
    ///
    /// To be called when the program is about to end.
    func flush() {
        var (pieces, since) = (UInt64.max, MonotonicClock.now())
        while true {
            let current = state.withLock { $0.isWriting ? $0.pieces : nil }
            guard let current else { return }
            let now = MonotonicClock.now()
            if current != pieces { (pieces, since) = (current, now) }
            guard now < since + Self.patience else { return }
            usleep(500)
        }
    }

    private func writeWaiting() {
        while let piece = nextPiece() {
            do throws(Files.Failure) {
                try Files.write(piece, to: descriptor, name: name)
                state.withLock { $0.pieces += 1 }
            } catch {
                state.withLock { ($0.failure, $0.waiting) = (error, []) }
                failed(error)
            }
        }
    }

    /// Takes out what is to be written next; nil if nothing is.
    private func nextPiece() -> [UInt8]? {
        state.withLock { state in
            if state.waiting.isEmpty, state.dropped > 0, state.failure == nil, let notice = notice(state.dropped) {
                state.waiting = Array((notice + "\n").utf8)
                state.dropped = 0
            }
            guard !state.waiting.isEmpty else {
                state.isWriting = false
                return nil
            }
            let piece = Array(state.waiting.prefix(Self.pieceSize))
            state.waiting.removeFirst(piece.count)
            return piece
        }
    }
}
