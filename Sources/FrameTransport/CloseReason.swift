/// How a connection ended.
///
/// An orderly stop, by whichever side, is not an error.
public enum CloseReason: Sendable, Hashable, CustomStringConvertible {
    /// The peer closed at the boundary of a message.
    case closedByPeer

    /// This side closed.
    case closedLocally

    /// The connection failed, or the peer sent what it may not.
    case failed(TransportError)

    /// The failure, or nil where the end was orderly.
    public var error: TransportError? {
        if case .failed(let error) = self { error } else { nil }
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
        case .closedByPeer: "the other side ended the connection"
        case .closedLocally: "this side ended the connection"
        case .failed(let error): error.description
        }
    }
}
