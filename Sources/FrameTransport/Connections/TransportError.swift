internal import ErrorShape
public import FrameWire

/// A failure between the two ends: a code for programs, and a sentence for a person.
public struct TransportError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// Later versions may add codes; compare with `==`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// A stable name, for logs and scripts.
        public let rawValue: String

        private init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// The stable name.
        public var description: String { rawValue }

        /// The path is longer than the system's `sun_path`, and cannot be shortened with a directory descriptor.
        public static let pathTooLong = Code("path.tooLong")
        /// The path is empty, ends with a slash or contains a NUL byte.
        public static let invalidPath = Code("path.invalid")
        /// The file at the path is not a socket.
        ///
        /// The file is left alone.
        public static let notASocket = Code("path.notASocket")
        /// A live server listens at the path.
        package static let addressInUse = Code("path.inUse")
        /// Another user could take over the path, or already has a file there.
        public static let unsafePath = Code("path.unsafe")
        /// A passed descriptor is not a socket that a server can use.
        public static let unfitSocket = Code("socket.unfit")
        /// The directory is missing or not writable.
        public static let cannotCreate = Code("path.cannotCreate")
        /// The connection did not open before its deadline.
        package static let openTimedOut = Code("connect.timedOut")
        /// The peer belongs to a user that this end does not accept.
        package static let peerRefused = Code("peer.refused")
        /// The peer sent bytes that are not a valid message; `wireError` says what is wrong and where.
        public static let malformedMessage = Code("peer.malformed")
        /// The peer broke the rules for shared memory.
        public static let sharedMemory = Code("peer.sharedMemory")
        /// The peer sent too many frames in a row that could not be decoded.
        public static let undecodableFrames = Code("peer.undecodable")
        /// The system has no memory for a body, or the body is larger than the memory budget allows.
        public static let noMemory = Code("memory.exhausted")
        /// The peer took too long to send a frame.
        package static let receiveTimedOut = Code("peer.timedOut")
        /// The peer read nothing for too long.
        public static let sendTimedOut = Code("send.timedOut")
        /// The connection broke.
        public static let connectionLost = Code("connection.lost")
        /// The connection is not open, or was closed on this side.
        public static let closed = Code("connection.closed")
        /// The sender had disconnected, and its unread frames were dropped because their memory or place was needed.
        package static let departedSenderDropped = Code("sender.dropped")
        /// An earlier message is still being sent.
        public static let busy = Code("send.busy")
        /// The receiver has requested a pause.
        public static let paused = Code("send.paused")
        /// The receiver has stated that it wants no messages of this kind.
        public static let notWanted = Code("send.notWanted")
        /// The frame cannot be sent, whoever the receiver is: it could not be encoded, or its size is outside the limits.
        package static let notSent = Code("send.failed")
        /// The audio is not in a format that can be sent.
        package static let invalidAudio = Code("audio.invalid")
        /// The other side's token is not the expected one.
        public static let tokenRejected = Code("handshake.rejected")
        /// The other side did not send its token in time.
        package static let handshakeTimedOut = Code("handshake.timedOut")
        /// A port of the loopback address was used without tokens.
        public static let tokenRequired = Code("handshake.tokenRequired")
        /// A token is empty or too long.
        public static let invalidToken = Code("handshake.invalidToken")
        /// The caller's task was cancelled.
        public static let cancelled = Code("cancelled")
        /// A system call failed in a way that has no code of its own; `underlyingErrno` says which.
        public static let system = Code("system")
    }

    /// The kind of failure.
    public var code: Code { storage.fields.code }

    /// The socket's path, if the failure has to do with one.
    public var path: String? { storage.fields.path }

    /// The `errno` of the failed system call; nil if none failed.
    public var underlyingErrno: Int32? { storage.fields.underlyingErrno }

    /// The offset of the first wrong byte in the received stream; nil if the failure is not about bytes.
    public var byteOffset: UInt64? { wireError?.byteOffset }

    /// The error in the received bytes, if that is the cause.
    public var wireError: WireError? { storage.fields.wireError }

    /// A sentence that says what happened and what to do, without the path.
    public var message: String { remedy.map { "\(problem); \($0)" } ?? problem }

    /// What to do, as the message says it at its end, often with a command for a shell; nil if that is not known, or is
    /// said with what happened.
    public var remedy: String? { storage.fields.remedy }

    /// What happened, without the remedy.
    package var problem: String { storage.fields.problem }

    /// The path, the message, the byte offset and the system's description, in one line.
    public var description: String { summary }

    /// The fields, by reference.
    ///
    /// An error of one word is returned in a register. With a larger one, Swift 6.3 fails to compile some loops that
    /// throw another error beside an `async throws(TransportError)` call.
    private let storage: Storage

    private final class Storage: Sendable {
        let fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    private struct Fields: Sendable, Hashable {
        let code: Code
        var path: String?
        var underlyingErrno: Int32?
        var wireError: WireError?
        let problem: String
        var remedy: String?
    }

    /// Creates an error, for use in tests.
    package init(
        _ code: Code,
        path: String? = nil,
        underlyingErrno: Int32? = nil,
        _ problem: String,
        remedy: String? = nil
    ) {
        storage = Storage(
            Fields(code: code, path: path, underlyingErrno: underlyingErrno, problem: problem, remedy: remedy)
        )
    }

    package init(_ error: WireError) {
        storage = Storage(Fields(code: .malformedMessage, wireError: error, problem: error.message))
    }

    /// Returns whether two errors have the same code and content.
    public static func == (first: TransportError, second: TransportError) -> Bool {
        first.storage.fields == second.storage.fields
    }

    /// Hashes what ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(storage.fields) }

    /// Returns the failure of a connection whose sender broke the rules for shared memory.
    static func sharedMemory(_ message: String, _ error: Errno? = nil) -> TransportError {
        TransportError(.sharedMemory, underlyingErrno: error?.rawValue, message)
    }

    /// Returns the failure of a connection with this many undecodable frames in a row.
    static func undecodable(_ count: Int) -> TransportError {
        TransportError(.undecodableFrames, "the sender sent \(count) frames in a row that cannot be decoded")
    }

    /// Returns the failure of an open connection.
    package static func lost(_ error: Errno) -> TransportError {
        TransportError(.connectionLost, underlyingErrno: error.rawValue, "the connection broke")
    }
}

