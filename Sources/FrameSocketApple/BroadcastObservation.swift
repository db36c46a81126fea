// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    internal import CoreFoundation
    internal import Locking

    extension BroadcastNotification {
        /// Posts the notification to every observing process.
        public func post() {
            CFNotificationCenterPostNotification(
                CFNotificationCenterGetDarwinNotifyCenter(),
                CFNotificationName(rawValue as CFString),
                nil,
                nil,
                true
            )
        }

        /// Calls `handler` on the main thread whenever the notification is posted, for as long as the returned
        /// observation is retained.
        public func observe(_ handler: @escaping @Sendable () -> Void) -> BroadcastObservation {
            BroadcastObservation(self, handler)
        }
    }

    /// An observation of a ``BroadcastNotification``, which ends when this object is released.
    public final class BroadcastObservation: Sendable {
        private let notification: BroadcastNotification
        private let number: UInt64

        fileprivate init(_ notification: BroadcastNotification, _ handler: @escaping @Sendable () -> Void) {
            self.notification = notification
            let (number, isFirst) = BroadcastHandlers.shared.withLock { $0.add(handler, for: notification) }
            self.number = number
            guard isFirst else { return }
            // Registered once, and without a pointer to any object: a notification may arrive while an object is being
            // released.
            unsafe CFNotificationCenterAddObserver(
                CFNotificationCenterGetDarwinNotifyCenter(),
                nil,
                { _, _, name, _, _ in
                    guard let name = name?.rawValue as String?, let notification = BroadcastNotification(rawValue: name)
                    else { return }
                    let handlers = BroadcastHandlers.shared.withLock { $0.handlers(for: notification) }
                    for handler in handlers { handler() }
                },
                notification.rawValue as CFString,
                nil,
                .deliverImmediately
            )
        }

        deinit {
            // Released without the lock: what the handler retains may end observations too.
            let handler = BroadcastHandlers.shared.withLock { $0.remove(number, for: notification) }
            withExtendedLifetime(handler) {}
        }
    }

    /// The handlers of this process.
    private struct BroadcastHandlers {
        static let shared = Locked(BroadcastHandlers())

        private var byNotification: [BroadcastNotification: [UInt64: @Sendable () -> Void]] = [:]
        private var nextNumber: UInt64 = 0

        /// Adds a handler, and returns whether it is the first ever for its notification.
        mutating func add(
            _ handler: @escaping @Sendable () -> Void,
            for notification: BroadcastNotification
        ) -> (number: UInt64, isFirst: Bool) {
            let number = nextNumber
            nextNumber += 1
            let isFirst = byNotification[notification] == nil
            byNotification[notification, default: [:]][number] = handler
            return (number, isFirst)
        }

        /// Removes a handler, and returns it.
        mutating func remove(_ number: UInt64, for notification: BroadcastNotification) -> (@Sendable () -> Void)? {
            byNotification[notification]?.removeValue(forKey: number)
        }

        func handlers(for notification: BroadcastNotification) -> [@Sendable () -> Void] {
            byNotification[notification].map { Array($0.values) } ?? []
        }
    }
#endif
