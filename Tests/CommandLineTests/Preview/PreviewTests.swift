import Foundation
import FrameSocketTesting
import TestSupport
import Testing

/// `framesocket preview` as programs see it that speak HTTP.
@Suite(.serialized) struct PreviewTests {
    private let place: Workplace
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")
    private let gray = Places.fixture("jpeg/chelsea-gray.jpg")

    init() throws {
        place = try Workplace()
    }

    @Test func `only a page, a snapshot, a stream and a state are served`() async throws {
        let site = try await PreviewSite(place)
        #expect(try await site.get("/").text("content-type") == "text/html; charset=utf-8")
        #expect(try await site.get("/").text("text")?.contains("<title>FrameSocket preview</title>") == true)
        #expect(try await site.get("/snapshot.jpg")["status"] == 404)
        let empty = try await site.state()
        #expect(empty.state == "none" && empty.path == place.socket && empty.senders == 0 && empty.width == nil)
        #expect(empty.maximumViewers == 16)

        let sender = try site.sender(showing: jpeg)
        let state = try await site.state { $0.frames == 1 }
        #expect(state.state == "live" && state.senders == 1 && state.connection == 1)
        #expect(state.pid != nil && state.uid == Int(getuid()))
        #expect(state.width == 451 && state.height == 300 && state.orientation == 1)
        #expect(state.bytes == 35_042 && state.missing == 0 && state.superseded == 0 && state.undecodable == 0)
        #expect(state.latency != nil && state.age != nil)
        let snapshot = try await site.get("/snapshot.jpg")
        #expect(snapshot["status"] == 200 && snapshot.text("content-type") == "image/jpeg")
        #expect(try await snapshot.text("sha256") == place.digest(jpeg))
        #expect(try await site.get("/snapshot.jpg", "--method", "HEAD")["bytes"] == 0)
        #expect(try await site.get("/snapshot.jpg", "--method", "DELETE")["status"] == 405)
        // A body is read and ignored.
        #expect(try await site.get("/snapshot.jpg", "--method", "POST", "--body", "200000")["status"] == 405)
        #expect(try await site.get("/state", "--body", "1")["status"] == 200)
        #expect(try await site.get("/../etc/passwd")["status"] == 404)

        sender.kill()
        let left = try await site.state { $0.state == "none" }
        #expect(left.width == nil && left.lastEnd != nil)
        #expect(try await site.get("/snapshot.jpg")["status"] == 404)
    }

    @Test func `padding is not counted`() async throws {
        let site = try await PreviewSite(place)
        let small = HandmadeJPEG.plain(width: 16, height: 16)
        try #require(small.count < 2_000)
        try site.sender().write(small)
        let state = try await site.state { $0.frames == 1 }
        #expect(state.bytes == small.count)
        // Half a second is the least that a rate covers.
        #expect(try #require(state.bytesPerSecond) <= 2 * small.count)
    }

