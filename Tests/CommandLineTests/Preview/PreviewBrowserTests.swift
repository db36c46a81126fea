import Foundation
import FrameSocketTesting
import TestSupport
import Testing

/// The page of `framesocket preview` in a real browser.
@Suite(.serialized, .enabled(if: Places.chromium != nil, "Chromium is not installed; `scripts/setup test` installs it"))
struct PreviewBrowserTests {
    private let place: Workplace
    private let photo = Places.fixture("jpeg/chelsea-420.jpg")
    private let phone = Places.fixture("jpeg/phone-563x1219.jpg")

    init() throws {
        place = try Workplace()
    }

    // What the page says and shows, as expressions of JavaScript.
    private static func says(_ summary: String) -> String { text("summary", "^\(summary)$") }

    private static func text(_ id: String, _ pattern: String) -> String {
        "/\(pattern)/.test(document.getElementById('\(id)').textContent)"
    }

    private static func fact(_ name: String, _ pattern: String) -> String {
        "/\(pattern)/.test(document.querySelector('dd[data-fact=\"\(name)\"]').textContent)"
    }

    private static func shows(_ width: Int, _ height: Int) -> String {
        "image.width === \(width) && image.height === \(height) && !document.getElementById('view').hidden"
    }

    private static let isDimmed = "!document.getElementById('view').hidden && getComputedStyle(image).opacity < 0.5"
    private static let isBright = "getComputedStyle(image).opacity === '1'"

    private static func click(_ id: String) -> String { "document.getElementById('\(id)').click() ?? true" }

    /// Selects a value in a list.
    private static func choose(_ value: String, in list: String) -> String {
        """
        (() => {
          const list = document.getElementById("\(list)");
          if (![...list.options].some((option) => option.value === "\(value)")) return false;
          list.value = "\(value)";
          list.dispatchEvent(new Event("change"));
          return true;
        })()
        """
    }

    /// axe-core finds nothing.
    private static let isAccessible = "axe"

    private static func box(_ id: String) -> String { "document.getElementById('\(id)').getBoundingClientRect()" }

    /// Nothing is over the image, and the page is not wider than the window.
    private static let isUncovered = """
        (() => {
          const { left, top, width, height } = image.getBoundingClientRect();
          const at = (x, y) => document.elementFromPoint(left + x * width, top + y * height);
          return [0.1, 0.5, 0.9].every((x) => [0.1, 0.5, 0.9].every((y) => at(x, y) === image))
            && document.documentElement.scrollWidth <= innerWidth;
        })()
        """

    /// How many different images were seen within the page, until there are enough, and no figure is none.
    private static func moves(_ count: Int) -> String {
        """
        (() => {
          const canvas = new OffscreenCanvas(64, 64).getContext("2d");
          canvas.drawImage(image, 0, 0, 64, 64);
          globalThis.seen ??= new Set();
          seen.add(canvas.getImageData(0, 0, 64, 64).data.join());
          if (document.body.innerText.includes("NaN")) throw new Error(document.body.innerText);
          return seen.size >= \(count);
        })()
        """
    }

    /// Starts a sender of the same image, again and again until the test ends: as seldom as shows a rate, since twelve pages
    /// show it.
    private func sendImages(to site: PreviewSite) throws {
        let sender = try site.sender()
        let image = try Data.bytes(at: photo)
        Task { [weak sender] in
            while let sender {
                sender.write(image)
                try await Task.sleep(for: .milliseconds(400))
            }
        }
    }

    // MARK: What it shows

    @Test func `the page offers a command, shows a moving image with its figures, and keeps the last one dimmed`()
        async throws
    {
        let site = try await PreviewSite(place)
        let browser = try site.browser([
            Self.says("No sender"), Self.isAccessible,
            Self.text("command", "^framesocket send \(place.socket.replacing("/", with: "\\/")) "),
            "location.search === ''",
            "document.addEventListener('copy', () => (globalThis.copied = String(getSelection()))) ?? true",
            Self.click("copy"), "copied.startsWith('framesocket send ')", Self.text("copy", "^Copied$"),
            Self.says("Live"), "document.getElementById('start').hidden", Self.shows(562, 1218), Self.moves(4),
            Self.fact("Size", "562 × 1218"), Self.fact("Rate", "^([4-9]|1[0-2])\\.. frames.s$"),
            Self.fact("Shown here", "^([4-9]|1[0-2])\\.. frames.s$"), Self.fact("Latency", " ms$"),
            Self.fact("Sender", "process [0-9]+, user [0-9]+$"), Self.fact("Viewers", "1 of 16"), Self.isBright,
            Self.says("No sender"), Self.text("message", "has left"), Self.isDimmed, Self.shows(562, 1218),
            Self.fact("Sender", "process [0-9]+, user [0-9]+, has left$"), Self.fact("Last frame", "^[0-9]+ s ago$"),
            Self.fact("Rate", "^–$"), Self.isUncovered,
        ])
        try await browser.steps(8)
        let screens = Places.fixture("screens/phone-scroll")
        let arguments = ["send", place.socket, screens, "--scale", "1/2", "--loop", "0", "--fps", "10", "--quiet"]
        let sender = try place.framesocket(arguments)
        try await browser.steps(18)
        sender.send(.terminate)
        await browser.ended(isClean: true)
    }

