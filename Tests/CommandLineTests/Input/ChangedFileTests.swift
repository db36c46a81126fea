import Foundation
import TestSupport
import Testing

/// Files that are replaced while `send --loop` sends them.
@Suite struct ChangedFileTests {
    @Test(arguments: [1, 2], [[], ["--passthrough"]])
    func `a file that is replaced is read again, whether it is the only one or not`(
        count: Int,
        options: [String]
    ) async throws {
        let place = try Workplace()
        let cat = try Data.bytes(at: Places.fixture("jpeg/chelsea-420.jpg"))
        let files = try (0..<count).map { try place.file("\($0).jpg", cat) }
        _ = try place.file("new.jpg", Data.bytes(at: Places.fixture("jpeg/phone-563x1219.jpg")))
        let receiver = try await place.receiver("--json")
        _ = try place.framesocket(
            ["send", place.socket] + files + ["--loop", "0", "--fps", "50", "--quiet"] + options
        )
        try await receiver.printed(#""width":451"#)
        try await place.shell("mv $D/new.jpg $D/0.jpg").ended(0)
        try await receiver.printed(#""width":563"#)
    }

    @Test func `what is no image any more is refused, although it was one`() async throws {
        let place = try Workplace()
        let file = try place.file("0.jpg", Data.bytes(at: Places.fixture("jpeg/chelsea-420.jpg")))
        // A JPEG that states a size, and has nothing behind it.
        _ = try place.file("new.jpg", HandmadeJPEG.header(width: 8, height: 8))
        let receiver = try await place.receiver("--json")
        let sender = try place.framesocket(["send", place.socket, file, "--passthrough", "--loop", "0", "--fps", "50"])
        try await receiver.printed(#""width":451"#)
        try await place.shell("mv $D/new.jpg $D/0.jpg").ended(0)
        await sender.ended(65, "0.jpg: ")
    }
}
