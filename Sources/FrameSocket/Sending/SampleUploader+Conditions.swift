package import FrameTransport
internal import Locking

extension SampleUploader {
    /// The difficulties of an uploader, for a user's display and for metrics.
    ///
    /// That one begins or ends is an event of the connection's log, `SocketConnection.Configuration.log`.
    ///
    /// A difficulty begins when it has been met again and again for one second, and ends when it has not been met for two.
    public struct Conditions: OptionSet, Sendable, Hashable, CustomStringConvertible {
        /// The bits of the set, one for each member.
        public let rawValue: UInt8

        /// Creates a set from its bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// The receiver takes less than is submitted: frames wait for it, or take longer than a quarter of a second each.
        public static let receiverSlow = Self(rawValue: 1 << 0)

        /// The maximum number of bytes a second does not suffice for every frame, even at the lowest quality.
        public static let budgetLow = Self(rawValue: 1 << 1)

        /// Frames are submitted faster than they can be encoded.
        public static let encoderSlow = Self(rawValue: 1 << 2)

        /// The names of the difficulties, as `framesocket send --json` has them: `receiver.slow`, `budget.low`,
        /// `encoder.slow`; in brackets, separated by commas.
        public var description: String { "[\(names.joined(separator: ", "))]" }

        /// The name of each difficulty.
        package var names: [String] { Self.all.filter(contains).compactMap(\.code?.rawValue) }
    }

    /// Reports difficulties that have begun or ended since the last call to the connection's log.
    ///
    /// On the queue, one call after the other.
    func reportConditions() {
        let current = machine.withLock { $0.statistics.conditions }
        let last = reportedConditions.withLock { last in
            defer { last = current }
            return last
        }
        for condition in Conditions.all where current.contains(condition) != last.contains(condition) {
            guard let code = condition.code else { continue }
            if current.contains(condition) {
                connection.report(.warning, code, condition.sentence)
            } else {
                connection.report(.info, code, "it is no longer so that \(condition.sentence)")
            }
        }
    }
}

extension SampleUploader.Conditions {
    /// Each difficulty, in the order in which they are named.
    package static let all: [Self] = [.receiverSlow, .budgetLow, .encoderSlow]

    /// The code of the event that one difficulty begins or ends.
    package var code: TransportEvent.Code? {
        switch self {
        case .receiverSlow: .receiverSlow
        case .budgetLow: .budgetLow
        case .encoderSlow: .encoderSlow
        default: nil
        }
    }

    /// What one difficulty is, as a clause.
    fileprivate var sentence: String {
        switch self {
        case .receiverSlow: "the receiver takes less than is sent"
        case .budgetLow:
            "the maximum of bytes a second does not suffice for every image, even at the lowest quality"
        default: "images come faster than they can be encoded"
        }
    }
}
