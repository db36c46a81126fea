internal import FrameTransport

/// Why a frame that was handed in was not sent.
public enum DropCause: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// No server is connected.
    case notConnected
    /// The receiver has asked for a pause.
    case paused
    /// The receiver has said that it wants no pictures.
    case notWanted
    /// It was not due at the wanted rate.
    case paced
    /// It equals the frame sent before.
    case unchanged
    /// A newer frame came before this one's turn.
    case superseded
    /// It would have taken more memory than the uploader may hold.
    case overMemoryBudget
    /// The picture could not be scaled or encoded.
    case encodingFailed
    /// The connection ended while the frame was being sent.
    case connectionLost

    /// A sentence for a person.
    public var description: String {
        switch self {
        case .notConnected: "no server is connected"
        case .paused: "the receiver has asked for a pause"
        case .notWanted: "the receiver wants no pictures"
        case .paced: "it was not due at the wanted rate"
        case .unchanged: "it equals the frame sent before"
        case .superseded: "a newer frame took its place"
        case .overMemoryBudget: "it would have taken more memory than allowed"
        case .encodingFailed: "the picture could not be encoded"
        case .connectionLost: "the connection ended while it was being sent"
        }
    }
}

extension DropCause {
    /// Why a frame that was taken could not be sent after all.
    init(sending error: TransportError) {
        self =
            switch error.code {
            case .closed: .notConnected
            case .paused: .paused
            case .notWanted: .notWanted
            // With a message that somebody else sends on this connection.
            case .busy: .superseded
            default: .connectionLost
            }
    }
}
