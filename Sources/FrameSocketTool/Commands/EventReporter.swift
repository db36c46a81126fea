import FrameSocket
import Locking

/// Decides what is printed of the events at a server: JSON if that was asked for, or else sentences.
///
/// JSON has every event, except refusals that repeat. Sentences that repeat are limited, whatever senders do.
final class EventReporter: Sendable {
    /// What to print.
    enum Report: Equatable {
        /// A line for standard output.
        case event(String)
        /// A sentence for a person.
        case sentence(String)
    }

    private struct State {
        /// Of senders that come and go.
        var visits = ReportLimit(burst: 200, perSecond: 10)
        /// Of what else is reported of senders.
        var others = ReportLimit(burst: 100, perSecond: 5)
        /// The same for each connection.
        var connections: [Int: ReportLimit] = [:]
        /// Of each kind of refusal.
        var refusals: [String: ReportLimit] = [:]
        var omitted = 0
    }

    /// How many kinds of refusals are told apart.
    private static let maximumKinds = 16

    private let isJSON: Bool
    private let isQuiet: Bool
    private let state = Locked(State())

    /// Creates a reporter.
    init(isJSON: Bool, isQuiet: Bool) {
        (self.isJSON, self.isQuiet) = (isJSON, isQuiet)
    }

    /// The number of messages for a person that were left out so far.
    var omitted: Int { isJSON ? 0 : state.withLock { $0.omitted } }

    /// Returns what to print of an event; nil for nothing.
    func report(of event: Reception.Event, at now: UInt64 = MonotonicClock.now()) -> Report? {
        if isJSON {
            // Only these come from senders that may not send anything.
            guard case .refused(let refusal) = event else { return .event(event.json) }
            return state.withLock { Self.admit(refusal, &$0, at: now) }.map { _ in .event(event.json) }
        }
        guard !isQuiet, let sentence = event.sentence else { return nil }
        guard let omitted = state.withLock({ Self.admit(event, &$0, at: now) }) else { return nil }
        guard omitted > 0 else { return .sentence(sentence) }
        return .sentence("\(sentence) (\(Format.count(omitted, "similar message")) left out before)")
    }

    /// Returns how many similar messages were left out before this one; nil if it is left out itself.
    private static func admit(_ event: Reception.Event, _ state: inout State, at now: UInt64) -> Int? {
        switch event {
        case .listening, .frame: return 0
        case .refused(let refusal): return admit(refusal, &state, at: now)
        case .connected: return admit(&state.visits, &state.omitted, at: now)
        case .closed(let connection, _, _):
            state.connections[connection] = nil
            return admit(&state.visits, &state.omitted, at: now)
        case .failed(nil, _, _): return admit(&state.others, &state.omitted, at: now)
        case .failed(let connection?, _, _), .broken(let connection, _), .status(_, let connection),
            .info(_, let connection):
            let own = ReportLimit(burst: 10, perSecond: 1)
            // A connection without room takes none of the others'.
            guard state.connections[connection, default: own].hasRoom(at: now), state.others.hasRoom(at: now) else {
                state.connections[connection, default: own].omit()
                state.omitted += 1
                return nil
            }
            _ = state.others.admit()
            return state.connections[connection, default: own].admit()
        }
    }

    private static func admit(_ refusal: TransportEvent, _ state: inout State, at now: UInt64) -> Int? {
        let isNew = state.refusals[refusal.message] == nil
        let kind = isNew && state.refusals.count >= maximumKinds ? "" : refusal.message
        return admit(&state.refusals[kind, default: ReportLimit(burst: 1, perSecond: 0.1)], &state.omitted, at: now)
    }

    private static func admit(_ limit: inout ReportLimit, _ omitted: inout Int, at now: UInt64) -> Int? {
        guard !limit.hasRoom(at: now) else { return limit.admit() }
        limit.omit()
        omitted += 1
        return nil
    }
}

extension TransportEvent {
    /// Whether a sender was refused, and did not just leave before it had sent its token, or was dropped with its frames
    /// before it came to be served.
    var isRefusal: Bool {
        switch code {
        case .refusedForPlace: true
        case .refusedForUser, .refusedForToken, .departedSenderDropped: error != nil
        default: false
        }
    }

    /// The code of the JSON event of a refusal, or of a dropped sender.
    var refusalCode: String { error?.code.rawValue ?? "server.full" }
}
