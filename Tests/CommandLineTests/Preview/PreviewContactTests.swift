import Foundation
import TestSupport
import Testing

/// What the page of `framesocket preview` says in a real browser when it does not get through, and how it recovers.
@Suite(.serialized, .enabled(if: Places.chromium != nil, "Chromium is not installed; `scripts/setup test` installs it"))
struct PreviewContactTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    private static func says(_ summary: String) -> String {
        "document.getElementById('summary').textContent === '\(summary)'"
    }

    private static func fact(_ name: String, _ pattern: String) -> String {
        "/\(pattern)/.test(document.getElementById('\(name)').textContent)"
    }

    /// No figure is shown, and nothing can be done with an image.
    private static let isBlank = """
        [...document.querySelectorAll("dd")].every((fact) => fact.textContent === "–")
          && document.getElementById("full").disabled && !document.getElementById("save").hasAttribute("href")
        """

    /// Starts a sender of the same image, again and again until the test ends.
    private func sendImages(to site: PreviewSite, every interval: Duration) throws {
        let sender = try site.sender()
        let image = try Data.bytes(at: Places.fixture("jpeg/chelsea-420.jpg"))
        Task { [weak sender] in
            while let sender {
                sender.write(image)
                try await Task.sleep(for: interval)
            }
        }
    }

    private static let shows = "image.width === 451 && !image.hidden"

    @Test func `eight tabs of one browser all show frames and rates, and recover when the preview is back`()
        async throws
    {
        let site = try await PreviewSite(place)
        let port = try #require(URL(string: site.url)?.port)
        try sendImages(to: site, every: .milliseconds(100))
        let browser = try site.browser(
            [
                Self.shows, Self.says("Live"), Self.fact("rate", "^[1-9].* frames.s$"),
                Self.fact("shown", "^[1-9].* frames.s$"), Self.fact("viewers", "8 of 16"),
                Self.says("Not reachable"), Self.isBlank, Self.fact("message", "Cannot connect"),
                Self.says("Live"), Self.shows, Self.fact("shown", "^[1-9].* frames.s$"),
                Self.fact("viewers", "8 of 16"),
            ],
            "--tabs",
            "8"
        )
        try await browser.lines(5)
        // Without a word.
        site.program.kill()
        _ = await site.program.ended()
        try await browser.lines(8)
        let again = try await PreviewSite(place, http: "127.0.0.1:\(port)")
        try sendImages(to: again, every: .milliseconds(100))
        let ending = await browser.ended()
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `a page is told of the end, shows nothing as if it were live, and continues after a restart`()
        async throws
    {
        let site = try await PreviewSite(place)
        let port = try #require(URL(string: site.url)?.port)
        let sender = try site.sender(showing: Places.fixture("jpeg/chelsea-420.jpg"))
        let browser = try site.browser([
            Self.shows, Self.fact("frames", "^1$"), Self.says("Preview ended"), Self.isBlank,
            Self.fact("message", "It ended at"), Self.says("Live"), "image.width === 563", Self.fact("frames", "^1$"),
        ])
        try await browser.lines(2)
        site.program.send(.interrupt)
        #expect(await site.program.ended().status == 130)
        try await browser.lines(5)
        sender.kill()
        // Its first image has the number that the page has seen.
        let again = try await PreviewSite(place, http: "127.0.0.1:\(port)")
        try again.sender(showing: Places.fixture("jpeg/phone-563x1219.jpg"))
        let ending = await browser.ended()
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `a page without a free connection does not say that the preview has ended`() async throws {
        let site = try await PreviewSite(place)
        try site.sender(showing: Places.fixture("jpeg/chelsea-420.jpg"))
        let browser = try site.browser([
            Self.shows,
            "(globalThis.others = [1, 2, 3, 4, 5, 6].map((n) => Object.assign(new Image(), { src: `/stream?${n}` }))).length",
            Self.says("Not reachable"), Self.fact("message", "does not answer: it is busy, or other tabs"),
            Self.isBlank,
            "others.forEach((other) => other.removeAttribute('src')) ?? true", Self.says("Live"), Self.shows,
        ])
        let ending = await browser.ended()
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `a hidden page asks for no images, and gives its place to others`() async throws {
        let site = try await PreviewSite(place, "--viewers", "1")
        try sendImages(to: site, every: .milliseconds(50))
        let hide = { (isHidden: Bool) in
            """
            Object.defineProperty(document, "hidden", { value: \(isHidden), configurable: true })
              && document.dispatchEvent(new Event("visibilitychange"))
            """
        }
        let viewers = { (count: Int) in
            "fetch('/state').then((answer) => answer.json()).then((state) => state.viewers === \(count))"
        }
        let browser = try site.browser([
            Self.shows, viewers(1), hide(true), viewers(0), "(globalThis.tag = display.tag) !== ''",
            hide(false), viewers(1), "display.tag !== tag", Self.fact("shown", "^[1-9].* frames.s$"),
        ])
        let ending = await browser.ended()
        #expect(ending.status == 0, "\(ending)")
    }
}
