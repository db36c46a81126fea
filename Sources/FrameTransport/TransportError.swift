public import FrameWire

/// What went wrong between two ends: a code for programs, and a sentence for a person.
public struct TransportError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// More kinds may come; compare with `==`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// A stable name, for logs and scripts.
        public let rawValue: String

        private init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// The stable name.
        public var description: String { rawValue }

        /// The path is longer than the system's `sun_path` holds, and no directory's descriptor makes it shorter.
        public static let pathTooLong = Code("path.tooLong")
        /// The path is empty, ends with a slash or contains a NUL byte.
        public static let invalidPath = Code("path.invalid")
        /// Something that is not a socket stands at the path.
        ///
        /// It is left alone.
        public static let notASocket = Code("path.notASocket")
        /// A live server listens at the path.
        public static let addressInUse = Code("path.inUse")
        /// Another user could take the path over, or already has something there.
        public static let unsafePath = Code("path.unsafe")
        /// A descriptor that was passed is no socket that a server can use.
        public static let unfitSocket = Code("socket.unfit")
        /// The directory is missing, or may not be written to.
        public static let cannotCreate = Code("path.cannotCreate")
        /// Nobody listens at the path.
        public static let noServer = Code("connect.noServer")
        /// The connection did not open before its deadline.
        public static let openTimedOut = Code("connect.timedOut")
        /// The other end belongs to a user whom this end does not deal with.
        public static let peerRefused = Code("peer.refused")
        /// The peer sent what is not a frame message; `wireError` says what and where.
        public static let malformedMessage = Code("peer.malformed")
        /// The peer sent too many frames in a row that could not be decoded.
        public static let undecodableFrames = Code("peer.undecodable")
        /// The system gave no memory for a body, or it is larger than the memory budget allows for any.
        public static let noMemory = Code("memory.exhausted")
        /// The peer took too long over a frame.
        public static let receiveTimedOut = Code("peer.timedOut")
        /// The peer took nothing for too long.
        public static let sendTimedOut = Code("send.timedOut")
        /// The connection broke.
        public static let connectionLost = Code("connection.lost")
        /// The connection is not open, or was closed on this side.
        public static let closed = Code("connection.closed")
        /// The sender had gone, and its unread frames gave way to what needed their memory or place.
        public static let visitorDropped = Code("visitor.dropped")
        /// An earlier message is still being sent.
        public static let busy = Code("send.busy")
        /// The receiver has asked for a pause.
        public static let paused = Code("send.paused")
        /// The receiver has said that it wants nothing of this kind.
        public static let notWanted = Code("send.notWanted")
        /// Sound is not of a form that can be sent.
        public static let invalidAudio = Code("audio.invalid")
        /// The other side's token is not the one expected.
        public static let tokenRejected = Code("handshake.rejected")
        /// The other side did not show its token in time.
        public static let handshakeTimedOut = Code("handshake.timedOut")
        /// A port of the loopback address was to be used without tokens.
        public static let tokenRequired = Code("handshake.tokenRequired")
        /// A token is empty or too long.
        public static let invalidToken = Code("handshake.invalidToken")
        /// The caller's task was cancelled.
        public static let cancelled = Code("cancelled")
        /// A system call failed in a way that has no code of its own; `systemError` says which.
        public static let system = Code("system")
    }

    /// The kind of failure.
    public var code: Code { storage.code }

    /// The socket's path, if the failure has to do with one.
    public var path: String? { storage.path }

    /// What the system answered, if it was asked.
    public var systemError: Errno? { storage.systemError }

    /// What was wrong in the bytes received, if that was it.
    public var wireError: WireError? { storage.wireError }

    /// What happened and what to do, without the path.
    public var message: String { storage.message }

    /// The sentence for a person, with the path and the system's words.
    public var description: String {
        var text = message
        if let path { text = "\(path): \(text)" }
        if let systemError { text += " (\(systemError))" }
        return text
    }

    /// The fields, by reference.
    ///
    /// An error of one word is returned in a register. For larger ones Swift 6.3 cannot compile every loop that throws
    /// another error beside an `async throws(TransportError)` call.
    private let storage: Storage

    private final class Storage: Sendable {
        let code: Code
        let path: String?
        let systemError: Errno?
        let wireError: WireError?
        let message: String

        init(_ code: Code, _ path: String?, _ systemError: Errno?, _ wireError: WireError?, _ message: String) {
            (self.code, self.path, self.systemError) = (code, path, systemError)
            (self.wireError, self.message) = (wireError, message)
        }
    }

    /// Makes an error, as a program's tests may need one.
    public init(_ code: Code, path: String? = nil, systemError: Errno? = nil, _ message: String) {
        storage = Storage(code, path, systemError, nil, message)
    }

    package init(_ error: WireError) {
        storage = Storage(.malformedMessage, nil, nil, error, error.description)
    }

    /// Whether two errors are of the same kind and say the same.
    public static func == (first: TransportError, second: TransportError) -> Bool {
        first.storage === second.storage
            || (first.code == second.code && first.path == second.path && first.systemError == second.systemError
                && first.wireError == second.wireError && first.message == second.message)
    }

    /// Hashes what ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(path)
        hasher.combine(systemError)
        hasher.combine(wireError)
        hasher.combine(message)
    }

    /// The failure of a connection that was open.
    package static func lost(_ error: Errno) -> TransportError {
        TransportError(.connectionLost, systemError: error, "the connection broke")
    }
}
