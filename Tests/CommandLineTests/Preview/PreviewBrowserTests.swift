import Foundation
import FrameSocketTesting
import Testing

/// The page of `framesocket preview` in a real browser.
@Suite(.serialized, .enabled(if: Places.chromium != nil, "Chromium is not installed; `scripts/setup test` installs it"))
struct PreviewBrowserTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    // What the page says and shows, as expressions of JavaScript.
    private static func says(_ summary: String) -> String {
        "document.getElementById('summary').textContent === '\(summary)'"
    }

    private static func tells(_ words: String) -> String {
        "document.getElementById('message').textContent.includes('\(words)')"
    }

    /// The command that starts a sender.
    private static func offers(_ command: String) -> String {
        "document.getElementById('command').textContent.startsWith('\(command)')"
    }

    private static func shows(_ width: Int, _ height: Int) -> String {
        "image.width === \(width) && image.height === \(height) && !image.hidden"
    }

    private static func fact(_ name: String, _ pattern: String) -> String {
        "/\(pattern)/.test(document.getElementById('\(name)').textContent)"
    }

    /// The colour at a place of the image, in parts of its sides, as one of `red`, `green`, `blue`, `white`, or none.
    private static let colour = """
        !!(globalThis.colour = (x, y) => {
          const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
          canvas.drawImage(image, 0, 0);
          const [r, g, b] = canvas.getImageData(x * image.width, y * image.height, 1, 1).data;
          const isHigh = [r > 128, g > 128, b > 128].join();
          return { "true,false,false": "red", "false,true,false": "green", "false,false,true": "blue",
            "true,true,true": "white" }[isHigh];
        })
        """

    /// How many different images were seen within the page, until there are enough.
    private static func moves(_ count: Int) -> String {
        """
        (() => {
          const canvas = new OffscreenCanvas(64, 64).getContext("2d");
          canvas.drawImage(image, 0, 0, 64, 64);
          globalThis.seen ??= new Set();
          seen.add(canvas.getImageData(0, 0, 64, 64).data.join());
          return seen.size >= \(count);
        })()
        """
    }

    /// An upright image of 451 by 300 pixels.
    private func chelsea() throws -> PeerMessage {
        .frame(try Data.bytes(at: Places.fixture("jpeg/chelsea-420.jpg")), width: 451, height: 300)
    }

    private func expectClean(_ browser: Program) async throws {
        let ending = await browser.ended()
        #expect(ending.status == 0, "\(ending)")
        // Nothing was refused by the content security policy, and nothing was thrown.
        #expect(ending.lines.last == #"{"errors": []}"#)
    }

    @Test func `the page says that there is no sender, then shows a moving image, then says that the sender has left`()
        async throws
    {
        let site = try await PreviewSite(place)
        let browser = try site.browser([
            Self.says("No sender"), Self.offers("framesocket send \(place.socket) "), Self.says("Live"),
            "document.getElementById('start').hidden", Self.shows(562, 1218), Self.moves(4),
            Self.fact("size", "562 × 1218"), Self.fact("rate", "^[1-9].* frames.s$"),
            Self.fact("shown", "^[1-9].* frames.s$"), Self.fact("latency", " ms$"),
            Self.fact("sender", "process [0-9]+, user [0-9]+"), Self.fact("viewers", "1 of 16"),
            "document.title.startsWith('Live')", "image.getAttribute('aria-label').includes('562 by 1218')",
            Self.says("No sender"), "image.hidden", Self.tells("has left"),
            "document.getElementById('full').disabled",
        ])
        try await browser.lines(2)
        let screens = Places.fixture("screens/phone-scroll")
        let arguments = ["send", place.socket, screens, "--scale", "1/2", "--loop", "0", "--fps", "10", "--quiet"]
        let sender = try place.framesocket(arguments)
        try await browser.lines(14)
        sender.send(.terminate)
        try await expectClean(browser)
    }

    @Test func `the only image of a still screen is shown, and a pause is displayed`() async throws {
        let site = try await PreviewSite(place)
        let sender = try PeerSocket.connected(to: place.socket)
        let status = { (state: String) -> PeerMessage in
            let fields = [("Message-Type", "status"), ("Sender-State", state), ("Control-Version", "1")]
            return PeerMessage(startLine: "HTTP/1.1 200 OK", fields: fields.map { (name: $0, value: $1) })
        }
        let browser = try site.browser([
            Self.says("Waiting"), Self.says("Live"), Self.shows(451, 300), Self.fact("age", "No new frame for"),
            Self.says("Paused"), Self.tells("The sender has paused"), Self.shows(451, 300),
            Self.says("Live"), Self.says("Preview ended"),
        ])
        for (count, message) in try [(1, chelsea()), (4, status("paused")), (7, status("live"))] {
            try await browser.lines(count)
            try await sender.write(message.bytes)
        }
        try await browser.lines(8)
        site.program.send(.interrupt)
        #expect(await site.program.ended().status == 130)
        let ending = await browser.ended()
        #expect(ending.status == 0, "\(ending)")
        withExtendedLifetime(sender) {}
    }

    private static func chooses(_ value: String) -> String {
        """
        (() => {
          const senders = document.getElementById("senders");
          if (![...senders.options].some((option) => option.value === "\(value)")) return false;
          senders.value = "\(value)";
          senders.dispatchEvent(new Event("change"));
          return true;
        })()
        """
    }

    /// Selects how the image fills the page.
    private static func fills(_ mode: String) -> String {
        """
        (() => {
          const modes = document.getElementById("mode");
          modes.value = "\(mode)";
          modes.dispatchEvent(new Event("change"));
          return modes.value === "\(mode)";
        })()
        """
    }

    /// Whether the image is as large as the room for it.
    private static let covers = """
        (() => {
          const [all, room] = [image, document.getElementById("view")].map((part) => part.getBoundingClientRect());
          return Math.abs(all.width - room.width) < 1 && Math.abs(all.height - room.height) < 1;
        })()
        """

    private static func object(_ fit: String) -> String { "getComputedStyle(image).objectFit === '\(fit)'" }

    /// A small photo: the whole of it is shown as large as it is, and otherwise it fills the page.
    @Test(arguments: ["", "?mode=stretch", "?mode=none"])
    func `the page shows the whole image, fills the page with it, or stretches it`(query: String) async throws {
        let site = try await PreviewSite(place)
        let first =
            query == "?mode=stretch"
            ? [Self.object("fill"), Self.covers, "document.getElementById('mode').value === 'stretch'"]
            : [Self.object("contain"), "!\(Self.covers)", "document.getElementById('mode').value === 'fit'"]
        let browser = try site.browser(
            [Self.shows(451, 300)] + first + [
                Self.fills("fill"), Self.object("cover"), Self.covers, "location.search === '?mode=fill'",
                Self.fills("stretch"), Self.object("fill"), Self.covers, "location.search === '?mode=stretch'",
                // In its actual size, an image fills nothing.
                "document.getElementById('zoom').click() || true", "image.getBoundingClientRect().width === 451",
                "document.getElementById('zoom').click() || true", Self.covers,
                Self.fills("fit"), Self.object("contain"), "!\(Self.covers)", "location.search === ''",
            ],
            query: query
        )
        try site.sender(showing: Places.fixture("jpeg/chelsea-420.jpg"))
        try await expectClean(browser)
    }

    @Test func `a sender is selected from a list, and when it leaves, the latest is shown again`() async throws {
        let site = try await PreviewSite(place)
        let first = try site.sender(showing: Places.fixture("jpeg/chelsea-420.jpg"))
        try await site.state { $0.frames == 1 }
        let list = "document.getElementById('choice')"
        let browser = try site.browser([
            Self.shows(451, 300), "\(list).hidden",
            Self.shows(563, 1219), "!\(list).hidden", "document.getElementById('senders').value === ''",
            "document.getElementById('senders').options.length === 3",
            Self.fact("senders", "sender 1, process [0-9]+, 451 × 300"),
            Self.chooses("1"), Self.shows(451, 300), "location.search === '?sender=1'", Self.fact("size", "451 × 300"),
            "document.getElementById('save').href.endsWith('/snapshot.jpg?sender=1')",
            Self.shows(563, 1219), "location.search === ''", "document.getElementById('senders').value === ''",
            "\(list).hidden",
        ])
        try await browser.lines(2)
        try site.sender(showing: Places.fixture("jpeg/phone-563x1219.jpg"))
        try await browser.lines(12)
        first.kill()
        let ending = await browser.ended()
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `a viewer without a place is told so, and sees the stream once there is one`() async throws {
        let site = try await PreviewSite(place, "--viewers", "1")
        try site.sender(showing: Places.fixture("jpeg/chelsea-420.jpg"))
        let viewer = try await site.viewer()
        try await site.state { $0.frames == 1 }
        let browser = try site.browser([
            Self.tells("No place left"), "image.hidden", Self.shows(451, 300), "!\(Self.tells("No place left"))",
        ])
        try await browser.lines(2)
        viewer.kill()
        let ending = await browser.ended()
        #expect(ending.status == 0, "\(ending)")
    }

    /// The position of the red, green, blue and white quarters when the image is upright, for each orientation.
    private static let rotations = [
        (1, 96, 64, ["red", "green", "blue", "white"]), (2, 96, 64, ["green", "red", "white", "blue"]),
        (3, 96, 64, ["white", "blue", "green", "red"]), (6, 64, 96, ["green", "white", "red", "blue"]),
        (8, 64, 96, ["blue", "red", "white", "green"]),
    ]

    @Test func `the image of a rotated sender is upright`() async throws {
        let site = try await PreviewSite(place)
        let places = ["0.25, 0.25", "0.75, 0.25", "0.25, 0.75", "0.75, 0.75"]
        let steps = Self.rotations.map { _, width, height, colours in
            ([Self.shows(width, height)] + zip(places, colours).map { "colour(\($0)) === '\($1)'" })
                .joined(separator: " && ")
        }
        // One sender after the other, each of which the page shows as soon as it is the latest.
        let browser = try site.browser([Self.colour] + steps)
        for (index, rotation) in Self.rotations.enumerated() {
            try await browser.lines(1 + index)
            let options = ["--size", "96x64", "--format", "rgb", "--orientation", "\(rotation.0)", "--quiet"]
            let sender = try place.framesocket(["send", place.socket, "-"] + options, input: .pipe(InputPipe()))
            sender.write(Quarters.pixels(width: 96, height: 64))
        }
        try await expectClean(browser)
    }

    @Test func `a sender's own Exif orientation is ignored`() async throws {
        let site = try await PreviewSite(place)
        try site.sender(showing: Places.fixture("jpeg/chelsea-exif-6.jpg"))
        let browser = try site.browser([
            Self.says("Live"), Self.shows(300, 451), "image.getBoundingClientRect().width === 300",
        ])
        try await expectClean(browser)
    }

    @Test func `a frame that the browser cannot decode is reported, and the next one is shown`() async throws {
        let site = try await PreviewSite(place)
        // Samples of 12 bits are part of the standard, and of no browser.
        var deep = try chelsea()
        let frameHeader = try #require(deep.body.indices.first { deep.body[$0...].starts(with: [0xFF, 0xC0]) })
        deep.body[frameHeader + 4] = 12
        let sender = try PeerSocket.connected(to: place.socket)
        try await sender.write(deep.bytes)
        let browser = try site.browser([
            Self.tells("browser cannot decode"), "image.hidden",
            "document.getElementById('save').hasAttribute('href')",
            Self.shows(451, 300), "!\(Self.tells("cannot decode"))",
        ])
        try await browser.lines(3)
        try await sender.write(chelsea().bytes)
        try await expectClean(browser)
        withExtendedLifetime(sender) {}
    }

    @Test func `the page says that none of a sender's frames can be decoded`() async throws {
        let site = try await PreviewSite(place)
        let sender = try PeerSocket.connected(to: place.socket)
        try await sender.write(PeerMessage.frame(Array("no image.".utf8), width: 1, height: 1).bytes)
        try await expectClean(
            site.browser([
                Self.tells("none of its frames can be decoded"), Self.fact("age", "So far: 1"),
                Self.fact("dropped", "^1$"),
                "image.hidden",
            ])
        )
        withExtendedLifetime(sender) {}
    }

    @Test func `the command that starts a sender is copied, and an image is shown pixel by pixel`() async throws {
        let site = try await PreviewSite(place)
        let button = { (name: String) in "document.getElementById('\(name)')" }
        let browser = try site.browser([
            Self.says("No sender"), "!\(button("start")).hidden",
            """
            (globalThis.copied = "", document.addEventListener("copy", () => copied = String(getSelection())),
              Object.defineProperty(navigator, "clipboard", { value: undefined }), \(button("copy")).click(), true)
            """,
            "copied.startsWith('framesocket send \(place.socket) ')", Self.fact("copy", "^Copied$"),
            Self.says("Live"), "\(button("zoom")).getAttribute('aria-pressed') === 'false'",
            "image.getBoundingClientRect().height < 1219", "\(button("zoom")).click() ?? true",
            "image.getBoundingClientRect().height === 1219",
            "\(button("zoom")).getAttribute('aria-pressed') === 'true'",
            "document.getElementById('view').tabIndex === 0",
            "document.getElementById('view').scrollHeight > document.getElementById('view').clientHeight",
            "\(button("zoom")).click() ?? true", "image.getBoundingClientRect().height < 1219",
        ])
        try await browser.lines(5)
        try site.sender(showing: Places.fixture("jpeg/phone-563x1219.jpg"))
        try await expectClean(browser)
    }

    @Test func `on a narrow page the state is one line, and the senders are listed above the image`() async throws {
        let site = try await PreviewSite(place)
        for _ in 0..<2 { try site.sender(showing: Places.fixture("jpeg/phone-563x1219.jpg")) }
        try await site.state { $0.choices.count == 2 && $0.choices.allSatisfy { $0.width != nil } }
        let box = { (name: String) in "document.getElementById('\(name)').getBoundingClientRect()" }
        let browser = try site.browser(
            [
                Self.says("Live"), Self.shows(563, 1219), "!document.getElementById('choice').hidden",
                Self.fact("sender", "process [0-9]+, user [0-9]+ · sender 2 of 2"),
                "document.documentElement.scrollWidth <= innerWidth",
                "\(box("status")).height < 1.6 * parseFloat(getComputedStyle(document.body).fontSize)",
                "\(box("senders")).bottom < \(box("image")).top && \(box("senders")).right <= innerWidth",
                "\(box("image")).bottom <= innerHeight",
            ],
            "--size",
            "390x844"
        )
        try await expectClean(browser)
    }

    @Test(arguments: [["--size", "400x800"], ["--dark"]])
    func `the page fits into a narrow window, and is dark if that is preferred`(options: [String]) async throws {
        let site = try await PreviewSite(place)
        try site.sender(showing: Places.fixture("jpeg/phone-563x1219.jpg"))
        let browser = try site.browser(
            [
                Self.says("Live"), Self.shows(563, 1219),
                "document.documentElement.scrollWidth <= innerWidth",
                // The image is whole, and in proportion.
                """
                (() => {
                  const { width, height } = image.getBoundingClientRect();
                  return width <= innerWidth && height <= innerHeight && Math.abs(width / height - 563 / 1219) < 0.01;
                })()
                """,
                "matchMedia('(prefers-color-scheme: dark)').matches === \(options == ["--dark"])",
                "getComputedStyle(document.body).backgroundColor === '\(options == ["--dark"] ? "rgb(18, 21, 27)" : "rgb(245, 246, 248)")'",
            ] + options
        )
        try await expectClean(browser)
    }
}
