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

    /// Creates a notice.
    ///
    /// - Parameters:
    ///   - title: The title.
    ///   - text: The text.
    ///   - values: The values for the app; by default `["FrameSocket": "noHost"]`.
    ///   - delay: The time until it is shown; by default 3 seconds.
    public init(
        title: String = "Screen sharing is waiting",
        text: String = "Open the app to share your screen.",
        values: [String: String] = ["FrameSocket": "noHost"],
        delay: Duration = .seconds(3)
    ) {
        (self.title, self.text, self.values, self.delay) = (title, text, values, delay)
    }
}
