public import FrameWire

/// How a connection ended.
///
/// An orderly stop by either side is not an error.
public enum CloseReason: Sendable, Hashable, CustomStringConvertible {
    /// The peer closed at a message boundary, for the reason that it stated; `stoppedByUser` if it stated none.
    case closedByPeer(ControlRequest.FinishReason)

    /// This side closed, for the given reason.
    case closedLocally(ControlRequest.FinishReason)

    /// The connection failed, or the peer violated the protocol.
    case failed(TransportError)

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
