// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    internal import CoreFoundation
    internal import Locking
#endif

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

#if canImport(ReplayKit)
    extension BroadcastNotification {
        /// Posts the notification to every observing process.
        public func post() {
            let center = CFNotificationCenterGetDarwinNotifyCenter()
            CFNotificationCenterPostNotification(center, CFNotificationName(rawValue as CFString), nil, nil, true)
        }

        /// Calls `handler` on the main thread whenever the notification is posted, for as long as the returned
        /// observation is retained.
        public func observe(_ handler: @escaping @Sendable () -> Void) -> BroadcastObservation {
            BroadcastObservation(self, handler)
        }
    }

    /// An observation of a ``BroadcastNotification``, which ends when this object is released.
    public final class BroadcastObservation: Sendable {
        /// The handlers of this process; a notification that was ever observed has an entry.
        private static let handlers = Locked<[BroadcastNotification: [ObjectIdentifier: @Sendable () -> Void]]>([:])

        private let notification: BroadcastNotification

        fileprivate init(_ notification: BroadcastNotification, _ handler: @escaping @Sendable () -> Void) {
            self.notification = notification
            let isFirst = Self.handlers.withLock { handlers in
                defer { handlers[notification, default: [:]][ObjectIdentifier(self)] = handler }
                return handlers[notification] == nil
            }
            guard isFirst else { return }
            // Registered once, and without a pointer to any object: a notification may arrive while an object is being
            // released.
            unsafe CFNotificationCenterAddObserver(
                CFNotificationCenterGetDarwinNotifyCenter(),
                nil,
                { _, _, name, _, _ in
                    guard let name = name?.rawValue as String?, let notification = BroadcastNotification(rawValue: name)
                    else { return }
                    let handlers = BroadcastObservation.handlers.withLock { $0[notification] ?? [:] }
                    for handler in handlers.values { handler() }
                },
                notification.rawValue as CFString,
                nil,
                .deliverImmediately
            )
        }

        deinit {
            // Released without the lock: what the handler retains may end observations too.
            _ = Self.handlers.withLock { $0[notification]?.removeValue(forKey: ObjectIdentifier(self)) }
        }
    }
#endif
