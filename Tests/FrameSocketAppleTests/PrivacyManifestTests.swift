import Foundation
import Testing

/// What the privacy manifest states, beside what the sources call.
@Suite struct PrivacyManifestTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")

    /// Apple's categories of functions that need a reason, by the names that a Swift or C source may call.
    private static let categories = [
        "FileTimestamp": #"\b(f?getattrlist(bulk|at)?|[fl]?stat|fstatat|(creation|modification)Date)\b"#,
        "SystemBootTime": #"\b(mach_absolute_time|systemUptime)\b"#,
        "DiskSpace": #"\b(f?statv?fs|volumeAvailableCapacity\w*|systemFreeSize|systemSize)\b"#,
        "ActiveKeyboards": #"\bactiveInputModes\b"#,
        "UserDefaults": #"\bUserDefaults\b"#,
    ]

    /// The modules that an app may link.
    private static let modules = [
        "Locking", "TurboJPEG", "FrameWire", "CFrameTransport", "FrameTransport", "FrameSocket", "FrameSocketAudio",
        "FrameSocketApple",
    ]

    private func declared() throws -> [String: [String]] {
        let data = try Data(contentsOf: Self.sources.appending(path: "FrameSocketApple/PrivacyInfo.xcprivacy"))
        let list = try #require(
            try unsafe PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
        )
        #expect(list["NSPrivacyTracking"] as? Bool == false)
        #expect((list["NSPrivacyTrackingDomains"] as? [Any])?.isEmpty == true)
        #expect((list["NSPrivacyCollectedDataTypes"] as? [Any])?.isEmpty == true)
        let types = try #require(list["NSPrivacyAccessedAPITypes"] as? [[String: Any]])
        let pairs = try types.map { type in
            (
                try #require(type["NSPrivacyAccessedAPIType"] as? String),
                try #require(type["NSPrivacyAccessedAPITypeReasons"] as? [String])
            )
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    /// The code of a module, without comments, which may speak of what is not called, and without what is compiled only
    /// on Linux.
    private func code(of module: String) throws -> String {
        let folder = Self.sources.appending(path: module)
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { file in
            [".swift", ".c", ".h"].contains { file.hasSuffix($0) }
        }
        try #require(!files.isEmpty, "\(module)")
        let lines = try files.flatMap { file in
            Self.withoutLinux(
                try String(contentsOf: folder.appending(path: file), encoding: .utf8).split(separator: "\n")
            )
        }
        return lines.filter { line in !line.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
    }

    /// Leaves out what stands between `#if defined(__linux__)` and its `#else` or `#endif`.
    private static func withoutLinux(_ lines: [Substring]) -> [Substring] {
        // The number of conditions that are open within the one for Linux, itself included.
        var depth = 0
        return lines.filter { line in
            if depth == 0 {
                depth = line == "#if defined(__linux__)" ? 1 : 0
            } else if line.hasPrefix("#if") {
                depth += 1
            } else if line.hasPrefix("#endif") || (depth == 1 && line.hasPrefix("#else")) {
                depth -= 1
            }
            return depth == 0
        }
    }

    /// The categories of which the libraries call a function.
    private func called() throws -> Set<String> {
        let code = try Self.modules.map(code(of:)).joined(separator: "\n")
        let found = try Self.categories.filter { try code.contains(Regex($0.value)) }
        return Set(found.keys.map { "NSPrivacyAccessedAPICategory" + $0 })
    }

    @Test func `the manifest names exactly the categories that the sources use`() throws {
        #expect(try Set(declared().keys) == called())
    }

    @Test func `only files in the app's own container and its group's are examined`() throws {
        #expect(try declared()["NSPrivacyAccessedAPICategoryFileTimestamp"] == ["C617.1"])
    }
}
