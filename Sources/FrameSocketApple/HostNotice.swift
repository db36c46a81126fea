// Type-checked against stubs, not run on a device.

internal import FrameSocket

#if canImport(UserNotifications)
    internal import Foundation
    internal import UserNotifications
#endif

/// The notification that asks the person to open the app, if none receives the broadcast.
///
/// A broadcast that is started in Control Center finds no app if it is not running. The notification belongs to the
/// app: tapping it opens the app, whose permission to notify it needs.
///
/// ```swift
/// var configuration = BroadcastSession.Configuration()
/// configuration.hostNotice = HostNotice(text: "Open Example to share your screen.")
/// ```
public struct HostNotice: Sendable, Hashable {
    /// The title; looked up in the extension's `Localizable.strings`.
    public var title: String

    /// The text; looked up in the extension's `Localizable.strings`.
    public var text: String

    /// The values that the app finds in the notification's `userInfo`.
    public var values: [String: String]

    /// The time without an app until the notification is shown.
    public var delay: Duration

    /// Creates a notice; by default with general texts, after 3 seconds.
    public init(
        title: String = "Screen sharing is waiting",
        text: String = "Open the app to share your screen.",
        values: [String: String] = ["FrameSocket": "noHost"],
        delay: Duration = .seconds(3)
    ) {
        (self.title, self.text, self.values, self.delay) = (title, text, values, delay)
    }

    #if canImport(UserNotifications)
        /// Shows the notification, if the person allows the app to notify.
        func show() {
            let content = UNMutableNotificationContent()
            content.title = Bundle.main.localizedString(forKey: title, value: title, table: nil)
            content.body = Bundle.main.localizedString(forKey: text, value: text, table: nil)
            content.sound = .default
            content.userInfo = values
            // A trigger must be later than now, and a later notice replaces the one that is shown.
            let trigger = UNTimeIntervalNotificationTrigger(timeInterval: 0.1, repeats: false)
            let request = UNNotificationRequest(identifier: "FrameSocket.noHost", content: content, trigger: trigger)
            UNUserNotificationCenter.current().add(request, withCompletionHandler: nil)
        }
    #endif
}

extension BroadcastSession.Configuration {
    /// Waits for an app: asks the person to open it after a while, and gives up after a limit.
    ///
    /// - Returns: Why no app was reached within the limit; nil if one was, or the wait is of no more use.
    func missingHost(
        of connection: SocketConnection,
        onNotice: @Sendable (HostNotice) -> Void
    ) async -> TransportError? {
        var rest = hostTimeout
        if let notice = hostNotice, rest.map({ notice.delay < $0 }) ?? true {
            guard await connection.failure(within: notice.delay) != nil else { return nil }
            onNotice(notice)
            rest = rest.map { $0 - notice.delay }
        }
        guard let rest else { return nil }
        return await connection.failure(within: rest)
    }
}

extension SocketConnection {
    /// Waits to be open; nil if it is, or the wait was cancelled, or something else has ended the connection.
    fileprivate func failure(within limit: Duration) async -> TransportError? {
        do throws(TransportError) {
            try await open(within: limit)
            return nil
        } catch {
            // Whatever ended the connection is reported by its states.
            return Task.isCancelled || hasEnded ? nil : error
        }
    }
}
