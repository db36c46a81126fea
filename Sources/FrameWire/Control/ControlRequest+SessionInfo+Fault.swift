internal import ErrorShape

extension ControlRequest.SessionInfo {
    /// Why values cannot be stated.
    public struct Fault: Error, Sendable, Hashable {
        /// The kind of fault, as a stable text that programs can compare and print.
        public enum Code: String, Sendable, Hashable, CustomStringConvertible {
            /// There are more than ``ControlRequest/SessionInfo/maximumCount`` values.
            case tooManyValues = "info.tooManyValues"
            /// A key is empty, or contains something else than a token may.
            case invalidKey = "info.invalidKey"
            /// A key has more than ``ControlRequest/SessionInfo/maximumByteCount`` bytes.
            case keyTooLong = "info.keyTooLong"
            /// A value contains NUL, a carriage return or a line feed.
            case invalidValue = "info.invalidValue"
            /// A value has more than ``ControlRequest/SessionInfo/maximumByteCount`` bytes.
            case valueTooLong = "info.valueTooLong"

            /// The stable text.
            public var description: String { rawValue }
        }

        /// The kind of fault.
        public let code: Code

        /// What is wrong, and how to fix it.
        public let message: String

        /// The `errno` of the failed system call; always nil.
        public var underlyingErrno: Int32? { nil }

        /// The offset of the wrong byte in an input; always nil.
        public var byteOffset: UInt64? { nil }

        private init(_ code: Code, _ message: String) {
            (self.code, self.message) = (code, message)
        }
    }
}

extension ControlRequest.SessionInfo.Fault: DescribedError {}

extension ControlRequest.SessionInfo.Fault: CustomStringConvertible {
    /// The message.
    public var description: String { summary }
}

extension ControlRequest.SessionInfo.Fault {
    static func tooManyValues(_ count: Int) -> Self {
        Self(.tooManyValues, "\(count) values cannot be stated; use at most \(ControlRequest.SessionInfo.maximumCount)")
    }

    static func invalidKey(_ key: String) -> Self {
        let text = "invalid key \(quoted(key)): use 1 to \(limit) ASCII letters, digits and !#$%&'*+-.^_`|~"
        return Self(.invalidKey, text)
    }

    static func keyTooLong(_ key: String) -> Self {
        Self(.keyTooLong, "the key \(quoted(key)) has \(key.utf8.count) bytes; use at most \(limit)")
    }

    static func invalidValue(_ key: String) -> Self {
        Self(.invalidValue, "the value for \(quoted(key)) contains NUL, a carriage return or a line feed; remove it")
    }

    static func valueTooLong(_ key: String, _ count: Int) -> Self {
        Self(.valueTooLong, "the value for \(quoted(key)) has \(count) bytes of UTF-8; use at most \(limit)")
    }

    private static var limit: Int { ControlRequest.SessionInfo.maximumByteCount }

    /// A key in quotes: its beginning, in printable ASCII.
    private static func quoted(_ key: String) -> String {
        Excerpt.text(of: Array(key.utf8.prefix(40)), isCut: key.utf8.count > 40)
    }
}
