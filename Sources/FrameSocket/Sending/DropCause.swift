/// Why a frame that was handed in was not sent.
public enum DropCause: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// No server is connected.
    case notConnected
    /// A newer frame came before this one's turn.
    case superseded
    /// The picture could not be scaled or encoded.
    case encodingFailed
    /// The connection ended while the frame was being sent.
    case connectionLost

    /// A sentence for a person.
    public var description: String {
        switch self {
        case .notConnected: "no server is connected"
        case .superseded: "a newer frame took its place"
        case .encodingFailed: "the picture could not be encoded"
        case .connectionLost: "the connection ended while it was being sent"
        }
    }
}
