import Foundation
import FrameSocket
import TestDescriptions
import Testing

@testable import FrameSocketApple

/// The rules of `BroadcastSetup.check()`, on property lists as Xcode writes them.
@Suite struct BroadcastSetupTests {
    private static let app = """
        <key>CFBundleIdentifier</key><string>com.example.app</string>
        <key>RTCAppGroupIdentifier</key><string>group.com.example.app</string>
        <key>RTCScreenSharingExtension</key><string>com.example.app.broadcast</string>
        <key>UIBackgroundModes</key><array><string>voip</string><string>audio</string></array>
        """

    private static let upload = """
        <key>CFBundleIdentifier</key><string>com.example.app.broadcast</string>
        <key>RTCAppGroupIdentifier</key><string>group.com.example.app</string>
        <key>NSExtension</key><dict>
            <key>NSExtensionPointIdentifier</key><string>com.apple.broadcast-services-upload</string>
            <key>NSExtensionPrincipalClass</key><string>broadcast.SampleHandler</string>
            <key>RPBroadcastProcessMode</key><string>RPBroadcastProcessModeSampleBuffer</string>
        </dict>
        """

    /// The path on a device.
    private static let path =
        "/private/var/mobile/Containers/Shared/AppGroup/00000000-0000-0000-0000-000000000000/rtc_SSFD"

    private func entries(_ text: String) throws -> [String: Any] {
        let list = """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0"><dict>\(text)</dict></plist>
            """
        let value = try unsafe PropertyListSerialization.propertyList(from: Data(list.utf8), format: nil)
        return try #require(value as? [String: Any])
    }

    private func problems(
        _ main: String,
        _ embedded: [String] = [],
        at path: String? = Self.path
    ) throws -> [BroadcastSetup.Problem] {
        BroadcastSetup.problems(in: try entries(main), embedded: try embedded.map(entries), socketPath: path)
    }

    @Test func `a complete setup has no problems, seen from the app and from the extension`() throws {
        #expect(try problems(Self.app, [Self.upload]) == [])
        #expect(try problems(Self.upload) == [])
    }

    /// What is replaced in the app's property list and by what, and the codes that are found.
    private static let apps: [(String, String, [String])] = [
        ("<key>RTCAppGroupIdentifier</key>", "<key>AppGroup</key>", ["group.missing"]),
        ("<string>group.com.example.app</string>", "<string></string>", ["group.missing"]),
        ("<string>group.com.example.app</string>", "<integer>1</integer>", ["group.missing"]),
        ("group.com.example.app", "com.example.app", ["group.malformed", "group.differs"]),
        ("group.com.example.app", "group.other", ["group.differs"]),
        ("<key>RTCScreenSharingExtension</key>", "<key>Extension</key>", ["extension.missing"]),
        ("com.example.app.broadcast", "com.example.app.upload", ["extension.notEmbedded"]),
        ("com.example.app.broadcast", "com.example.broadcast", ["extension.identifier", "extension.notEmbedded"]),
        ("com.example.app.broadcast", "com.example.application", ["extension.identifier", "extension.notEmbedded"]),
        ("<string>voip</string><string>audio</string>", "<string>fetch</string>", ["background.audio"]),
        // One of the two is enough.
        ("<string>voip</string>", "", []),
        ("<string>audio</string>", "", []),
        ("<key>UIBackgroundModes</key>", "<key>BackgroundModes</key>", ["background.audio"]),
        ("<array><string>voip</string><string>audio</string></array>", "<string>audio</string>", ["background.audio"]),
    ]

    @Test(arguments: apps.map { (Short($0), $1, $2) })
    func `each mistake in the app is found`(_ text: Short, _ other: String, _ codes: [String]) throws {
        let app = Self.app.replacingOccurrences(of: text.text, with: other)
        try #require(app != Self.app)
        #expect(try problems(app, [Self.upload]).map(\.code) == codes)
    }

