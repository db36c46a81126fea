extension PathDiagnosis {
    /// A finding of a ``PathDiagnosis``: what it is, and how to fix it.
    public struct Finding: Sendable, Hashable, CustomStringConvertible {
        /// The severity of the finding.
        public enum Severity: Int, Sendable, Hashable, Comparable, CustomStringConvertible {
            /// Nothing is wrong.
            case note
            /// It works, or will when a server starts, but deserves attention.
            case warning
            /// Frames cannot get through.
            case failure

            /// `note`, `warning` or `failure`, for logs and scripts.
            public var description: String {
                switch self {
                case .note: "note"
                case .warning: "warning"
                case .failure: "failure"
                }
            }

            /// Returns whether the first is less severe than the second.
            public static func < (first: Severity, second: Severity) -> Bool {
                first.rawValue < second.rawValue
            }
        }

        /// The code of the finding.
        public let code: Code

        /// The severity of the finding.
        public let severity: Severity

        /// A sentence that says what was found.
        public let message: String

        /// The remedy in one line, usually a shell command; nil if there is nothing to do.
        public let remedy: String?

        /// The numbers in the message by name, as described by ``Code``.
        public let values: [String: Int]

        /// The message, followed by the remedy.
        public var description: String {
            remedy.map { "\(message); \($0)" } ?? message
        }

        /// Creates a finding, for a program's own checks in addition to those of ``PathDiagnosis``.
        package init(
            _ code: Code,
            _ severity: Severity,
            _ message: String,
            remedy: String? = nil,
            values: [String: Int] = [:]
        ) {
            self.code = code
            self.severity = severity
            self.message = message
            self.remedy = remedy
            self.values = values
        }
    }
}