    @Test func `of several senders the named one is shown, or the latest if none is named`() async throws {
        let site = try await PreviewSite(place)
        let first = try site.sender(showing: jpeg)
        try await site.state { $0.frames == 1 }
        let phone = Places.fixture("jpeg/phone-563x1219.jpg")
        try site.sender(showing: phone)
        let latest = try await site.state { $0.connection == 2 && $0.width == 563 }
        #expect(latest.choices.map(\.connection) == [1, 2] && latest.choices.map(\.width) == [451, 563])
        #expect(Set(latest.choices.map(\.pid)).count == 2)

        #expect(try await site.state(of: 1).width == 451)
        #expect(try await site.state(of: 2).width == 563)
        #expect(try await site.get("/snapshot.jpg?sender=1").text("sha256") == place.digest(jpeg))
        #expect(try await site.get("/snapshot.jpg?sender=2").text("sha256") == place.digest(phone))
        #expect(try await site.get("/snapshot.jpg").text("sha256") == place.digest(phone))
        // Its only image, twice as of every still screen, and the end when its sender goes; the latest goes on.
        let viewer = try await site.viewer("--path", "/stream?number=7&sender=1")
        let other = try await site.viewer()
        try await viewer.lines(3)
        try await other.lines(3)
        first.kill()
        let ending = await viewer.ended()
        #expect(ending.status == 0, "\(ending)")
        #expect(try ending.events.last?.name == "end")
        #expect(try await ending.events("part").map { $0.text("sha256") } == [place.digest(jpeg), place.digest(jpeg)])
        try await site.state { $0.senders == 1 && $0.viewers == 1 }
        other.kill()
        #expect(
            try await other.ended().events("part").map { $0.text("sha256") } == [
                place.digest(phone), place.digest(phone),
            ]
        )
        #expect(try await site.get("/state?sender=1")["status"] == 404)
        #expect(try await site.get("/?sender=1")["status"] == 200)
    }

    @Test func `every image of a slow sender is in the stream, and the last one of a still screen twice`()
        async throws
    {
        let site = try await PreviewSite(place)
        let names = ["420", "422", "444", "gray"].map { "chelsea-\($0).jpg" }
        let viewer = try await site.viewer()
        let sender = try site.sender()
        for (index, name) in names.enumerated() {
            sender.write(try Data.bytes(at: Places.fixture("jpeg/\(name)")))
            // The next one is sent when this one has been seen twice.
            try await viewer.lines(3 + 2 * index)
        }
        viewer.kill()
        let parts = try await viewer.ended().events("part").map { $0.text("sha256") }
        let digests = try await names.asyncMap { try await place.digest(Places.fixture("jpeg/\($0)")) }
        #expect(parts == digests.flatMap { [$0, $0] })
    }

    @Test func `a viewer that reads nothing delays no other, and then sees the latest image`() async throws {
        let site = try await PreviewSite(place)
        let slow = try await site.viewer(
            "--room",
            "4096",
            "--pause-until",
            place.path("go"),
            "--until",
            place.digest(gray)
        )
        let quick = try await site.viewer("--until", place.digest(gray))
        // 200 images of 105 kB: much more than the system's buffers hold.
        let screen = try Data.bytes(at: Places.fixture("jpeg/phone-563x1219.jpg"))
        let sender = try site.sender()
        for _ in 0..<200 { sender.write(screen) }
        sender.write(try Data.bytes(at: gray))
        let seen = await quick.ended()
        #expect(seen.status == 0, "\(seen)")
        let state = try await site.state { $0.width == 451 && $0.viewers == 1 }
        #expect((state.frames ?? 0) + (state.superseded ?? 0) == 201)
        // Those that were superseded are not gaps in the sender's numbers as well.
        #expect(state.missing == 0)
        _ = try place.file("go", [])
        let ending = await slow.ended()
        #expect(ending.status == 0, "\(ending)")
        let count = try ending.events("part").count
        #expect(count < 100, "\(count) images waited for a viewer that read nothing")
        #expect(try await ending.events("part").last?.text("sha256") == place.digest(gray))
    }

    @Test func `no more viewers are admitted than allowed, and a place is free again when one leaves`()
        async throws
    {
        let site = try await PreviewSite(place, "--viewers", "2")
        let first = try await site.viewer()
        _ = try await site.viewer()
        #expect(try await site.state().viewers == 2)
        let refused = try await site.get("/stream")
        #expect(refused["status"] == 503 && refused.text("retry-after") == "5")
        #expect(refused.text("text")?.contains("2 viewers") == true)
        // One that waits for a first image is not written to, and is missed all the same.
        first.kill()
        try await site.state { $0.viewers == 1 }
        let third = try await site.viewer()
        let sender = try site.sender(showing: jpeg)
        try await third.lines(3)
        sender.kill()
        try await site.state { $0.senders == 0 }
        // And so is one whose sender has left.
        third.kill()
        try await site.state { $0.viewers == 1 }
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root can look as somebody else"),
        arguments: ["127.0.0.1:0"] + (hasVersion6 ? ["[::1]:0"] : [])
    )
    func `other users of the machine see nothing without --http-open`(address: String) async throws {
        let site = try await PreviewSite(place, http: address)
        for path in ["/", "/state", "/snapshot.jpg", "/stream"] {
            let answer = try await site.get(path, user: 65_534)
            #expect(answer["status"] == 403)
            #expect(answer.text("text")?.contains("--http-open") == true)
        }
        #expect(try await site.get("/state")["status"] == 200)
        site.program.send(.terminate)
        #expect(await site.program.ended().status == 130)
        let open = try await PreviewSite(place, "--http-open", http: address)
        #expect(try await open.get("/state", user: 65_534)["status"] == 200)
    }

    @Test(arguments: ["0.0.0.0:0"] + (hasVersion6 ? ["[::1]:0", "[::]:0"] : []))
    func `other addresses are served with --http-open`(address: String) async throws {
        let site = try await PreviewSite(place, "--http-open", "--http-name", "studio", http: address)
        #expect(try await site.state().state == "none")
        #expect(try await site.get("/state", "--field", "Host: studio:8080")["status"] == 200)
        #expect(try await site.get("/state", "--field", "Host: evil.example")["status"] == 421)
    }

    @Test(arguments: Program.Signal.allCases)
    func `a signal ends the viewers' streams in an orderly way, and leaves nothing behind`(signal: Program.Signal)
        async throws
    {
        let site = try await PreviewSite(place)
        let viewer = try await site.viewer()
        let idle = try await site.viewer("--pause-until", place.path("never"))
        let sender = try site.sender(showing: jpeg)
        try await viewer.lines(2)
        site.program.send(signal)
        let ending = await site.program.ended()
        #expect(ending.status == 130, "\(ending)")
        #expect(ending.errors == "")
        let seen = await viewer.ended()
        #expect(seen.status == 0, "\(seen)")
        #expect(try seen.events.last?.name == "end")
        #expect(try place.names() == [])
        idle.kill()
        sender.kill()
    }

    @Test func `a port in use is reported, and leaves nothing at the path`() async throws {
        let site = try await PreviewSite(place)
        let port = try #require(URL(string: site.url)?.port)
        let other = try place.framesocket(["preview", place.path("t"), "--http", "127.0.0.1:\(port)", "--json"])
        let ending = await other.ended()
        #expect(ending.status == 69, "\(ending)")
        #expect(ending.errors.contains("127.0.0.1:\(port): Address already in use"))
        #expect(try place.names().contains("t") == false)
    }

    @Test func `a JPEG's own orientation is left out`() async throws {
        let site = try await PreviewSite(place)
        try site.sender(showing: Places.fixture("jpeg/chelsea-exif-6.jpg"))
        let state = try await site.state { $0.frames == 1 }
        #expect(state.width == 300 && state.height == 451)
        #expect(try await site.get("/snapshot.jpg", "--output", place.path("seen.jpg"))["status"] == 200)
        // As browsers do, ffmpeg turns an image as its Exif data say: here it has none, and the pixels are the same.
        let size = try await place.run("ffprobe", "-v", "error", "-show_streams", place.path("seen.jpg"))
        #expect(String(decoding: size, as: UTF8.self).contains("width=300\nheight=451\n"))
        let bytes = try Data.bytes(at: place.path("seen.jpg"))
        #expect(bytes.count < 35_027 && Data(bytes).range(of: Data("Exif".utf8)) == nil)
        let original = try await place.djpeg(Places.fixture("jpeg/chelsea-exif-6.jpg"))
        #expect(try await place.djpeg(place.path("seen.jpg")) == original)
    }

    @Test func `an invalid image is counted and not shown`() async throws {
        let site = try await PreviewSite(place)
        let good = try Data.bytes(at: jpeg)
        let text = Array(String(repeating: "no image ", count: 1_000).utf8)
        let sender = try PeerSocket.connected(to: place.socket)
        // A damaged image is found out when it is turned, which it is for those who look.
        _ = try await site.viewer()
        // Good, no JPEG, and one whose second half is missing, which has to be turned.
        for (index, body) in [good, text, Array(good.prefix(17_000))].enumerated() {
            try await sender.write(PeerMessage.frame(body, width: 451, height: 300, orientation: 6).bytes)
            try await site.state { $0.frames == index + 1 }
        }
        let state = try await site.state()
        #expect(state.undecodable == 2 && state.state == "live")
        #expect(state.width == 300 && state.height == 451)
        #expect(try await site.get("/snapshot.jpg")["status"] == 200)
        withExtendedLifetime(sender) {}
    }

    @Test func `the address of the preview is printed`() async throws {
        let preview = try place.framesocket(["preview", place.socket, "--http", "127.0.0.1:0"])
        try await preview.told("preview at http://127.0.0.1:")
        preview.send(.interrupt)
        let ending = await preview.ended()
        #expect(ending.status == 130 && ending.output.isEmpty)
        #expect(ending.errors.contains("listening at \(place.socket)"))
    }
}

extension Sequence {
    /// What `transform` makes of each, one after the other.
    func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