extension TransportError: DescribedError {
    package var subject: String? { path }

    package var cause: String? { underlyingErrno.map { Errno($0).description } }
}

/// How a connection ended.
///
/// An orderly stop by either side is not an error.
public enum CloseReason: Sendable, Hashable, CustomStringConvertible {
    // The first case is the plain address of its error; marked as another case, a leak checker would not see it.
    /// The connection failed, or the peer violated the protocol.
    case failed(TransportError)

    /// The peer closed at a message boundary, for the reason that it stated; `stoppedByUser` if it stated none.
    case closedByPeer(ControlRequest.FinishReason)

    /// This side closed, for the given reason.
    case closedLocally(ControlRequest.FinishReason)

    /// The failure; nil if the end was orderly.
    public var error: TransportError? {
        if case .failed(let error) = self { error } else { nil }
    }

    /// The reason for the end of the session, in the terms of the protocol.
    public var finishReason: ControlRequest.FinishReason {
        switch self {
        case .closedByPeer(let reason), .closedLocally(let reason): reason
        case .failed(let error):
            switch error.code {
            case .tokenRejected, .handshakeTimedOut: .tokenRejected
            case .connectionLost, .sendTimedOut, .receiveTimedOut: .disconnected
            case .malformedMessage where error.wireError?.isTruncation == true: .disconnected
            case .openTimedOut: .noHost
            default: .error
            }
        }
    }

    /// A stable name, for logs and scripts: `closedByPeer`, `closedLocally`, or the error's code.
    public var name: String {
        switch self {
        case .closedByPeer: "closedByPeer"
        case .closedLocally: "closedLocally"
        case .failed(let error): error.code.rawValue
        }
    }

    /// A sentence for a person.
    public var description: String {
        switch self {
        case .closedByPeer(.stoppedByUser): "the other side ended the connection"
        case .closedByPeer(let reason): "the other side ended the connection: \(reason)"
        case .closedLocally(.stoppedByUser): "this side ended the connection"
        case .closedLocally(let reason): "this side ended the connection: \(reason)"
        case .failed(let error): error.description
        }
    }
}
