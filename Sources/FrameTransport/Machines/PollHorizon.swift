/// The time up to which a poller has reported everything that had happened.
///
/// A later deadline must not fire yet: what arrived before it may still wait to be reported, because the thread was busy or
/// the process stopped.
package struct PollHorizon: Sendable {
    /// Everything that happened before this time has been reported.
    package private(set) var time: UInt64 = 0

    /// Polls in a row that returned as many reports as they could; nil if the last one did not.
    private var run: Run?

    private struct Run {
        let start: UInt64
        /// The number of reports after which everything before the start has been reported.
        let limit: Int
        var reports = 0
    }

    package init() {}

    /// Records a poll.
    ///
    /// - Parameters:
    ///   - start: The time before the poll.
    ///   - count: The number of reports; negative if the poll failed or was interrupted.
    ///   - capacity: The maximum number of reports.
    ///   - limit: The maximum number of reports that there can be at one time.
    package mutating func polled(at start: UInt64, count: Int, capacity: Int, limit: Int) {
        guard count >= 0 else { return }
        guard count == capacity else { return settle(at: start) }
        // There may be more. A poller reports what is ready before it reports what has become ready since; those that
        // are no longer watched by then count as well.
        var run = run ?? Run(start: start, limit: limit)
        run.reports += count
        if run.reports >= run.limit { settle(at: run.start) } else { self.run = run }
    }

    private mutating func settle(at start: UInt64) {
        time = start
        run = nil
    }
}
