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
        /// The program ended the connection within a message.
        public static let ended = Code("program.ended")
        /// The program wrote something that is not a message.
        public static let malformed = Code("program.malformed")
        /// The other end did nothing for longer than ``PeerSocket/patience``.
        public static let timedOut = Code("timedOut")
        /// The socket was closed by the test.
        public static let closed = Code("closed")
        /// The task was cancelled.
        public static let cancelled = Code("cancelled")
    }

    /// The kind of failure.
    public let code: Code
    /// The `errno` of the failed system call; nil if none failed.
    public let underlyingErrno: Int32?
    /// What happened.
    public let message: String

    /// The message and the system's description, in one line.
    public var description: String { summary }

    package init(_ code: Code, underlyingErrno: Int32? = nil, _ message: String) {
        (self.code, self.underlyingErrno, self.message) = (code, underlyingErrno, message)
    }
}

extension PeerError: DescribedError {
    package var byteOffset: UInt64? { nil }
    package var cause: String? { underlyingErrno.map { Errno($0).description } }
}
