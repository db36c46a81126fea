internal import FrameSocket
internal import FrameSocketApple
internal import FrameTransport

/// What `didClose` is told.
enum BroadcastClosing {
    /// Returns the error of an end; nil for one without a reason, which Jitsi's handlers name themselves.
    static func error(for reason: CloseReason) -> (any Error)? {
        if case .closedByPeer(.stoppedByUser) = reason { return nil }
        if case .closedLocally = reason { return nil }
        return BroadcastEnd(reason).shown
    }
}

extension TransportError {
    /// Whether the path itself is the cause, so that no later attempt can succeed.
    var isAboutPath: Bool { code == .invalidPath || code == .pathTooLong }
}
