import FrameSocket
import Locking

extension FrameConnection {
    /// Calls `report` with every change of the sender's state, until the connection ends.
    func followStates(_ report: (SenderStatus) async -> Void) async {
        await statuses.follow(nil, differ: { $0.differs(from: $1) }, report)
    }

    /// Calls `report` with every change of what the sender states about itself, until the connection ends.
    func followInfos(_ report: (ControlRequest.SessionInfo) async -> Void) async {
        await infos.follow(ControlRequest.SessionInfo(), differ: { $0 != $1 }, report)
    }
}

extension SocketConnection {
    /// Calls `report` with every change of what receivers state about themselves, until the connection ends.
    func followInfos(_ report: (ControlRequest.SessionInfo) async -> Void) async {
        await infos.follow(ControlRequest.SessionInfo(), differ: { $0 != $1 }, report)
    }
}

extension ConnectionValues {
    /// Calls `report` with every change from `first` on, until the connection ends.
    ///
    /// A sender that says the same again says nothing. Of one that changes its mind faster than anybody could follow,
    /// some changes are left out, but never the last.
    fileprivate func follow(
        _ first: Element?,
        differ: @escaping @Sendable (Element, Element) -> Bool,
        _ report: (Element) async -> Void
    ) async {
        let (changes, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(8))
        let hasEnded = Locked(false)
        // A task that nobody cancels: it ends with the connection.
        let reading = Task {
            var last = first
            for await value in self where last.map({ differ($0, value) }) ?? true {
                last = value
                continuation.yield(value)
            }
            hasEnded.withLock { $0 = true }
            continuation.finish()
        }
        var limit = ReportLimit(burst: 8, perSecond: 1)
        var (reported, pending): (Element?, Element?) = (first, nil)
        for await value in changes {
            while !limit.hasRoom(at: MonotonicClock.now()), !hasEnded.withLock({ $0 }) {
                try? await Task.sleep(for: .milliseconds(20))
            }
            // At the end there is no time for all of them.
            guard limit.hasRoom(at: MonotonicClock.now()) else {
                pending = value
                continue
            }
            pending = nil
            guard reported.map({ differ($0, value) }) ?? true else { continue }
            _ = limit.admit()
            reported = value
            await report(value)
        }
        if let pending, reported.map({ differ($0, pending) }) ?? true { await report(pending) }
        await reading.value
    }
}

extension SenderStatus {
    /// Whether this is news to somebody who knows the other; the number of a ping is not.
    fileprivate func differs(from other: SenderStatus) -> Bool {
        state != other.state || refusedPreferences != other.refusedPreferences
    }
}
