public import FrameTransport

/// Why a peer could not do what a test asked of it: a code for programs, and a sentence for a person.
public struct PeerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// More kinds may come; compare with `==`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// A stable name, for logs.
        public let rawValue: String

        private init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// The stable name.
        public var description: String { rawValue }

        /// A system call failed; `systemError` says how.
        public static let system = Code("system")
        /// The path is empty, has a NUL byte, or is longer than a socket's address holds.
        public static let invalidPath = Code("path.invalid")
        /// The program ended the connection before the peer had what it waited for.
        public static let ended = Code("program.ended")
        /// The program wrote something other than what the script expects.
        public static let unexpected = Code("program.unexpected")
        /// The program wrote what is not a message.
        public static let malformed = Code("program.malformed")
        /// The script is in the wrong order, such as a write before there is a connection.
        public static let misuse = Code("script.misuse")
        /// The script did not end in time.
        public static let timedOut = Code("script.timedOut")
        /// The socket was closed by the test.
        public static let closed = Code("closed")
        /// The task was cancelled.
        public static let cancelled = Code("cancelled")
    }

    /// The kind of failure.
    public var code: Code { storage.code }

    /// What the system answered, if it was asked.
    public var systemError: Errno? { storage.systemError }

    /// What happened.
    public var message: String { storage.message }

    /// What happened, with the system's words.
    public var description: String {
        guard let systemError else { return message }
        return "\(message) (\(systemError))"
    }

    /// The fields, by reference, so that an error is one word: see `TransportError`.
    private let storage: Storage

    private final class Storage: Sendable {
        let code: Code
        let systemError: Errno?
        let message: String

        init(_ code: Code, _ systemError: Errno?, _ message: String) {
            (self.code, self.systemError, self.message) = (code, systemError, message)
        }
    }

    init(_ code: Code, systemError: Errno? = nil, _ message: String) {
        storage = Storage(code, systemError, message)
    }

    /// The same failure, with the place in a script before what happened.
    func at(_ place: String) -> PeerError {
        PeerError(code, systemError: systemError, "\(place): \(message)")
    }

    /// Whether two errors are of the same kind and say the same.
    public static func == (first: PeerError, second: PeerError) -> Bool {
        first.code == second.code && first.systemError == second.systemError && first.message == second.message
    }

    /// Hashes what ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(systemError)
        hasher.combine(message)
    }
}
