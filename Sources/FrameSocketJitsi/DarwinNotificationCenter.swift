// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    internal import FrameSocketApple

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

        /// Calls `handler` on the main thread whenever the notification is posted, for as long as the returned
        /// observation is retained.
        ///
        /// The original only posts: its receiving half is in the app, in Objective-C.
        public func observe(
            _ name: DarwinNotification,
            using handler: @escaping @Sendable () -> Void
        ) -> Observation {
            Observation(name.notification.observe(handler))
        }

        /// An observation, which ends when this object is released.
        public final class Observation: Sendable {
            private let observation: BroadcastObservation

            fileprivate init(_ observation: BroadcastObservation) {
                self.observation = observation
            }
        }
    }
#endif
