// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    internal import Foundation
#endif

/// Finds the most common mistakes in the setup of a broadcast, and says how to fix them.
///
/// Most of them cause no error when the broadcast begins: the picker lists no extension, or the extension finds no
/// server. Call `check()` in the app during development, before it shows the picker:
///
/// ```swift
/// for problem in BroadcastSetup.check() { print(problem) }
/// ```
///
/// It checks the App Group, the entries of the Info.plists, the extension in the app's bundle, the length of the
/// socket's path, and background audio.
public enum BroadcastSetup {
    /// A mistake in the setup.
    public struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// The stable name of the kind of mistake, such as `group.notEntitled`.
        public let code: String

        /// A sentence for a person that says what is wrong and how to fix it.
        public let message: String

        /// The message and the code, in one line.
        public var description: String { "\(message) [\(code)]" }

        init(_ code: String, _ message: String) {
            (self.code, self.message) = (code, message)
        }
    }

    /// The keys in an Info.plist that name the App Group and, in the app's, the extension.
    package static let groupKey = "RTCAppGroupIdentifier", extensionKey = "RTCScreenSharingExtension"

    /// The maximum length of a socket's path on Apple systems: `sun_path` without its terminating NUL.
    static let maximumPathBytes = 103

    /// Returns every problem of an app, or of an extension if its list has an entry `NSExtension`.
    ///
    /// `embedded` are the lists of the extensions in the app's bundle; `socketPath` is nil if the process is not entitled
    /// to the group.
    static func problems(in list: [String: Any], embedded: [[String: Any]], socketPath: String?) -> [Problem] {
        let group = groupProblem(in: list, socketPath: socketPath).map { [$0] } ?? []
        let isExtension = list["NSExtension"] is [String: Any]
        return group + (isExtension ? declarationProblems(in: list, "the Info.plist") : appProblems(in: list, embedded))
    }

    /// Returns what is wrong with the App Group, if anything is.
    static func groupProblem(in list: [String: Any], socketPath: String?) -> Problem? {
        guard let group = list.text(groupKey) else {
            let remedy = "add \(groupKey), such as group.com.example.app, to the app and to the extension"
            return Problem("group.missing", "the Info.plist names no App Group: \(remedy)")
        }
        guard group.hasPrefix("group.") else {
            let rule = "the identifier of an App Group begins with 'group.'"
            return Problem("group.malformed", "\(groupKey) is '\(group)': \(rule)")
        }
        guard let path = socketPath else {
            let remedy = "add the capability to the app and to the extension, and sign both with it"
            return Problem("group.notEntitled", "this process has no access to the App Group '\(group)': \(remedy)")
        }
        let excess = path.utf8.count - maximumPathBytes
        guard excess > 0 else { return nil }
        let remedy = "pass a shorter name to socketPath(named:); in the simulator, test on a device"
        return Problem("path.tooLong", "'\(path)' is \(excess) bytes longer than a socket's path can be: \(remedy)")
    }

    private static func appProblems(in list: [String: Any], _ embedded: [[String: Any]]) -> [Problem] {
        var problems: [Problem] = []
        let modes = list["UIBackgroundModes"] as? [String] ?? []
        if !modes.contains("audio"), !modes.contains("voip") {
            let message = """
                UIBackgroundModes has neither 'audio' nor 'voip': once the person leaves the app, no frame arrives; add \
                'audio', or 'voip' in an app for calls, and keep an audio session active during the broadcast
                """
            problems.append(Problem("background.audio", message))
        }
        guard let name = list.text(extensionKey) else {
            let message = "the Info.plist does not name the extension: add \(extensionKey) with its bundle identifier"
            return problems + [Problem("extension.missing", message)]
        }
        if let identifier = list.text("CFBundleIdentifier"), !name.hasPrefix(identifier + ".") {
            let rule = "an extension's bundle identifier begins with the app's, '\(identifier).'"
            problems.append(Problem("extension.identifier", "\(extensionKey) is '\(name)': \(rule)"))
        }
        guard let own = embedded.first(where: { $0.text("CFBundleIdentifier") == name }) else {
            let others = embedded.compactMap { $0.text("CFBundleIdentifier") }.sorted().joined(separator: ", ")
            let what = "the app's bundle does not contain '\(name)', but \(others.isEmpty ? "none" : others)"
            let message = "\(what): embed the extension in the app's target, or correct \(extensionKey)"
            return problems + [Problem("extension.notEmbedded", message)]
        }
        problems += declarationProblems(in: own, "the Info.plist of '\(name)'")
        if let group = list.text(groupKey), own.text(groupKey) != group {
            let other = own.text(groupKey) ?? "missing"
            let message = "\(groupKey) is '\(group)' in the app, and '\(other)' in '\(name)': give both the same"
            problems.append(Problem("group.differs", message))
        }
        return problems
    }

    /// Returns what is wrong with an extension's entry `NSExtension`.
    private static func declarationProblems(in list: [String: Any], _ name: String) -> [Problem] {
        let entries = list["NSExtension"] as? [String: Any] ?? [:]
        func check(_ key: String, _ expected: String, _ code: String, isAny: Bool = false) -> Problem? {
            let value = entries.text(key)
            if value == expected || (isAny && value != nil) { return nil }
            let found = value.map { "'\($0)'" } ?? "missing"
            return Problem(code, "NSExtension.\(key) in \(name) is \(found): set it to '\(expected)'")
        }
        return [
            check("NSExtensionPointIdentifier", "com.apple.broadcast-services-upload", "extension.point"),
            check("RPBroadcastProcessMode", "RPBroadcastProcessModeSampleBuffer", "extension.processMode"),
            check("NSExtensionPrincipalClass", "$(PRODUCT_MODULE_NAME).SampleHandler", "extension.class", isAny: true),
        ].compactMap(\.self)
    }
}

#if canImport(ReplayKit)
    extension BroadcastSetup {
        /// Checks the setup of this process, an app or an extension.
        ///
        /// In an app it also checks the Info.plists of the extensions in the app's bundle. It reads files; call it
        /// during development or in a test, not for every broadcast.
        ///
        /// - Parameter socketName: The socket's name in the group's container.
        /// - Returns: Every problem; empty if none was found, which does not prove that the setup is complete.
        public static func check(socketName: String = AppGroup.socketName) -> [Problem] {
            let folder = Bundle.main.builtInPlugInsPath
            let names = folder.flatMap { try? FileManager.default.contentsOfDirectory(atPath: $0) } ?? []
            let lists = names.filter { $0.hasSuffix(".appex") }.sorted()
                .compactMap { Bundle(path: "\(folder ?? "")/\($0)")?.infoDictionary }
            let path = AppGroup.main?.socketPath(named: socketName)
            return problems(in: Bundle.main.infoDictionary ?? [:], embedded: lists, socketPath: path)
        }

        /// What is wrong with the App Group of an extension that has no path.
        static var mistakeWithoutPath: String {
            groupProblem(in: Bundle.main.infoDictionary ?? [:], socketPath: nil)?.message ?? "there is no socket"
        }
    }
#endif

extension [String: Any] {
    /// The text of an entry; nil if it is missing, empty, or no text.
    fileprivate func text(_ key: String) -> String? {
        (self[key] as? String).flatMap { $0.isEmpty ? nil : $0 }
    }
}
