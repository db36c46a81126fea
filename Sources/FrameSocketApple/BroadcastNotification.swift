/// A Darwin notification between an app and its broadcast extension, which needs no connection.
///
/// The names are those of Jitsi and LiveKit. The notifications carry no data, and every process on the device can
/// observe them.
public enum BroadcastNotification: String, Sendable, CaseIterable {
    /// Posted by the extension: a broadcast has begun.
    case started = "iOS_BroadcastStarted"
    /// Posted by the extension: the broadcast has ended.
    case stopped = "iOS_BroadcastStopped"
    /// Posted by the app: the broadcast should end.
    case requestStop = "iOS_BroadcastRequestStop"
}
