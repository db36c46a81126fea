import FrameSocket
import Locking

extension FrameConnection {
    /// Calls `report` with every change of what the sender says of itself, until the connection ends.
    ///
    /// A sender that says the same again says nothing. Of one that changes its mind faster than anybody could follow,
    /// some changes are left out, but never the last.
    func followStates(_ report: (SenderStatus) async -> Void) async {
        let (changes, continuation) = AsyncStream.makeStream(
            of: SenderStatus.self,
            bufferingPolicy: .bufferingNewest(8)
        )
        let hasEnded = Locked(false)
        // A task that nobody cancels: it ends with the connection.
        let reading = Task {
            var last: SenderStatus?
            for await status in statuses where last.map({ $0.differs(from: status) }) ?? true {
                last = status
                continuation.yield(status)
            }
            hasEnded.withLock { $0 = true }
            continuation.finish()
        }
        var limit = ReportLimit(burst: 8, perSecond: 1)
        var (reported, pending): (SenderStatus?, SenderStatus?) = (nil, nil)
        for await status in changes {
            while !limit.hasRoom(at: MonotonicClock.now()), !hasEnded.withLock({ $0 }) {
                try? await Task.sleep(for: .milliseconds(20))
            }
            // At the end there is no time for all of them.
            guard limit.hasRoom(at: MonotonicClock.now()) else {
                pending = status
                continue
            }
            pending = nil
            guard reported?.differs(from: status) ?? true else { continue }
            _ = limit.admit()
            reported = status
            await report(status)
        }
        if let pending, reported?.differs(from: pending) ?? true { await report(pending) }
        await reading.value
    }
}

extension SenderStatus {
    /// Whether this is news to somebody who knows the other; the number of a ping is not.
    fileprivate func differs(from other: SenderStatus) -> Bool {
        state != other.state || refusedPreferences != other.refusedPreferences
    }
}
