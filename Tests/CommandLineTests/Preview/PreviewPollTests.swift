import Foundation
import TestSupport
import Testing

/// Programs that ask a preview for one image after another, as its page does.
@Suite(.serialized) struct PreviewPollTests {
    private let place: Workplace
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")
    private let gray = Places.fixture("jpeg/chelsea-gray.jpg")

    init() throws {
        place = try Workplace()
    }

    @Test func `every image of a slow sender is answered once, when it arrives`() async throws {
        let site = try await PreviewSite(place)
        let files = ["420", "422", "444", "gray"].map { Places.fixture("jpeg/chelsea-\($0).jpg") }
        let sender = try site.sender(showing: files[0])
        let viewer = try await site.viewer("--parts", "\(files.count)", as: "poll")
        for index in files.indices {
            try await viewer.lines(2 + index)
            #expect(try await site.state().viewers == 1)
            if index + 1 < files.count { sender.write(try Data.bytes(at: files[index + 1])) }
        }
        let parts = try await viewer.ended().events("part").map { $0.text("sha256") }
        #expect(try await parts == files.asyncMap { try await place.digest($0) })
    }

    @Test func `a request without news is answered at once, or after the time that it would wait`() async throws {
        let site = try await PreviewSite(place)
        let patient = ["--field", "Prefer: wait=1"]
        #expect(try await site.get("/snapshot.jpg")["status"] == 404)
        #expect(try await site.get("/snapshot.jpg", options: patient)["status"] == 204)
        try site.sender(showing: jpeg)
        try await site.state { $0.frames == 1 }
        let first = try await site.get("/snapshot.jpg", options: patient)
        let tag = try #require(first.text("etag"))
        #expect(try await first.text("sha256") == place.digest(jpeg))
        let known = ["--field", "If-None-Match: \(tag)"]
        for options in [known, known + patient] {
            let answer = try await site.get("/snapshot.jpg", options: options)
            #expect(answer["status"] == 304 && answer["bytes"] == 0 && answer.text("etag") == tag)
        }
        // What is refused is not waited for.
        let foreign = ["--field", "Host: evil.example"]
        #expect(try await site.get("/snapshot.jpg", options: known + patient + foreign)["status"] == 421)
        #expect(try await site.get("/snapshot.jpg?sender=7", options: known + patient)["status"] == 404)
        #expect(try await site.get("/snapshot.jpg", options: known + patient + ["--method", "POST"])["status"] == 405)
        // Another preview numbers its images alike.
        let path = place.path("t")
        let other = try await PreviewSite(place, at: path)
        try other.sender(showing: jpeg)
        try await other.state { $0.frames == 1 }
        #expect(try await other.get("/snapshot.jpg", options: known)["status"] == 200)
    }

    @Test(arguments: Program.Signal.allCases)
    func `those who wait are told of the end`(signal: Program.Signal) async throws {
        let site = try await PreviewSite(place)
        try site.sender(showing: jpeg)
        let viewer = try await site.viewer(as: "poll")
        try await viewer.lines(2)
        site.program.send(signal)
        let seen = await viewer.ended()
        #expect(seen.status == 0, "\(seen)")
        #expect(try seen.events.last?["status"] == 410)
        let ending = await site.program.ended()
        #expect(ending.status == 130 && ending.errors == "", "\(ending)")
    }

    @Test func `a page that reads nothing delays no other, and then shows the latest image`() async throws {
        let site = try await PreviewSite(place)
        let screen = Places.fixture("jpeg/phone-563x1219.jpg")
        let sender = try site.sender(showing: screen)
        let slow = try await site.viewer(
            "--room",
            "4096",
            "--pause-until",
            place.path("go"),
            "--until",
            place.digest(gray),
            as: "poll"
        )
        let quick = try await site.viewer("--until", place.digest(gray), as: "poll")
        for _ in 0..<200 { sender.write(try Data.bytes(at: screen)) }
        sender.write(try Data.bytes(at: gray))
        let seen = await quick.ended()
        #expect(seen.status == 0, "\(seen)")
        try await site.state { ($0.frames ?? 0) + ($0.superseded ?? 0) == 202 }
        _ = try place.file("go", [])
        let ending = await slow.ended()
        #expect(ending.status == 0, "\(ending)")
        // The one that it had not read, and the latest.
        #expect(try ending.events("part").count == 2)
    }

    @Test func `pages have places like other viewers, which they keep while they ask`() async throws {
        let site = try await PreviewSite(place, "--viewers", "2")
        try site.sender(showing: jpeg)
        try await site.state { $0.frames == 1 }
        let page = try await site.viewer("--wait", "1", as: "poll")
        let program = try await site.viewer()
        #expect(try await site.state().viewers == 2)
        let refused = try await site.get("/snapshot.jpg?viewer=third", "--field", "Prefer: wait=10")
        #expect(refused["status"] == 503 && refused.text("text")?.contains("2 viewers") == true)
        #expect(try await site.get("/stream")["status"] == 503)
        // A program that asks once is no viewer.
        #expect(try await site.get("/snapshot.jpg")["status"] == 200)
        program.kill()
        try await site.state { $0.viewers == 1 }
        page.kill()
        // Its request waits for as long as it wanted, and then its place is free.
        try await site.state { $0.viewers == 0 }
    }

    @Test func `as many pages as viewers see the last of many images`() async throws {
        let site = try await PreviewSite(place)
        let sender = try site.sender(showing: jpeg)
        let last = try await place.digest(gray)
        var pages: [Program] = []
        for _ in 0..<16 { pages.append(try await site.viewer("--until", last, as: "poll")) }
        #expect(try await site.state().viewers == 16)
        for _ in 0..<100 { sender.write(try Data.bytes(at: jpeg)) }
        sender.write(try Data.bytes(at: gray))
        for page in pages {
            let ending = await page.ended()
            #expect(ending.status == 0, "\(ending)")
        }
        try await site.state { $0.viewers == 0 }
    }
}
