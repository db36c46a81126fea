public import FrameWire

/// How a connection ended.
///
/// An orderly stop, by whichever side, is not an error.
public enum CloseReason: Sendable, Hashable, CustomStringConvertible {
    /// The peer closed at the boundary of a message, for the reason that it gave; `stoppedByUser` if it gave none.
    case closedByPeer(FinishReason)

    /// This side closed, for the reason given.
    case closedLocally(FinishReason)

    /// The connection failed, or the peer sent what it may not.
    case failed(TransportError)

    /// The failure, or nil if the end was orderly.
    public var error: TransportError? {
        if case .failed(let error) = self { error } else { nil }
    }

    /// Why the session ended, as both sides name it.
    public var finishReason: FinishReason {
        switch self {
        case .closedByPeer(let reason), .closedLocally(let reason): reason
        case .failed(let error):
            switch error.code {
            case .tokenRejected, .handshakeTimedOut: .tokenRejected
            case .connectionLost, .sendTimedOut, .receiveTimedOut: .disconnected
            case .malformedMessage where error.wireError?.isTruncation == true: .disconnected
            case .noServer, .openTimedOut: .noHost
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
