// What FrameSocketApple uses of UserNotifications; see README.md.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverUseImplicitlyUnwrappedOptionals

@_exported import Foundation
import Synchronization

open class UNNotificationSound: NSObject {
    public static var `default`: UNNotificationSound { UNNotificationSound() }
}

open class UNNotificationContent: NSObject {}

open class UNMutableNotificationContent: UNNotificationContent {
    open var title = ""
    open var body = ""
    open var sound: UNNotificationSound?
    open var userInfo: [AnyHashable: Any] = [:]
}

open class UNNotificationTrigger: NSObject {}

open class UNTimeIntervalNotificationTrigger: UNNotificationTrigger {
    public init(timeInterval: Double, repeats: Bool) {
        precondition(timeInterval > 0, "the original refuses others")
    }
}

open class UNNotificationRequest: NSObject {
    public let identifier: String
    public let content: UNNotificationContent
    public init(identifier: String, content: UNNotificationContent, trigger: UNNotificationTrigger?) {
        (self.identifier, self.content) = (identifier, content)
    }
}

open class UNUserNotificationCenter: NSObject {
    public class func current() -> UNUserNotificationCenter { UNUserNotificationCenter() }

    /// What was shown: identifier, title, text and values.
    public static let standInShown = Mutex<
        [(identifier: String, title: String, body: String, values: [String: String])]
    >([])

    open func add(
        _ request: UNNotificationRequest,
        withCompletionHandler completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
    ) {
        if let content = request.content as? UNMutableNotificationContent {
            let values = content.userInfo as? [String: String] ?? [:]
            Self.standInShown.withLock { $0.append((request.identifier, content.title, content.body, values)) }
        }
        completionHandler?(nil)
    }
}
