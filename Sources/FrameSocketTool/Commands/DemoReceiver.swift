import FrameSocket
import Locking

/// A receiver in a separate process, and what it has reported.
final class DemoReceiver: Sendable {
    struct Counts {
        var frames = 0
        var errors = 0
        var hasEnded = false
    }

    private let process: ChildProcess
    private let state = Locked(Counts())
    private let ending: Task<Int32, Never>

    /// Starts `framesocket receive` with `arguments`, among them `--json`.
    init(_ arguments: [String]) throws(CommandFailure) {
        let process = try ChildProcess(["receive"] + arguments + ["--quiet"])
        let state = state
        self.process = process
        ending = Task(preferring: IOThread()) {
            process.readLines { line in
                state.withLock { counts in
                    if line.hasPrefix(#"{"event":"frame""#) { counts.frames += 1 }
                    if line.hasPrefix(#"{"event":"error""#) { counts.errors += 1 }
                }
            }
            state.withLock { $0.hasEnded = true }
            return process.wait()
        }
    }

    var counts: Counts { state.withLock { $0 } }

    /// Waits until the receiver has reported `count` frames.
    func wait(forFrames count: Int) async throws(CommandFailure) {
        while counts.frames + counts.errors < count {
            guard !counts.hasEnded else { throw CommandFailure(.unavailable, "the receiver ended too early") }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Asks the receiver to end, unless it already has.
    func stop() {
        // The process is not reaped before `hasEnded` is set, so its ID is still its own.
        state.withLock { if !$0.hasEnded { process.stop() } }
    }

    /// Waits until the receiver has ended and returns its exit code.
    func ended() async -> Int32 {
        await ending.value
    }
}
