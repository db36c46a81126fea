import Foundation
import TestDescriptions
import Testing

@testable import FrameSocketTool

/// Names and foreign texts in messages for people: nothing in them reaches a terminal as a command.
@Suite(.serialized) struct VisibleTextTests {
    @Test(arguments: [
        ("plain é 漢 👍", "plain é 漢 👍"), ("", ""), ("a\u{1B}[31mb", "a\\x1B[31mb"), ("\0\t\n\r", "\\x00\\x09\\x0A\\x0D"),
        ("\r\n", "\\x0D\\x0A"), ("\u{7F}\u{80}\u{9B}\u{9F}\u{A0}", "\\x7F\\u0080\\u009B\\u009F\u{A0}"),
        ("\u{202A}\u{202E}\u{202F}", "\\u202A\\u202E\u{202F}"), ("\u{2065}\u{2066}\u{2069}", "\u{2065}\\u2066\\u2069"),
        ("e\u{301}\u{202E}", "e\u{301}\\u202E"),
    ])
    func `what a terminal obeys is shown, and everything else stays`(text: String, shown: String) {
        #expect(text.visible.unicodeScalars.elementsEqual(shown.unicodeScalars))
    }

    /// A file name that colors, erases, begins a line and turns the direction of what follows.
    private static let name = "x\u{1B}[31m\r\n\u{7F}\u{9B}2J\u{202E}\u{2066}"
    private static let shown = "x\\x1B[31m\\x0D\\x0A\\x7F\\u009B2J\\u202E\\u2066"

    /// Commands that name the file `$N` in an error, with their exit codes.
    @Test(arguments: [
        (65, "echo text >\"$N.jpg\"; $F send $S \"$D/$N.jpg\""), (65, "echo text >\"$N.jpg\"; $F send $S $D $D --json"),
        (66, "$F send $S \"$D/$N\""), (66, "$F replay $S \"$D/$N\""), (64, "$F receive $D/t \"--$N\""),
        (64, "$F \"$N\""),
        (64, "$F help \"$N\""), (69, "$F send \"$D/$N\" $X/jpeg --wait 0.1"), (73, ": >\"$N\"; $F receive \"$D/$N\""),
        (73, ": >\"$N\"; $F doctor \"$D/$N\""),
        (0, "$F receive \"$D/$N\" --count 1 & $F send \"$D/$N\" $X/jpeg/chelsea-420.jpg --wait 60 --quiet; wait $!"),
        (64, "$F send $S \"$N$(printf '\\377')\""),
    ])
    func `a name in a message reaches the terminal as text`(code: Int32, command: String) async throws {
        let place = try Workplace()
        _ = try await place.receiver("--json")
        let name = try place.file("name", Array(Self.name.utf8))
        let ending = try await place.shell("cd $D; N=$(cat \(name)); \(command)").ended()
        #expect(ending.status == code && ending.errors.contains(Self.shown), "\(ending)")
        for text in [ending.errors, ending.text] {
            let hidden = text.unicodeScalars.filter { $0 != "\n" && String($0).visible != String($0) }
            #expect(hidden.isEmpty || command.contains("--json"), "\(ending)")
            #expect(!hidden.contains("\u{1B}") && !hidden.contains("\u{9B}"), "\(ending)")
        }
        if command.contains("--json") {
            #expect(try ending.events("error").first?.text("message")?.contains(Self.name) == true, "\(ending)")
        }
    }
}