    @Test func `an image that is sent once stays in a pause and after the end, and axe finds nothing in any state`()
        async throws
    {
        let site = try await PreviewSite(place)
        try await place.framesocket(["send", place.socket, photo, "--passthrough", "--quiet"]).ended(0)
        let browser = try site.browser([
            Self.says("No sender"), Self.shows(451, 300), Self.isDimmed,
            Self.says("Waiting"), Self.isDimmed, Self.isAccessible,
            Self.says("Live"), Self.isBright, Self.isAccessible, Self.fact("Last frame", "^[3-9] s ago$"),
            Self.says("Paused"), Self.text("message", "The sender has paused"), Self.isDimmed, Self.isAccessible,
            Self.says("Live"), Self.says("Preview ended"), Self.text("message", "It ended at"), Self.isDimmed,
            Self.fact("Frames", "^–$"), Self.fact("Sender", "process"), "document.getElementById('save').hidden",
            Self.isAccessible,
        ])
        try await browser.steps(3)
        let sender = try PeerSocket.connected(to: place.socket)
        let status = { (state: String) -> PeerMessage in
            let fields = [("Message-Type", "status"), ("Sender-State", state), ("Control-Version", "1")]
            return PeerMessage(startLine: "HTTP/1.1 200 OK", fields: fields.map { (name: $0, value: $1) })
        }
        let frame = PeerMessage.frame(try Data.bytes(at: photo), width: 451, height: 300)
        for (count, message) in [(6, frame), (10, status("paused")), (14, status("live"))] {
            try await browser.steps(count)
            try await sender.write(message.bytes)
        }
        try await browser.steps(15)
        await site.program.ended(by: .interrupt, 130)
        await browser.ended()
        withExtendedLifetime(sender) {}
    }

    /// Whether the image is as large as the room for it.
    private static let covers = """
        ["width", "height"].every((side) => Math.abs(\(box("image"))[side] - \(box("view"))[side]) < 1)
        """

    @Test(arguments: [("", []), ("?mode=stretch", ["--size", "390x844", "--dark"])])
    func `a small image is enlarged, fills the page, is stretched or has its actual size`(
        query: String,
        options: [String]
    ) async throws {
        let site = try await PreviewSite(place)
        for _ in 0..<2 { try site.sender(showing: photo) }
        try await site.state { $0.choices.count == 2 && $0.choices.allSatisfy { $0.width != nil } }
        let object = { (fit: String) in "getComputedStyle(image).objectFit === '\(fit)'" }
        let steps = [
            Self.says("Live"), Self.shows(451, 300), Self.isUncovered, object(query.isEmpty ? "contain" : "fill"),
            Self.fact("Sender", "process [0-9]+, user [0-9]+, 2 of 2"), Self.isAccessible,
            "\(Self.box("summary")).height < 1.6 * parseFloat(getComputedStyle(document.body).fontSize)",
            "\(Self.box("senders")).bottom < \(Self.box("image")).top && \(Self.box("senders")).right <= innerWidth",
            "\(Self.box("image")).bottom <= innerHeight",
            "matchMedia('(prefers-color-scheme: dark)').matches === \(!options.isEmpty)",
            "(getComputedStyle(stage).backgroundColor === 'rgb(11, 13, 17)') === \(!options.isEmpty)",
            Self.choose("fill", in: "mode"), object("cover"), Self.covers, "location.search === '?mode=fill'",
            Self.choose("stretch", in: "mode"), object("fill"), Self.covers, "location.search === '?mode=stretch'",
            Self.click("zoom"), "\(Self.box("image")).width === 451", "document.getElementById('view').tabIndex === 0",
            "document.getElementById('zoom').getAttribute('aria-pressed') === 'true'", Self.isAccessible,
            Self.click("zoom"),
            Self.choose("fit", in: "mode"), object("contain"), Self.covers, "location.search === ''",
        ]
        try await site.browser(steps, options: options, query: query).ended(isClean: true)
    }

    @Test func `a sender is selected from a list, and when it leaves, the latest is shown again`() async throws {
        let site = try await PreviewSite(place)
        let first = try site.sender(showing: photo)
        try await site.state { $0.frames == 1 }
        let list = "document.getElementById('choice')"
        let browser = try site.browser([
            Self.shows(451, 300), "\(list).hidden",
            Self.shows(563, 1219), "!\(list).hidden", "document.getElementById('senders').options.length === 3",
            Self.text("senders", "sender 1, process [0-9]+, user [0-9]+, 451 × 300"),
            Self.choose("1", in: "senders"), Self.shows(451, 300), "location.search === '?sender=1'",
            "document.getElementById('save').href.endsWith('/image?sender=1')",
            Self.shows(563, 1219), "location.search === ''", "\(list).hidden",
        ])
        try await browser.steps(2)
        try site.sender(showing: phone)
        try await browser.steps(10)
        first.kill()
        await browser.ended()
    }

