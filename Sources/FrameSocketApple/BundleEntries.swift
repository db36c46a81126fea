/// The entries of an Info.plist that a broadcast depends on.
struct BundleEntries: Sendable, Hashable {
    /// `CFBundleIdentifier`.
    let identifier: String?
    /// `RTCAppGroupIdentifier`; nil if it is missing or empty.
    let group: String?
    /// `RTCScreenSharingExtension`; nil if it is missing or empty.
    let namedExtension: String?
    /// `UIBackgroundModes`.
    let backgroundModes: [String]
    /// What `NSExtension` declares; nil in an app.
    let declaration: Declaration?

    /// The entries of `NSExtension`.
    struct Declaration: Sendable, Hashable {
        /// `NSExtensionPointIdentifier`.
        let point: String?
        /// `NSExtensionPrincipalClass`.
        let principalClass: String?
        /// `RPBroadcastProcessMode`.
        let processMode: String?
    }

    /// Creates entries from a property list; entries of the wrong type count as missing.
    init(_ list: [String: Any]) {
        func text(_ key: String, in list: [String: Any]) -> String? {
            (list[key] as? String).flatMap { $0.isEmpty ? nil : $0 }
        }
        identifier = text("CFBundleIdentifier", in: list)
        group = text("RTCAppGroupIdentifier", in: list)
        namedExtension = text("RTCScreenSharingExtension", in: list)
        backgroundModes = list["UIBackgroundModes"] as? [String] ?? []
        declaration = (list["NSExtension"] as? [String: Any]).map {
            Declaration(
                point: text("NSExtensionPointIdentifier", in: $0),
                principalClass: text("NSExtensionPrincipalClass", in: $0),
                processMode: text("RPBroadcastProcessMode", in: $0)
            )
        }
    }
}