    /// What is replaced in the extension's property list and by what, and the codes that app and extension find.
    private static let uploads: [(String, String, app: [String], itself: [String])] = [
        ("broadcast-services-upload", "broadcast-services-setupui", ["extension.point"], ["extension.point"]),
        ("SampleBuffer</string>", "MP4Clip</string>", ["extension.processMode"], ["extension.processMode"]),
        ("<key>RPBroadcastProcessMode</key>", "<key>Mode</key>", ["extension.processMode"], ["extension.processMode"]),
        ("<key>NSExtensionPrincipalClass</key>", "<key>Class</key>", ["extension.class"], ["extension.class"]),
        ("group.com.example.app", "group.other", ["group.differs"], []),
        ("<key>RTCAppGroupIdentifier</key>", "<key>AppGroup</key>", ["group.differs"], ["group.missing"]),
        // What an extension's list holds is seen by the app alone if it does not even say that it is one.
        (
            "NSExtension<", "Extension<",
            ["extension.point", "extension.processMode", "extension.class"], ["background.audio", "extension.missing"]
        ),
    ]

    @Test(arguments: uploads)
    func `each mistake in the extension is found by the app, and by the extension if it can see it`(
        _ text: String,
        _ other: String,
        app: [String],
        itself: [String]
    ) throws {
        let upload = Self.upload.replacingOccurrences(of: text, with: other)
        try #require(upload != Self.upload)
        #expect(try problems(Self.app, [upload]).map(\.code) == app)
        #expect(try problems(upload).map(\.code) == itself)
    }

    /// What an extension's Info.plist names, and what its alert then says.
    private static let groups = [
        ("<key>RTCAppGroupIdentifier</key>", "<key>AppGroup</key>", "names no App Group"),
        (">group.com.example.app<", ">com.example.app<", "begins with 'group.'"),
        ("", "", "no access to the App Group 'group.com.example.app'"),
    ]

    @Test(arguments: groups)
    func `an extension without a path says what is wrong with its group`(
        _ text: String,
        _ other: String,
        expected: String
    )
        throws
    {
        let list = text.isEmpty ? Self.upload : Self.upload.replacingOccurrences(of: text, with: other)
        let problem = BroadcastSetup.groupProblem(in: try entries(list), socketPath: nil)
        let sentence = BroadcastEnd(.noHost, mistake: problem?.message).description
        #expect(sentence.hasPrefix("Screen sharing is not set up correctly: ") && sentence.contains(expected))
    }

    @Test func `an app without its extension is told what its bundle contains`() throws {
        let other = Self.upload.replacingOccurrences(of: "app.broadcast", with: "app.share")
        #expect(try problems(Self.app).map(\.code) == ["extension.notEmbedded"])
        #expect(try problems(Self.app, [other]).first?.message.contains("but com.example.app.share:") == true)
        #expect(try problems(Self.app, [other, Self.upload]) == [])
    }

    @Test(arguments: [Self.app, Self.upload])
    func `a process without access to its group is told so`(_ list: String) throws {
        let found = try problems(list, [Self.upload], at: nil)
        #expect(found.map(\.code) == ["group.notEntitled"])
        #expect(found.first?.message.contains("'group.com.example.app'") == true)
    }

    @Test(arguments: [(103, nil), (104, 1), (160, 57)] as [(Int, Int?)])
    func `a path must fit into a socket's address`(count: Int, excess: Int?) throws {
        // Two bytes of UTF-8 each: bytes are counted, and not characters.
        let path = "/" + String(repeating: "é", count: (count - 1) / 2) + String(repeating: "a", count: (count - 1) % 2)
        try #require(path.utf8.count == count)
        let found = try problems(Self.app, [Self.upload], at: path)
        #expect(found.map(\.code) == (excess == nil ? [] : ["path.tooLong"]))
        guard let excess else { return }
        let message = found.first?.message ?? ""
        #expect(message.contains("is \(excess) bytes longer") && message.contains("in the simulator"))
    }

    @Test func `every message says what to change and ends with its code`() throws {
        let empty = "<key>NSExtension</key><dict/>"
        let found = try problems("", [empty], at: nil) + problems(empty)
        #expect(found.count == 7)
        for problem in found {
            #expect(problem.message.contains(":") && !problem.message.hasSuffix("."))
            #expect("\(problem)".hasSuffix(" [\(problem.code)]"))
        }
    }
}