    @Test func `frames that nobody can decode are reported, and the next one is shown`() async throws {
        let site = try await PreviewSite(place)
        let good = PeerMessage.frame(try Data.bytes(at: photo), width: 451, height: 300)
        // Samples of 12 bits are part of the standard, and of no browser.
        var deep = good
        let frameHeader = try #require(deep.body.indices.first { deep.body[$0...].starts(with: [0xFF, 0xC0]) })
        deep.body[frameHeader + 4] = 12
        let sender = try PeerSocket.connected(to: place.socket)
        let browser = try site.browser([
            Self.text("message", "none of its frames can be decoded"), Self.fact("Dropped", "1 not decodable"),
            Self.text("message", "browser cannot decode"), "document.getElementById('view').hidden",
            Self.shows(451, 300), Self.text("message", "^$"),
            Self.text("message", "browser cannot decode"), Self.isDimmed,
        ])
        let none = PeerMessage.frame(Array("no image.".utf8), width: 1, height: 1)
        for (count, message) in [(0, none), (2, deep), (4, good), (6, deep)] {
            if count > 0 { try await browser.steps(count) }
            try await sender.write(message.bytes)
        }
        await browser.ended(isClean: true)
        withExtendedLifetime(sender) {}
    }

    // MARK: When it does not get through

    @Test(arguments: Browser.allCases)
    func `twelve pages of one browser all show frames and rates, and recover when the preview is back`(
        in browser: Browser
    ) async throws {
        if Places.program(of: browser) == nil { try Test.cancel("\(browser) is not installed") }
        let site = try await PreviewSite(place, "--http-token", "a.token-for_both")
        try sendImages(to: site)
        let figures = [
            Self.shows(451, 300), Self.says("Live"), Self.fact("Shown here", "^[1-9].* frames.s$"),
            Self.fact("Viewers", "12 of 16"),
        ]
        let pages = try site.browser(
            figures + [Self.says("Not reachable"), Self.text("message", "Cannot connect"), Self.isDimmed] + figures,
            pages: 12,
            in: browser
        )
        try await pages.steps(4)
        // Without a word.
        site.program.kill()
        _ = await site.program.ended()
        try await pages.steps(7)
        let again = try await PreviewSite(place, "--http-token", "a.token-for_both", http: "127.0.0.1:\(site.port)")
        try sendImages(to: again)
        await pages.ended()
    }

    @Test func `a page says that the preview has another token, and shows another image with a number that it knows`()
        async throws
    {
        let site = try await PreviewSite(place, "--http-token", "the-same-token")
        let sender = try site.sender(showing: photo)
        let browser = try site.browser([
            Self.shows(451, 300), Self.says("Not reachable"), Self.text("message", "another token"),
            Self.says("Live"), Self.shows(563, 1219), Self.fact("Frames", "^1$"),
        ])
        try await browser.steps(1)
        site.program.kill()
        _ = await site.program.ended()
        sender.kill()
        let other = try await PreviewSite(place, http: "127.0.0.1:\(site.port)")
        try await browser.steps(3)
        other.program.kill()
        _ = await other.program.ended()
        let again = try await PreviewSite(place, "--http-token", "the-same-token", http: "127.0.0.1:\(site.port)")
        try again.sender(showing: phone)
        await browser.ended()
    }

    @Test func `a page without a free connection does not say that the preview has ended`() async throws {
        let site = try await PreviewSite(place)
        try site.sender(showing: photo)
        let browser = try site.browser([
            Self.shows(451, 300),
            "(globalThis.others = [1, 2, 3, 4, 5, 6].map((n) => Object.assign(new Image(), { src: `stream?${n}` }))).length",
            Self.says("Not reachable"), Self.text("message", "does not answer: it is busy, or other tabs"),
            "others.forEach((other) => other.removeAttribute('src')) ?? true", Self.says("Live"), Self.isBright,
        ])
        await browser.ended()
    }

    @Test func `a viewer without a place is told so, and a hidden page asks for nothing and gives its place to others`()
        async throws
    {
        let site = try await PreviewSite(place, "--viewers", "1")
        try sendImages(to: site)
        let viewer = try await site.viewer()
        try await viewer.lines(2)
        let hide = { (isHidden: Bool) in
            """
            Object.defineProperty(document, "hidden", { value: \(isHidden), configurable: true })
              && document.dispatchEvent(new Event("visibilitychange"))
            """
        }
        let viewers = { (count: Int) in
            "fetch('state').then((answer) => answer.json()).then((state) => state.viewers === \(count))"
        }
        let browser = try site.browser([
            Self.text("message", "No place left"), "document.getElementById('view').hidden",
            Self.fact("Shown here", "^–$"), Self.shows(451, 300), Self.text("message", "^$"),
            viewers(1), hide(true), viewers(0), "(globalThis.before = tag) !== ''",
            hide(false), viewers(1), "before !== tag", Self.fact("Shown here", "^[1-9].* frames.s$"),
        ])
        try await browser.steps(3)
        viewer.kill()
        await browser.ended()
    }
}
