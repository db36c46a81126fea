package import FrameTransport

extension SampleUploader {
    /// Why a submitted frame was not sent, or not at once.
    public enum DropCause: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        /// No server is connected.
        case notConnected
        /// The receiver has requested a pause.
        case paused
        /// The receiver has stated that it wants no frames.
        case notWanted
        /// The frame was not due at the configured rate.
        case paced
        /// The frame equals the one sent before.
        case unchanged
        /// A newer frame was submitted before this one's turn, or another message was being sent on the connection.
        case superseded
        /// The frame's size is outside the limits of receivers: ``SampleUploader/Configuration/limits``.
        case outsideLimits
        /// The frame could not be scaled or encoded.
        case encodingFailed
        /// The connection ended while the frame was being sent.
        case connectionLost

        /// The cause, as a phrase for a person.
        public var description: String {
            switch self {
            case .notConnected: "no server is connected"
            case .paused: "the receiver has paused the sender"
            case .notWanted: "the receiver wants no frames"
            case .paced: "it was not due at the requested rate"
            case .unchanged: "it equals the frame sent before"
            case .superseded: "a newer frame replaced it"
            case .outsideLimits: "its size is outside the limits of receivers"
            case .encodingFailed: "it could not be encoded"
            case .connectionLost: "the connection ended while it was being sent"
            }
        }
    }
}

extension SampleUploader.DropCause {
    /// The cause for a frame that was accepted and then could not be sent.
    package init(sending error: TransportError) {
        self =
            switch error.code {
            case .closed: .notConnected
            case .paused: .paused
            case .notWanted: .notWanted
            // Another user of this connection is sending a message.
            case .busy: .superseded
            default: .connectionLost
            }
    }
}
