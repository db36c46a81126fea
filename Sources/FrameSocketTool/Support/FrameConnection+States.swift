import FrameSocket
import Locking

extension FrameConnection {
    /// Calls `report` with every change of the sender's state, until the connection ends.
    func followStates(_ report: (SenderStatus) async -> Void) async {
        await follow(statuses, from: nil, differ: { $0.differs(from: $1) }, report)
    }

    /// Calls `report` with every change of what the sender states about itself, until the connection ends.
    func followInfos(_ report: (ControlRequest.SessionInfo) async -> Void) async {
        await follow(infos, from: ControlRequest.SessionInfo(), differ: { $0 != $1 }, report)
    }
}

extension SocketConnection {
    /// Calls `report` with every change of what receivers state about themselves, until the connection ends.
    func followInfos(_ report: (ControlRequest.SessionInfo) async -> Void) async {
        await follow(infos, from: ControlRequest.SessionInfo(), differ: { $0 != $1 }, report)
    }
}

/// Calls `report` with every change from `first` on, until the connection ends.
///
/// A sender that says the same again says nothing. Of one that changes its mind faster than anybody could follow,
/// some changes are left out, but never the last.
private func follow<Values: AsyncSequence & Sendable>(
    _ values: Values,
    from first: Values.Element?,
    differ: @escaping @Sendable (Values.Element, Values.Element) -> Bool,
    _ report: (Values.Element) async -> Void
) async where Values.Element: Sendable {
    typealias Element = Values.Element
    let (changes, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(8))
    let hasEnded = Locked(false)
    // A task that nobody cancels: it ends with the connection.
    let reading = Task {
        var last = first
        do {
            for try await value in values where last.map({ differ($0, value) }) ?? true {
                last = value
                continuation.yield(value)
            }
        } catch {
            // None of these sequences throws.
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

extension SenderStatus {
    /// Whether this is news to somebody who knows the other; the number of a ping is not.
    fileprivate func differs(from other: SenderStatus) -> Bool {
        state != other.state || refusedPreferences != other.refusedPreferences
    }
}
