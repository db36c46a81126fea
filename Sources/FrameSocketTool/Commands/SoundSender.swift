import FrameSocket
import Locking

/// Sends the sound of a WAVE file at its own pace, to a receiver that asked for it.
final class SoundSender: Sendable {
    private let file: Locked<WAVFile>
    private let start: UInt64

    init(_ path: String) throws(CommandFailure) {
        start = MonotonicClock.now()
        file = Locked(try WAVFile(path, startTime: start))
    }

    /// Sends it to its end, or to the connection's. What nobody asked for is left out.
    func send(over connection: SocketConnection) async {
        // Reading a file blocks: not for Swift's pool.
        await Task(executorPreference: IOThread()) { [self] in
            let clock = ContinuousClock()
            let begin = clock.now
            var sequence: UInt64 = 0
            while connection.closeReason == nil, let block = nextBlock() {
                let due = (block.presentationTime ?? start) &- start
                try? await clock.sleep(until: begin + .nanoseconds(Int64(clamping: due)))
                guard let message = try? AudioMessage(block, kind: .app, sequence: sequence) else { return }
                _ = try? connection.send(message)
                sequence += 1
            }
        }.value
    }

    private func nextBlock() -> AudioBlock? {
        file.withLock { file in
            do throws(CommandFailure) {
                return try file.next()
            } catch {
                Terminal.say("framesocket send: \(error.message)")
                return nil
            }
        }
    }
}
