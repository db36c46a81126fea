internal import FrameTransport
internal import Locking

extension SampleUploader {
    /// The difficulties of an uploader, for a user's display and for metrics.
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
        package var names: [String] {
            let all: [(Self, String)] = [
                (.receiverSlow, "receiver.slow"), (.budgetLow, "budget.low"), (.encoderSlow, "encoder.slow"),
            ]
            return all.filter { contains($0.0) }.map(\.1)
        }
    }

    /// The current difficulties, and every later set of them; a sequence for one consumer, which ends with the connection.
    ///
    /// Every call returns an independent sequence. A busy consumer gets the latest 16 sets. The sequence does not keep the uploader,
    /// and ends with it.
    ///
    /// ```swift
    /// for await conditions in uploader.conditions where conditions.contains(.receiverSlow) { print("slow") }
    /// ```
    public var conditions: AsyncStream<Conditions> { observed.withLock { $0 }.values() }

    /// Tells the consumers of ``conditions`` what holds now.
    ///
    /// Locked meanwhile, so that the last caller tells the latest.
    func tellConditions() {
        observed.withLock { observed in observed.change(to: machine.withLock { $0.statistics.conditions }) }
    }
}
