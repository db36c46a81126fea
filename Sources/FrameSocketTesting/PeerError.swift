internal import ErrorShape
internal import FrameTransport

/// Why a peer could not do what a test asked of it: a code for programs, and a sentence for a person.
public struct PeerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// Later versions may add kinds; compare with `==`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// A stable name, for logs.
        public let rawValue: String

        private init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// The stable name.
        public var description: String { rawValue }

        /// A system call failed; `underlyingErrno` says how.
        public static let system = Code("system")
        /// The path is empty, has a NUL byte, or is longer than a socket's address holds.
        public static let invalidPath = Code("path.invalid")
        /// The program ended the connection before the peer had what it waited for.
        public static let ended = Code("program.ended")
        /// The program wrote something other than what the script expects.
        public static let unexpected = Code("program.unexpected")
        /// The program wrote something that is not a message.
        public static let malformed = Code("program.malformed")
        /// The steps of the script are in the wrong order, such as a write before there is a connection.
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

    /// The `errno` of the failed system call; nil if none failed.
    public var underlyingErrno: Int32? { storage.underlyingErrno }

    /// The offset of the first wrong byte in the input; always nil.
    public var byteOffset: UInt64? { nil }

    /// What happened.
    public var message: String { storage.message }

    /// The message and the system's description, in one line.
    public var description: String { summary }

    /// The fields, by reference, so that an error is one word: see `TransportError`.
    private let storage: Storage

    private final class Storage: Sendable {
        let code: Code
        let underlyingErrno: Int32?
        let message: String

        init(_ code: Code, _ underlyingErrno: Int32?, _ message: String) {
            (self.code, self.underlyingErrno, self.message) = (code, underlyingErrno, message)
        }
    }

    init(_ code: Code, underlyingErrno: Int32? = nil, _ message: String) {
        storage = Storage(code, underlyingErrno, message)
    }

    /// The same failure, with the place in a script before what happened.
    func at(_ place: String) -> PeerError {
        PeerError(code, underlyingErrno: underlyingErrno, "\(place): \(message)")
    }

    /// Whether two errors are of the same kind and say the same.
    public static func == (first: PeerError, second: PeerError) -> Bool {
        first.code == second.code && first.underlyingErrno == second.underlyingErrno && first.message == second.message
    }

    /// Hashes what ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(underlyingErrno)
        hasher.combine(message)
    }
}

extension PeerError: DescribedError {
    package var cause: String? { underlyingErrno.map { Errno($0).description } }
}
