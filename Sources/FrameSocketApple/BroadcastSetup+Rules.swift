extension BroadcastSetup {
    /// The input of the rules: property lists, and the location of the group's container.
    struct Facts: Sendable, Hashable {
        /// The entries of the process's own Info.plist.
        let main: BundleEntries
        /// Those of every extension in the app's bundle; empty in an extension.
        let embedded: [BundleEntries]
        /// The path of the socket; nil if the process is not entitled to the group.
        let socketPath: String?
    }

    /// The maximum length of a socket's path on Apple systems: `sun_path` without its terminating NUL.
    static let maximumPathBytes = 103

    /// Returns every problem of an app, or of an extension if `NSExtension` is declared.
    static func problems(in facts: Facts) -> [Problem] {
        let isExtension = facts.main.declaration != nil
        return groupProblems(in: facts)
            + (isExtension ? declarationProblems(in: facts.main, named: nil) : appProblems(in: facts))
    }

    /// Returns a sentence for the alert of an extension that has no path.
    static func sentenceWithoutPath(in facts: Facts) -> String {
        let problem = groupProblems(in: facts).first?.message ?? "the extension has no socket"
        return "Screen sharing is not set up correctly: \(problem)."
    }

    private static func groupProblems(in facts: Facts) -> [Problem] {
        guard let group = facts.main.group else {
            let message = """
                the Info.plist names no App Group: add the entry RTCAppGroupIdentifier with the group's identifier, \
                such as group.com.example.app, to the app and to the extension
                """
            return [Problem(.groupMissing, message)]
        }
        guard group.hasPrefix("group.") else {
            let message = "RTCAppGroupIdentifier is '\(group)': the identifier of an App Group begins with 'group.'"
            return [Problem(.groupMalformed, message)]
        }
        guard let path = facts.socketPath else {
            let message = """
                this process has no access to the App Group '\(group)': add the capability App Groups with that group \
                to the app and to the extension, and sign both with profiles that contain it
                """
            return [Problem(.groupNotEntitled, message)]
        }
        let excess = path.utf8.count - maximumPathBytes
        guard excess > 0 else { return [] }
        let message = """
            the socket's path '\(path)' is \(excess) bytes longer than the \(maximumPathBytes) that a socket's address \
            holds: pass a shorter name to socketPath(named:) in the app and in the extension; in the simulator, whose \
            containers have long paths, test on a device
            """
        return [Problem(.pathTooLong, message)]
    }

    private static func appProblems(in facts: Facts) -> [Problem] {
        var problems: [Problem] = []
        if !facts.main.backgroundModes.contains(where: { $0 == "audio" || $0 == "voip" }) {
            let message = """
                UIBackgroundModes contains neither 'audio' nor 'voip': once the person leaves the app, the system suspends \
                it, and no frame arrives; add 'audio', or 'voip' in an app for calls, and keep an audio session active \
                during the broadcast
                """
            problems.append(Problem(.backgroundAudio, message))
        }
        guard let name = facts.main.namedExtension else {
            let message = """
                the Info.plist does not name the broadcast extension: add the entry RTCScreenSharingExtension with the \
                extension's bundle identifier
                """
            return problems + [Problem(.extensionMissing, message)]
        }
        if let identifier = facts.main.identifier, !name.hasPrefix(identifier + ".") {
            let message = """
                RTCScreenSharingExtension is '\(name)': an extension's bundle identifier begins with the app's, \
                '\(identifier).'
                """
            problems.append(Problem(.extensionIdentifier, message))
        }
        guard let embedded = facts.embedded.first(where: { $0.identifier == name }) else {
            let others = facts.embedded.compactMap(\.identifier).sorted().joined(separator: ", ")
            let message = """
                the app's bundle does not contain the extension '\(name)', but \(others.isEmpty ? "none" : others): \
                embed the extension in the app's target, or correct RTCScreenSharingExtension
                """
            return problems + [Problem(.extensionNotEmbedded, message)]
        }
        return problems + problemsOfEmbedded(embedded, name, group: facts.main.group)
    }

    private static func problemsOfEmbedded(_ embedded: BundleEntries, _ name: String, group: String?) -> [Problem] {
        var problems = declarationProblems(in: embedded, named: name)
        if let group, embedded.group != group {
            let other = embedded.group.map { "names the App Group '\($0)'" } ?? "names no App Group"
            let message = """
                the Info.plist of '\(name)' \(other), and the app's '\(group)': give both the same RTCAppGroupIdentifier
                """
            problems.append(Problem(.groupDiffers, message))
        }
        return problems
    }

    /// Returns the problems of an extension's declaration; `name` is nil if the extension checks itself.
    private static func declarationProblems(in entries: BundleEntries, named name: String?) -> [Problem] {
        let list = name.map { "the Info.plist of '\($0)'" } ?? "the Info.plist"
        var problems: [Problem] = []
        func expect(_ value: String?, _ expected: String, _ key: String, _ code: Code) {
            guard value != expected else { return }
            let found = value.map { "'\($0)'" } ?? "missing"
            problems.append(Problem(code, "\(key) in \(list) is \(found): set it to '\(expected)'"))
        }
        let declaration = entries.declaration
        expect(
            declaration?.point,
            "com.apple.broadcast-services-upload",
            "NSExtension.NSExtensionPointIdentifier",
            .extensionPoint
        )
        expect(
            declaration?.processMode,
            "RPBroadcastProcessModeSampleBuffer",
            "NSExtension.RPBroadcastProcessMode",
            .extensionProcessMode
        )
        if declaration?.principalClass == nil {
            let message = """
                NSExtension.NSExtensionPrincipalClass in \(list) is missing: set it to your subclass of SampleHandler, \
                such as $(PRODUCT_MODULE_NAME).SampleHandler
                """
            problems.append(Problem(.extensionClass, message))
        }
        return problems
    }
}
