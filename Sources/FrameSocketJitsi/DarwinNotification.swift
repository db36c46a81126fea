internal import FrameSocketApple

/// A notification between a broadcast extension and its app, with the names of Jitsi's enumeration.
public enum DarwinNotification: String, Sendable, CaseIterable {
    /// Posted by the extension: a broadcast has begun.
    case broadcastStarted = "iOS_BroadcastStarted"
    /// Posted by the extension: the broadcast has ended.
    case broadcastStopped = "iOS_BroadcastStopped"

    /// The same notification of `FrameSocketApple`.
    var notification: BroadcastNotification {
        switch self {
        case .broadcastStarted: .started
        case .broadcastStopped: .stopped
        }
    }
}
