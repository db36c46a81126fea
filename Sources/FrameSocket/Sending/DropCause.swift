internal import FrameTransport

/// Why a frame that was offered was not sent, or not at once.
public enum DropCause: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// No server is connected.
    case notConnected
    /// The receiver has asked for a pause.
    case paused
    /// The receiver has said that it wants no frames.
    case notWanted
    /// It was not due at the wanted rate.
    case paced
    /// It equals the frame sent before.
    case unchanged
    /// A newer frame was offered before this one's turn, or somebody else was sending on the connection.
    case superseded
    /// It would have taken more memory than the uploader may hold.
    case overMemoryBudget
    /// The frame could not be scaled or encoded.
    case encodingFailed
    /// The connection ended while the frame was being sent.
    case connectionLost

    /// The cause in words.
    public var description: String {
        switch self {
        case .notConnected: "no server is connected"
        case .paused: "the receiver has asked for a pause"
        case .notWanted: "the receiver wants no frames"
        case .paced: "it was not due at the wanted rate"
        case .unchanged: "it equals the frame sent before"
        case .superseded: "a newer frame took its place"
        case .overMemoryBudget: "it would have taken more memory than allowed"
        case .encodingFailed: "it could not be encoded"
        case .connectionLost: "the connection ended while it was being sent"
        }
    }
}

extension DropCause {
    /// Why a frame that was accepted could not be sent after all.
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
