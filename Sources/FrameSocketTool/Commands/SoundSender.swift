import FrameSocket
import Locking

/// Sends the audio of a file at its own pace, to a receiver that asks for it.
final class SoundSender: Sendable {
    private let file: Locked<AudioFile>
    private let hasBegun = Locked(false)
    private let wasCut = Locked(false)
    private let report: @Sendable (CommandFailure) -> Void

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - report: Called if the rest of the file cannot be read.
    /// - Throws: The failure to open the file, or to read its beginning.
    init(_ path: String, report: @escaping @Sendable (CommandFailure) -> Void) throws(CommandFailure) {
        file = Locked(try AudioFile(path))
        self.report = report
    }

    /// Whether the receiver has asked for audio.
    var isWanted: Bool { hasBegun.withLock { $0 } }

    /// Whether the connection ended before the file did.
    var isCut: Bool { wasCut.withLock { $0 } }

    /// Waits until the receiver has asked for audio, or has said that it wants none; at most half a second for a receiver
    /// that says nothing, as many do.
    func waitToBeAsked(over connection: SocketConnection) async {
        let end = ContinuousClock.now + .milliseconds(500)
        while !isWanted, connection.isOpen {
            let isSilent = connection.receiver.hello == nil
            guard isSilent ? ContinuousClock.now < end : connection.receiver.wants.contains(.audio) else { return }
            guard (try? await Task.sleep(for: .milliseconds(2))) != nil else { return }
        }
    }

    /// Sends the file once the receiver asks for it, until the file or the connection ends, or the task is cancelled.
    func send(over connection: SocketConnection) async {
        guard await isAsked(over: connection) else { return }
        hasBegun.withLock { $0 = true }
        // Reading a file blocks, so it must not happen on Swift's pool.
        let playing = Task(preferring: IOThread()) { [self] in
            let clock = ContinuousClock()
            let begin = (clock.now, MonotonicClock.now())
            var sequence: UInt64 = 0
            while !Task.isCancelled, var block = nextBlock() {
                guard connection.closeReason == nil else { return wasCut.withLock { $0 = true } }
                let offset = block.timestamp ?? 0
                guard (try? await clock.sleep(until: begin.0 + .nanoseconds(Int64(clamping: offset)))) != nil else {
                    return
                }
                block.timestamp = begin.1 &+ offset
                block.sequence = sequence
                _ = try? connection.send(block)
                sequence += 1
            }
        }
        await withTaskCancellationHandler {
            await playing.value
        } onCancel: {
            playing.cancel()
        }
    }

    /// Waits until the receiver asks; returns false if it never does.
    private func isAsked(over connection: SocketConnection) async -> Bool {
        if connection.receiver.wants.contains(.audio) { return true }
        for await request in connection.requests {
            if case .hello(let hello) = request, hello.wants.contains(.audio) { return true }
        }
        return false
    }

    private func nextBlock() -> AudioBlock? {
        file.withLock { file in
            do throws(CommandFailure) {
                return try file.next()
            } catch {
                report(error)
                return nil
            }
        }
    }
}
