/// One thing that a ``PathDiagnosis`` has found: what it is, and how it is mended.
public struct PathFinding: Sendable, Hashable, CustomStringConvertible {
    /// How bad it is.
    public enum Severity: Int, Sendable, Hashable, Comparable, CustomStringConvertible {
        /// Nothing is wrong.
        case note
        /// It works, or will when a server starts, and somebody should look at it.
        case warning
        /// Frames do not go through here.
        case failure

        /// `note`, `warning` or `failure`, for logs and scripts.
        public var description: String {
            switch self {
            case .note: "note"
            case .warning: "warning"
            case .failure: "failure"
            }
        }

        /// Whether the first is less bad than the second.
        public static func < (first: Severity, second: Severity) -> Bool {
            first.rawValue < second.rawValue
        }
    }

    /// What it is.
    public let code: Code

    /// How bad it is.
    public let severity: Severity

    /// What was found, in a sentence.
    public let message: String

    /// What to do about it, in a line, as a rule a command for a shell; nil if there is nothing to do.
    public let mend: String?

    /// The numbers in the sentence by name, as ``Code`` tells of them.
    public let values: [String: Int]

    /// The sentence, with the mend behind it.
    public var description: String {
        mend.map { "\(message); \($0)" } ?? message
    }

    /// Makes a finding, for checks of a program's own beside those of ``PathDiagnosis``.
    public init(
        _ code: Code,
        _ severity: Severity,
        _ message: String,
        mend: String? = nil,
        values: [String: Int] = [:]
    ) {
        self.code = code
        self.severity = severity
        self.message = message
        self.mend = mend
        self.values = values
    }
}
