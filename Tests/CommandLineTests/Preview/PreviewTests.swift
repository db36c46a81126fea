import Foundation
import FrameSocketTesting
import TestSupport
import Testing

/// `framesocket preview` as programs see it that speak HTTP.
@Suite(.serialized, .timeLimit(.minutes(5))) struct PreviewTests {
    private let place: Workplace
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")
    private let gray = Places.fixture("jpeg/chelsea-gray.jpg")

    init() throws {
        place = try Workplace()
    }

    // MARK: What is served, and to whom

    @Test func `a page, an image, a snapshot and a state are served`() async throws {
        let site = try await PreviewSite(place)
        #expect(try await site.get("/").text.contains("<title>FrameSocket preview</title>"))
        #expect(try await site.get("/snapshot.jpg").status == 404)
        #expect(try await site.get("/image").status == 204)
        let empty = try await site.state()
        #expect(empty.state == "none" && empty.path == place.socket && empty.senders == 0 && empty.width == nil)
        #expect(empty.maximumViewers == 16)

        let sender = try site.sender(showing: jpeg)
        let state = try await site.state { $0.frames == 1 }
        #expect(state.state == "live" && state.senders == 1 && state.connection == 1)
        #expect(state.pid != nil && state.uid == Int(getuid()))
        #expect(state.width == 451 && state.height == 300 && state.orientation == 1)
        // Without the padding of a short frame.
        #expect(state.bytes == 35_042 && state.missing == 0 && state.superseded == 0 && state.undecodable == 0)
        #expect(state.age != nil)
        for path in ["/snapshot.jpg", "/image", "/?action=snapshot"] {
            let snapshot = try await site.get(path)
            #expect(snapshot.status == 200 && snapshot.fields["content-type"] == "image/jpeg")
            #expect(try snapshot.body == Data.bytes(at: jpeg))
            #expect(try await site.get(path, ["If-None-Match": #require(snapshot.fields["etag"])]).status == 304)
        }
        for path in ["/snapshot.jpg", "/stream"] { #expect(try await site.get(path, method: "HEAD").body == []) }
        // A body is read and ignored.
        let much = [UInt8](repeating: 0, count: 200_000)
        #expect(try await site.get("/snapshot.jpg", method: "POST", body: much).status == 405)
        #expect(try await site.get("/state", body: [0]).status == 200)

        sender.kill()
        let left = try await site.state { $0.state == "none" }
        #expect(left.width == nil && left.lastEnd != nil && left.last?.width == 451 && left.last?.pid == state.pid)
        #expect(try await site.get("/snapshot.jpg").status == 404)
        #expect(try await site.get("/image").body == Data.bytes(at: jpeg))
    }

    /// What follows a request, to a preview with the token `the-token-1` and no sender; `T` is its cookie.
    private static let requests = """
        # Whoever knows the token, for any port that a tunnel has.
        200 GET /state HTTP/1.1; Host: localhost; T
        200 GET /state?token=the-token-1 HTTP/1.1; Host: localhost
        200 GET /state HTTP/1.1; Host: 127.0.0.1:9000; Cookie: framesocket-9000=the-token-1
        403 GET / HTTP/1.1; Host: localhost
        403 GET /state HTTP/1.1; Host: localhost:81; T
        403 GET /none HTTP/1.1; Host: localhost
        # Under a name of this machine.
        200 GET /state HTTP/1.1; Host: Studio; T
        421 GET /state HTTP/1.1; Host: evil.example; T
        400 GET /state HTTP/1.1; Host: localhost; host: localhost; T
        400 GET /state HTTP/1.1; T
        # In the absolute form, whose authority counts.
        200 GET http://localhost/state HTTP/1.1; Host: evil.example; T
        200 GET HTTP://localhost HTTP/1.1; Host: localhost; T
        # From pages of other sites, which may link to the page alone.
        200 GET / HTTP/1.1; Host: localhost; T; Sec-Fetch-Site: cross-site
        200 GET /state HTTP/1.1; Host: localhost; T; Sec-Fetch-Site: same-origin
        403 GET /state HTTP/1.1; Host: localhost; T; Sec-Fetch-Site: same-site
        403 GET /?action=stream HTTP/1.1; Host: localhost; T; Sec-Fetch-Site: cross-site
        # Methods, paths and senders.
        200 GET /stream HTTP/1.1; Host: localhost; T
        200 GET /?action=stream HTTP/1.1; Host: localhost; T
        200 HEAD / HTTP/1.1; Host: localhost; T
        405 OPTIONS / HTTP/1.1; Host: localhost; T
        405 get / HTTP/1.1; Host: localhost; T
        200 GET /%73tate HTTP/1.1; Host: localhost; T
        # Not the path in front of the NUL.
        404 GET /%00 HTTP/1.1; Host: localhost; T
        404 GET /state%00 HTTP/1.1; Host: localhost; T
        404 GET // HTTP/1.1; Host: localhost; T
        404 GET /../etc/passwd HTTP/1.1; Host: localhost; T
        404 GET /?action=none HTTP/1.1; Host: localhost; T
        200 GET /?action&token HTTP/1.1; Host: localhost; T
        400 GET /state?sender=%00 HTTP/1.1; Host: localhost; T
        400 GET /image?sender=1x HTTP/1.1; Host: localhost; T
        400 GET /snapshot.jpg?sender=%D9%A1 HTTP/1.1; Host: localhost; T
        404 GET /image?sender=1 HTTP/1.1; Host: localhost; T
        200 GET /?sender=1 HTTP/1.1; Host: localhost; T
        """

    @Test func `a request means one thing, and is answered if it has the token`() async throws {
        let site = try await PreviewSite(place, "--http-token", "the-token-1", "--http-name", "studio")
        for line in Self.requests.split(separator: "\n") where !line.hasPrefix("#") {
            let client = try site.connection()
            let request = line.dropFirst(4).replacing("; T", with: "; Cookie: x=y, framesocket-80=the-token-1")
            try await client.write(request.replacing("; ", with: "\r\n").replacing(", ", with: "; ") + "\r\n\r\n")
            #expect(try await client.statusLine().hasPrefix("HTTP/1.1 \(line.prefix(3)) "), "\(line)")
        }
    }

    @Test func `the address that is printed lets a browser in, which is given a cookie`() async throws {
        let preview = try place.framesocket(["preview", place.socket, "--http", "127.0.0.1:0"])
        try await preview.told("preview at http://127.0.0.1:")
        try await preview.told("/?token=")
        #expect(await preview.ended(by: .interrupt, 130, "listening at \(place.socket)").output.isEmpty)

        let (site, other) = try await (PreviewSite(place), PreviewSite(place, at: place.path("t")))
        let token = try #require(site.url.split(separator: "token=").last)
        #expect(token.count == 32 && !other.url.contains(token))
        let page = try await site.get("/?token=\(token)", ["Cookie": "a=b"])
        #expect(page.status == 200)
        #expect(page.fields["set-cookie"] == "framesocket-\(site.port)=\(token); HttpOnly; SameSite=Strict")
        let refused = try await site.get("/", ["Cookie": "a=b"])
        #expect(refused.status == 403 && refused.text.contains("?token="))
        // Whatever it is, nobody keeps it, guesses at it or frames it.
        for fields in [page.fields, refused.fields] {
            #expect(fields["cache-control"] == "no-store" && fields["x-content-type-options"] == "nosniff")
            #expect(fields["content-security-policy"]?.hasPrefix("default-src 'none'; ") == true)
            #expect(fields["cross-origin-resource-policy"] == "same-origin")
        }
    }

    @Test(arguments: ["0.0.0.0:0"] + (hasVersion6 ? ["[::1]:0", "[::]:0"] : []))
    func `everybody is served at any address with --http-open`(address: String) async throws {
        let site = try await PreviewSite(place, "--http-open", "--http-name", "studio", http: address)
        #expect(!site.url.contains("token"))
        for (name, status) in [(nil, "200"), ("studio:8080", "200"), ("evil.example", "421")] {
            let host = name.map { "-H 'Host: \($0)'" } ?? ""
            let asked = try await place.shell("curl -sgo $D/state -w '%{http_code}' \(host) '\(site.url)state'").ended()
            #expect(asked.text == status, "\(asked)")
        }
    }

    @Test func `a client may close its sending half`() async throws {
        let site = try await PreviewSite(place, "--http-open")
        let client = try site.connection()
        try await client.write("GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.finishWriting()
        #expect(try await client.statusLine() == "HTTP/1.1 200 OK")
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
        #expect(try await site.get("/snapshot.jpg?sender=1").body == Data.bytes(at: jpeg))
        #expect(try await site.get("/image?sender=2").body == Data.bytes(at: phone))
        #expect(try await site.get("/snapshot.jpg").body == Data.bytes(at: phone))
        // Its only image, twice as of every still screen, and the end when its sender goes; the latest goes on.
        let viewer = try await site.viewer(["--path", "/stream?number=7&sender=1"])
        let other = try await site.viewer()
        try await viewer.lines(3)
        try await other.lines(3)
        first.kill()
        let ending = await viewer.ended(0)
        #expect(try ending.events.last?.name == "end")
        #expect(try await ending.events("part").map { $0.text("sha256") } == [place.digest(jpeg), place.digest(jpeg)])
        try await site.state { $0.senders == 1 && $0.viewers == 1 }
        other.kill()
        let digests = try await other.ended().events("part").map { $0.text("sha256") }
        #expect(try await digests == [place.digest(phone), place.digest(phone)])
        #expect(try await site.get("/state?sender=1").status == 404)
    }

    @Test func `an image is upright, without an orientation of its own, and an invalid one is counted and not shown`()
        async throws
    {
        let site = try await PreviewSite(place)
        let exif = try site.sender(showing: Places.fixture("jpeg/chelsea-exif-6.jpg"))
        try await site.state { $0.width == 300 && $0.height == 451 }
        let bytes = try await site.get("/snapshot.jpg").body
        let seen = try place.file("seen.jpg", bytes)
        #expect(bytes.count < 35_027 && Data(bytes).range(of: Data("Exif".utf8)) == nil)
        let original = try await place.djpeg(Places.fixture("jpeg/chelsea-exif-6.jpg"))
        #expect(try await place.djpeg(seen) == original)
        exif.kill()
        try await site.state { $0.senders == 0 }

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
        #expect(state.undecodable == 2 && state.state == "live" && state.width == 300 && state.height == 451)
        #expect(try await site.get("/snapshot.jpg").status == 200)
        withExtendedLifetime(sender) {}
    }

    @Test func `an image that cannot be rotated is not called damaged`() async throws {
        let site = try await PreviewSite(place)
        let sender = try PeerSocket.connected(to: place.socket)
        let progressive = try Data.bytes(at: Places.fixture("jpeg/chelsea-progressive.jpg"))
        try await sender.write(PeerMessage.frame(progressive, width: 451, height: 300, orientation: 6).bytes)
        try await site.state { $0.frames == 1 }
        let answer = try await site.get("/snapshot.jpg")
        #expect(answer.status == 404 && answer.text.hasPrefix("The latest frame cannot be rotated upright: "))
        withExtendedLifetime(sender) {}
    }

    // MARK: One image after another

    /// A page is answered with each image once, when it comes; the stream has the last one of a still screen twice.
    @Test(arguments: ["poll", "stream"])
    func `every image of a slow sender is seen`(action: String) async throws {
        let site = try await PreviewSite(place)
        let files = ["420", "422", "444", "gray"].map { Places.fixture("jpeg/chelsea-\($0).jpg") }
        let viewer = try await site.viewer(["--parts", action == "poll" ? "4" : "8"], as: action)
        let sender = try site.sender()
        let times = action == "poll" ? 1 : 2
        for (index, file) in files.enumerated() {
            sender.write(try Data.bytes(at: file))
            try await viewer.lines(1 + times * (index + 1))
        }
        let parts = try await viewer.ended().events("part").map { $0.text("sha256") }
        let digests = try await files.asyncMap { try await place.digest($0) }
        #expect(parts == digests.flatMap { Array(repeating: $0, count: times) })
    }

    @Test(arguments: ["poll", "stream"])
    func `a viewer that reads nothing delays no other, and then sees the latest image`(action: String) async throws {
        let site = try await PreviewSite(place)
        // 200 images of 105 kB: much more than the system's buffers hold.
        let screen = Places.fixture("jpeg/phone-563x1219.jpg")
        let sender = try site.sender(showing: screen)
        let pause = ["--room", "4096", "--pause-until", place.path("go")]
        let until = ["--until", try await place.digest(gray)]
        let slow = try await site.viewer(pause + until, as: action)
        let quick = try await site.viewer(until, as: action)
        for _ in 0..<200 { sender.write(try Data.bytes(at: screen)) }
        sender.write(try Data.bytes(at: gray))
        await quick.ended(0)
        let state = try await site.state { ($0.frames ?? 0) + ($0.superseded ?? 0) == 202 && $0.width == 451 }
        // Those that were superseded are not gaps in the sender's numbers as well.
        #expect(state.missing == 0)
        _ = try place.file("go", [])
        let ending = await slow.ended(0)
        // A page has the one that it had not read, and the latest.
        let count = try ending.events("part").count
        #expect(action == "poll" ? count == 2 : count < 100, "\(count) images waited for a viewer that read nothing")
    }

    @Test func `readers and pages have places, which are free again when they leave`() async throws {
        let site = try await PreviewSite(place, "--viewers", "2")
        let program = try await site.viewer()
        let page = try await site.viewer(as: "poll")
        try await site.state { $0.viewers == 2 }
        for path in ["/stream", "/image?viewer=third"] {
            let refused = try await site.get(path)
            #expect(refused.status == 503 && refused.fields["retry-after"] == "5")
            #expect(refused.text.contains("2 viewers"))
        }
        // A program that asks once is no viewer.
        #expect(try await site.get("/image").status == 204)
        // One that waits for a first image is not written to, and is missed all the same.
        program.kill()
        page.kill()
        try await site.state { $0.viewers == 0 }
        let second = try await site.viewer()
        let sender = try site.sender(showing: jpeg)
        try await second.lines(3)
        sender.kill()
        try await site.state { $0.senders == 0 }
        // And so is one whose sender has left.
        second.kill()
        try await site.state { $0.viewers == 0 }
    }

    // MARK: Connections, and the end

    @Test func `idle connections keep nobody out: the oldest makes way`() async throws {
        let site = try await PreviewSite(place, "--http-open")
        // As many as there may be: two for each of 16 viewers, and 32.
        let held = try (0..<64).map { _ in try site.connection() }
        let own = try (0..<8).map { _ in try site.connection() }
        for client in own {
            try await client.write("GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await client.statusLine() == "HTTP/1.1 200 OK")
        }
        for client in held[..<8] { #expect(try await client.readSome(upTo: 1) == []) }
        // The others are still there: they have not been closed for being late.
        for client in held[8...] { #expect(client.isQuiet) }
        // Many at once are closed as fast as others come.
        for _ in 0..<4 {
            let burst = try (0..<200).map { _ in try site.connection() }
            let next = try site.connection()
            try await next.write("GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await next.statusLine() == "HTTP/1.1 200 OK")
            withExtendedLifetime(burst) {}
        }
    }

    /// The limits are a tenth: a second for a request, and six for an answer.
    @Test func `a request that arrives byte by byte has a deadline, and so has a reader that reads nothing`()
        async throws
    {
        let site = try await PreviewSite(place, "--http-open", timeScale: 0.1)
        let slow = try site.connection()
        try await slow.write("GET / HTTP/1.1\r\nHost: ")
        while await slow.isOpen() {
            // It may be closed just now.
            try? await slow.write("x")
            try await Task.sleep(for: .milliseconds(50))
        }
        let idle = try await site.viewer(["--room", "4096", "--pause-until", place.path("never")])
        let sender = try site.sender()
        try await site.state { $0.viewers == 1 }
        // More than the system's buffers hold.
        for _ in 0..<20 { sender.write(try Data.bytes(at: Places.fixture("jpeg/phone-563x1219.jpg"))) }
        try await site.state { $0.viewers == 0 }
        idle.kill()
    }

    @Test(arguments: Program.Signal.allCases)
    func `a signal ends streams and waits in an orderly way, and leaves nothing behind`(signal: Program.Signal)
        async throws
    {
        let site = try await PreviewSite(place)
        let viewer = try await site.viewer()
        let page = try await site.viewer(as: "poll")
        let idle = try await site.viewer(["--pause-until", place.path("never")])
        let sender = try site.sender(showing: jpeg)
        try await viewer.lines(2)
        try await page.lines(2)
        #expect(await site.program.ended(by: signal, 130).errors == "")
        #expect(try await viewer.ended(0).events.last?.name == "end")
        #expect(try await page.ended(0).events.last?["status"] == 410)
        #expect(try place.names() == [])
        idle.kill()
        sender.kill()
    }

    @Test func `a port in use is reported, and leaves nothing at the path`() async throws {
        let site = try await PreviewSite(place)
        let other = try place.framesocket(["preview", place.path("t"), "--http", "127.0.0.1:\(site.port)", "--json"])
        await other.ended(69, "127.0.0.1:\(site.port): Address already in use")
        #expect(try place.names().contains("t") == false)
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
