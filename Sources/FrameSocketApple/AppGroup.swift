// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    internal import Foundation

    /// The App Group that an app and its broadcast extension share, in whose container the socket lies.
    ///
    ///     let server = try FrameServer(at: AppGroup.main?.socketPath() ?? fallback)
    public struct AppGroup: Sendable, Hashable {
        /// The key under which the Info.plist of the app, and that of the extension, name the group.
        public static let identifierKey = "RTCAppGroupIdentifier"

        /// The key under which the app's Info.plist names its extension, for `RPSystemBroadcastPickerView.preferredExtension`.
        public static let extensionKey = "RTCScreenSharingExtension"

        /// The socket's name in the container, as Jitsi, react-native-webrtc and flutter-webrtc have it.
        ///
        /// GetStream's is `broadcast_share`.
        public static let socketName = "rtc_SSFD"

        /// The group's identifier, such as `group.com.example.app`.
        public let identifier: String

        /// The group of that name; whether this process belongs to it is only seen when its container is looked for.
        public init(identifier: String) {
            self.identifier = identifier
        }

        /// The group that this bundle's Info.plist names; nil where it names none.
        public static var main: AppGroup? {
            (Bundle.main.object(forInfoDictionaryKey: identifierKey) as? String).map(AppGroup.init(identifier:))
        }

        /// The bundle identifier of the extension that the app's Info.plist names; nil where it names none.
        public static var extensionIdentifier: String? {
            Bundle.main.object(forInfoDictionaryKey: extensionKey) as? String
        }

        /// The path of a socket in the group's container; nil where this process is not entitled to the group.
        public func socketPath(named name: String = socketName) -> String? {
            FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: identifier)?
                .appendingPathComponent(name).path
        }
    }
#endif
