import Foundation
import TestSupport
import Testing

/// What people get wrong at a terminal, and what they are told.
@Suite(.serialized) struct MistakeTests {
    private let place = Workplace.new
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    @Test(arguments: [
        ("receive $S --mjpeg", "output"), ("receive $S --raw bgra", "output"), ("send $S -", "input"),
        ("replay $S -", "input"),
    ])
    func `frames are neither written to a terminal nor read from one`(words: String, stream: String) async throws {
        let command = "\(Places.framesocket) \(words.replacing("$S", with: place.socket))"
        let ending = try await place.start(Places.tool("script"), ["-qec", command, "/dev/null"]).ended()
        #expect(ending.status == 64 && ending.text.contains("standard \(stream) is a terminal"), "\(ending)")
    }

    @Test func `a terminal that can do nothing is shown no progress`() async throws {
        let command = "TERM=dumb \(Places.framesocket) receive \(place.socket) --timeout 2"
        let ending = try await place.start(Places.tool("script"), ["-qec", command, "/dev/null"]).ended()
        #expect(ending.status == 75 && !ending.text.contains("\r\u{1B}[K"), "\(ending)")
    }

    #if os(Linux)
        @Test(.needs("setpriv"), .enabled(if: geteuid() == 0, "only root can become another user"))
        func `a file that may not be reached is not called missing`() async throws {
            try await place.shell(
                """
                mkdir -m 700 $D/closed; cp \(jpeg) $D/closed/a.jpg; chmod 755 $D; cp $F $D/program
                setpriv --reuid 65534 --regid 65534 --clear-groups $D/program send $D/t $D/closed/a.jpg
                """
            ).ended(66, "closed/a.jpg: Permission denied")
        }
    #endif

    @Test func `--timeout without --count is a success once a frame has arrived`() async throws {
        // A machine that is busy may need longer to start a sender.
        for seconds in [1, 5, 25] {
            let receiver = try await place.receiver("--timeout", "\(seconds)", "--json")
            let sender = try place.framesocket(["send", place.socket, jpeg, "--quiet"])
            let ending = await receiver.ended()
            sender.kill()
            guard try !ending.events("frame").isEmpty else {
                #expect(ending.status == 75, "\(ending)")
                continue
            }
            #expect(ending.status == 0, "\(ending)")
            return
        }
        Issue.record("no frame arrived in time")
    }

    @Test func `both ends count the same bytes of a padded frame`() async throws {
        let png = HandmadePNG(width: 16, height: 16, kind: .gray, depth: 8) { _, _, _ in 128 }
        let small = try place.file("small.png", png.bytes)
        let receiver = try await place.receiver("--count", "1")
        let sent = try await place.send(small, "--json")
        let received = await receiver.ended()
        let bytes = try #require(try sent.events("sent").first?["bytes"])
        #expect(bytes < 10_240 && received.errors.contains("1 frame from 1 sender, \(bytes) B"), "\(received)")
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
        #expect(try await receiver.ended(by: .terminate).events("frame").count == 3)
    }

    @Test(arguments: [("list", 0), ("stale", 65)])
    func `images that the first one lists belong to it, unless they are not there`(kind: String, status: Int32)
        async throws
    {
        let file = place.path("x")
        try await place.script("make_jpeg", kind, Places.fixture("photos/chelsea-451x300.png"), file)
        if status > 0 { _ = try place.file("x", Data.bytes(at: file) + Data.bytes(at: file)) }
        let receiver = try await place.receiver("--json")
        let ending = try await place.send(file).checked(status)
        #expect(ending.errors.contains("only the first image of 1 file was sent") == (status > 0), "\(ending)")
        #expect(try await receiver.ended(by: .terminate).events("frame").count == 1)
    }

    // MARK: JPEGs that receivers refuse

    private let progressive = Places.fixture("jpeg/chelsea-progressive.jpg")

    @Test func `progressive JPEGs are passed through only with --force, and decoded with --allow-progressive`()
        async throws
    {
        let strict = try await place.receiver("--json", "--decode")
        try await place.send(progressive, "--passthrough", "--force").checked(0)
        try await strict.lines(4)
        #expect(
            try await strict.ended(by: .terminate).events.map(\.name) == ["listening", "connected", "error", "closed"]
        )
        let receiver = try await place.receiver("--json", "--decode", "--allow-progressive", "--count", "2")
        let refused = try await place.send(progressive, "--passthrough").checked(65, ["progressive.jpg: "])
        #expect(refused.errors.contains("--force") && !refused.errors.contains("limits"), "\(refused)")
        try await place.send(progressive, "--passthrough", "--force").checked(0)
        // Encoded again it is any receiver's.
        try await place.send(progressive).checked(0)
        let ending = await receiver.ended()
        let errors = try ending.events("error")
        #expect(ending.status == 0 && errors.isEmpty, "\(ending)")
    }

    /// What cameras and programs write behind the end of a JPEG.
    @Test(arguments: [[0xFF, 0xD8, 0xFF], [UInt8](repeating: 0, count: 20_000)], [[], ["--force"]])
    func `whatever follows a JPEG's end is left out`(tail: [UInt8], options: [String]) async throws {
        let followed = try place.file("followed.jpg", Data.bytes(at: jpeg) + tail)
        let receiver = try await place.receiver("--count", "1", "--decode", "--output", place.path("out"))
        let sending = ["send", place.socket, followed, "--passthrough", "--no-padding"]
        try await place.framesocket(sending + options).ended(0)
        await receiver.ended(0)
        #expect(try Data.bytes(at: place.path("out/frame-000000.jpg")) == Data.bytes(at: jpeg))
    }
}
