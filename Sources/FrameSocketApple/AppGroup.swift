// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    internal import Foundation

    /// The App Group shared by an app and its broadcast extension, whose container holds the socket.
    ///
    /// ```swift
    /// let server = try FrameServer(at: AppGroup.main?.socketPath() ?? fallback)
    /// ```
    public struct AppGroup: Sendable, Hashable {
        /// The socket's name in the container, as in Jitsi, react-native-webrtc and flutter-webrtc.
        ///
        /// GetStream uses `broadcast_share`.
        public static let socketName = "rtc_SSFD"

        /// The group's identifier, such as `group.com.example.app`.
        public let identifier: String

        /// Creates a group from its identifier; whether this process belongs to it is checked only when its container
        /// is looked up.
        public init(identifier: String) {
            self.identifier = identifier
        }

        /// The group named in this bundle's Info.plist; nil if there is none.
        public static var main: AppGroup? {
            let identifier = Bundle.main.object(forInfoDictionaryKey: BroadcastSetup.groupKey) as? String
            return identifier.map(AppGroup.init(identifier:))
        }

        /// The bundle identifier of the extension named in the app's Info.plist; nil if there is none.
        public static var extensionIdentifier: String? {
            Bundle.main.object(forInfoDictionaryKey: BroadcastSetup.extensionKey) as? String
        }

        /// Returns the path of a socket in the group's container; nil if this process is not entitled to the group.
        public func socketPath(named name: String = socketName) -> String? {
            FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: identifier)?
                .appendingPathComponent(name).path
        }
    }
#endif
