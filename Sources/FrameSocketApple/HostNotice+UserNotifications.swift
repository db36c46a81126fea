// Type-checked against stubs, not run on a device.

#if canImport(UserNotifications)
    internal import Foundation
    internal import UserNotifications

    extension HostNotice {
        /// The identifier of the request: a later notice replaces the one that is shown.
        static let identifier = "FrameSocket.noHost"

        /// Shows the notification, if the person allows the app to notify.
        func show() {
            let content = UNMutableNotificationContent()
            content.title = Bundle.main.localizedString(forKey: title, value: title, table: nil)
            content.body = Bundle.main.localizedString(forKey: text, value: text, table: nil)
            content.sound = .default
            content.userInfo = values
            // A trigger must be later than now.
            let trigger = UNTimeIntervalNotificationTrigger(timeInterval: 0.1, repeats: false)
            let request = UNNotificationRequest(identifier: Self.identifier, content: content, trigger: trigger)
            UNUserNotificationCenter.current().add(request, withCompletionHandler: nil)
        }
    }
#endif
