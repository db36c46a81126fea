import Foundation
import FrameSocketTesting
import TestDescriptions
import Testing

/// What `framesocket send` does with a file that holds more than one image, or something behind the first.
@Suite(.serialized) struct SendSeveralImagesTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    /// Sends what a shell writes to `$D/x`, with options, and gives the ending and the number of frames that came.
    private func send(_ making: String, _ arguments: String) async throws -> (ending: Ending, frames: Int) {
        let receiver = try await place.receiver("--json")
        let ending = try await place.shell("(\(making)) >$D/x && $F send $S \(arguments) --json").ended()
        try await receiver.printed(#""event":"closed""#)
        receiver.send(.interrupt)
        return (ending, try await receiver.ended().events("frame").count)
    }

    private static let ffmpeg = "ffmpeg -nostdin -loglevel error -f lavfi -i testsrc=size=64x48:rate=25 -frames:v 25"
    private static let photo = "$X/jpeg/chelsea-420.jpg"

    /// What writes the file, and what sends all of it.
    private static let several: [(making: String, remedy: String)] = [
        ("\(ffmpeg) -f mjpeg -", "framesocket send PATH - < "),
        ("\(ffmpeg) -f image2pipe -c:v png -", "ffmpeg -f image2pipe -c:v png -i "),
        ("cat \(photo); head -c 20000 /dev/zero; cat \(photo)", "framesocket send PATH - < "),
        ("cat \(photo); printf '\\001\\002'; cat \(photo)", "framesocket send PATH - < "),
        ("cat $X/jpeg/chelsea-exif-6.jpg \(photo)", "framesocket send PATH - < "),
    ]

    @Test(arguments: several.map { (Short($0.making), $0.remedy) }, ["", "--passthrough"])
    func `the first image of several is sent, and the rest is reported with the command that sends all`(
        file: (making: Short, remedy: String),
        options: String
    ) async throws {
        guard options.isEmpty || file.remedy.hasPrefix("framesocket") else { return }
        let (ending, frames) = try await send(file.making.text, "$D/x --loop 3 \(options)")
        #expect(ending.status == 65 && frames == 3, "\(ending)")
        let errors = try ending.events("error")
        #expect(errors.count == 1 && errors.first?.text("code") == "file.unfit", "\(ending)")
        let message = errors.first?.text("message") ?? ""
        #expect(message.contains("\(file.remedy)\(place.path("x"))"), "\(ending)")
        #expect(ending.errors.contains("only the first image of 1 file was sent"), "\(ending)")
    }

    @Test func `the same on standard input that is named as a file`() async throws {
        let (ending, frames) = try await send("\(Self.ffmpeg) -f mjpeg -", "/dev/stdin <$D/x")
        #expect(ending.status == 65 && frames == 1 && ending.errors.contains("PATH - < /dev/stdin"), "\(ending)")
    }

    @Test func `each file of several is reported once, and all are sent`() async throws {
        let (ending, frames) = try await send(
            "cat \(Self.photo) \(Self.photo)",
            "$D/x \(Self.photo) $D/x --loop 2"
        )
        #expect(ending.status == 65 && frames == 6, "\(ending)")
        #expect(try ending.events("error").count == 1, "\(ending)")
        #expect(ending.errors.contains("only the first image of 1 file was sent"), "\(ending)")
    }

    @Test func `images that the first one lists belong to it`() async throws {
        try await place.script("make_jpeg", "list", Places.fixture("photos/chelsea-451x300.png"), place.path("list"))
        let (ending, frames) = try await send("cat $D/list", "$D/x")
        #expect(ending.status == 0 && frames == 1, "\(ending)")
    }

    @Test func `a photo behind one that lists images which are not there is reported`() async throws {
        try await place.script("make_jpeg", "stale", Places.fixture("photos/chelsea-451x300.png"), place.path("stale"))
        let (ending, frames) = try await send("cat $D/stale $D/stale", "$D/x")
        #expect(ending.status == 65 && frames == 1, "\(ending)")
        #expect(ending.errors.contains("only the first image of 1 file was sent"), "\(ending)")
    }

    @Test func `a file whose first image cannot be sent is not said to be sent in part`() async throws {
        let (ending, frames) = try await send("printf '\\377\\330'; cat \(Self.photo)", "$D/x")
        #expect(ending.status == 65 && frames == 0, "\(ending)")
        #expect(ending.errors.contains("another image begins at byte 2; send all of them with "), "\(ending)")
        #expect(!ending.errors.contains("only the first image"), "\(ending)")
    }

    @Test(arguments: ["two $(touch owned).jpg", "it's two.jpg"])
    func `the command that is named can be given to a shell`(name: String) async throws {
        let photo = try Data.bytes(at: Places.fixture("jpeg/chelsea-420.jpg"))
        _ = try place.file(name, photo + photo)
        let receiver = try await place.receiver("--json")
        let sent = try await place.framesocket(["send", place.socket, place.path(name)]).ended()
        let line = try #require(sent.errors.split(separator: "\n").first { $0.contains("send all of them with ") })
        let command = try #require(line.components(separatedBy: "send all of them with framesocket send PATH ").last)
        let ending = try await place.shell("cd $D; $F send $S \(command)").ended()
        #expect(ending.status == 0, "\(line): \(ending)")
        let names = try place.names(in: ".")
        #expect(!names.contains("owned"))
        receiver.send(.interrupt)
        #expect(try await receiver.ended().events("frame").count == 3)
    }

    /// What may stand behind an image and is none.
    @Test(
        arguments: [
            "cat \(photo); head -c 20000 /dev/zero", "cat \(photo); printf 'text\\nP5'",
            "cat \(photo); head -c 3000 \(photo) | tail -c 2900",
            "cat \(photo); printf '\\377\\330\\377\\331\\377\\330\\377'",
            "cat $X/photos/chelsea-451x300.png; head -c 5000 /dev/zero; echo junk",
        ].map { Short($0) }
    )
    func `padding and junk behind an image are no further image`(making: Short) async throws {
        let (ending, frames) = try await send(making.text, "$D/x")
        #expect(ending.status == 0 && frames == 1, "\(ending)")
        #expect(try ending.events("error").isEmpty)
    }
}
