internal import Locking

/// Passes events to a program's log, and keeps peers from flooding it.
///
/// This is the only limit on how often something is reported.
final class EventLog: Sendable {
    /// What a server or connection calls with its events.
    typealias Sink = @Sendable (TransportEvent) -> Void

    /// The number of events with one code that are reported in each ``period``.
    static let eventsPerPeriod = 10

    /// The period, in nanoseconds: 10 s.
    static let period: UInt64 = 10_000_000_000

    private struct Tally {
        var start: UInt64
        var reported = 0
        var omitted = 0
        /// The cause that was reported last of what is tried again and again.
        var cause: String?
    }

    private let sink: Sink
    private let tallies = Locked<[TransportEvent.Code: Tally]>([:])

    /// Creates a log; nil without a sink, so that events cost nothing.
    init?(_ sink: Sink?) {
        guard let sink else { return nil }
        self.sink = sink
    }

    /// Reports an event, unless there were too many of its kind; whoever calls holds no lock.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - isRepeated: Whether it comes of what is tried again and again: it is reported when its cause changes, or has been
    ///     forgotten with ``forgetCause(of:)``.
    ///   - now: The time.
    func report(_ event: TransportEvent, isRepeated: Bool = false, at now: UInt64 = MonotonicClock.now()) {
        let omitted: Int? = tallies.withLock { tallies in
            var tally = tallies[event.code] ?? Tally(start: now)
            defer { tallies[event.code] = tally }
            if isRepeated {
                let cause = event.error?.description ?? event.message
                guard cause != tally.cause else { return nil }
                tally.cause = cause
            }
            if now &- tally.start >= Self.period { (tally.start, tally.reported) = (now, 0) }
            guard tally.reported < Self.eventsPerPeriod else {
                tally.omitted += 1
                return nil
            }
            tally.reported += 1
            defer { tally.omitted = 0 }
            return tally.omitted
        }
        guard let omitted else { return }
        var event = event
        event.omitted = omitted
        sink(event)
    }
    /// Has the next event of this code reported, whatever its cause.
    func forgetCause(of code: TransportEvent.Code) {
        tallies.withLock { $0[code]?.cause = nil }
    }
}
