// Type-checked against stubs, not run on a device.

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

#if canImport(ReplayKit)
    /// Posts and observes notifications between processes, with the names of Jitsi's `DarwinNotificationCenter`.
    ///
    /// ```swift
    /// DarwinNotificationCenter.shared.postNotification(.broadcastStarted)
    /// ```
    public final class DarwinNotificationCenter: Sendable {
        /// The notification center of the process.
        public static let shared = DarwinNotificationCenter()

        private init() {}

        /// Posts a notification to every process that observes it.
        public func postNotification(_ name: DarwinNotification) {
            name.notification.post()
        }

        /// Calls `handler` on the main thread whenever the notification is posted, for as long as the returned object is
        /// retained.
        ///
        /// The original only posts: its receiving half is in the app, in Objective-C.
        public func observe(
            _ name: DarwinNotification,
            using handler: @escaping @Sendable () -> Void
        ) -> any AnyObject & Sendable {
            name.notification.observe(handler)
        }
    }
#endif
