import Foundation
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
        "image.naturalWidth === \(width) && image.naturalHeight === \(height) && !image.hidden"
    }

    private static func fact(_ name: String, _ pattern: String) -> String {
        "/\(pattern)/.test(document.getElementById('\(name)').textContent)"
    }

    /// The colour at a place of the image, in parts of its sides, as one of `red`, `green`, `blue`, `white`, or none.
    private static let colour = """
        !!(globalThis.colour = (x, y) => {
          const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight).getContext("2d");
          canvas.drawImage(image, 0, 0);
          const [r, g, b] = canvas.getImageData(x * image.naturalWidth, y * image.naturalHeight, 1, 1).data;
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
            "document.getElementById('command').hidden", Self.shows(562, 1218), Self.moves(4),
            Self.fact("size", "562 × 1218"), Self.fact("rate", "^[1-9].* frames.s$"), Self.fact("latency", " ms$"),
            Self.fact("sender", "process [0-9]+, user [0-9]+"), Self.fact("viewers", "1 of 16"),
            "document.title.startsWith('Live')", "image.alt.includes('562 by 1218')",
            Self.says("No sender"), "image.hidden", Self.tells("has left"),
            "document.getElementById('full').disabled",
        ])
        try await browser.lines(2)
        let screens = Places.fixture("screens/phone-scroll")
        let arguments = ["send", place.socket, screens, "--scale", "1/2", "--loop", "0", "--fps", "10", "--quiet"]
        let sender = try place.framesocket(arguments)
        try await browser.lines(13)
        sender.send(.terminate)
        try await expectClean(browser)
    }

    @Test func `the only image of a still screen is shown, and a pause is displayed`() async throws {
        let site = try await PreviewSite(place)
        let status =
            #"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nMessage-Type: status\r\nSender-State: %s\r\nControl-Version: 1\r\n\r\n"#
        let frame =
            #"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nBuffer-Width: 451\r\nBuffer-Height: 300\r\nBuffer-Orientation: 1\r\n\r\n"#
        let wait = { (name: String) in "while ! [ -e $D/\(name) ]; do sleep 0.02; done" }
        _ = try place.shell(
            """
            { \(wait("begin")); printf '\(frame)' "$(wc -c <$X/jpeg/chelsea-420.jpg)"; cat $X/jpeg/chelsea-420.jpg
              \(wait("pause")); printf '\(status)' paused; \(wait("resume")); printf '\(status)' live
              exec sleep 1000; } | socat -u - UNIX-CONNECT:$S
            """
        )
        let browser = try site.browser([
            Self.says("Waiting"), Self.says("Live"), Self.shows(451, 300), Self.tells("No new frame for"),
            Self.says("Paused"), Self.tells("The sender has paused"), Self.shows(451, 300),
            Self.says("Live"), Self.says("Preview ended"),
        ])
        for (count, name) in [(1, "begin"), (4, "pause"), (7, "resume")] {
            try await browser.lines(count)
            _ = try place.file(name, [])
        }
        try await browser.lines(8)
        site.program.send(.interrupt)
        #expect(await site.program.ended().status == 130)
        let ending = await browser.ended()
        #expect(ending.status == 0, "\(ending)")
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

    @Test func `a sender is selected from a list, and when it leaves, the latest is shown again`() async throws {
        let site = try await PreviewSite(place)
        let first = try site.sender(showing: "cat $X/jpeg/chelsea-420.jpg")
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
        try site.sender(showing: "cat $X/jpeg/phone-563x1219.jpg")
        try await browser.lines(12)
        first.kill()
        let ending = await browser.ended()
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `a viewer without a place is told so, and sees the stream once there is one`() async throws {
        let site = try await PreviewSite(place, "--viewers", "1")
        try site.sender(showing: "cat $X/jpeg/chelsea-420.jpg")
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

    /// The position of the red, green, blue and white quarters when the image is upright.
    @Test(arguments: [
        (1, 96, 64, ["red", "green", "blue", "white"]), (2, 96, 64, ["green", "red", "white", "blue"]),
        (3, 96, 64, ["white", "blue", "green", "red"]), (6, 64, 96, ["green", "white", "red", "blue"]),
        (8, 64, 96, ["blue", "red", "white", "green"]),
    ])
    func `the image of a rotated sender is upright`(
        orientation: Int,
        width: Int,
        height: Int,
        colours: [String]
    ) async throws {
        _ = try place.file("raw", Quarters.pixels(width: 96, height: 64))
        let site = try await PreviewSite(place)
        _ = try place.shell(
            "{ cat $D/raw; exec sleep 1000; } | $F send $S - --size 96x64 --format rgb --orientation \(orientation) --quiet"
        )
        let places = ["0.25, 0.25", "0.75, 0.25", "0.25, 0.75", "0.75, 0.75"]
        let expected = zip(places, colours).map { "colour(\($0)) === '\($1)'" }.joined(separator: " && ")
        let browser = try site.browser([Self.colour, Self.shows(width, height), expected])
        try await expectClean(browser)
    }

    @Test func `a sender's own Exif orientation is ignored`() async throws {
        let site = try await PreviewSite(place)
        try site.sender(showing: "cat $X/jpeg/chelsea-exif-6.jpg")
        let browser = try site.browser([
            Self.says("Live"), Self.shows(300, 451), "image.getBoundingClientRect().width === 300",
        ])
        try await expectClean(browser)
    }

    @Test(arguments: [["--size", "400x800"], ["--dark"]])
    func `the page fits into a narrow window, and is dark if that is preferred`(options: [String]) async throws {
        let site = try await PreviewSite(place)
        try site.sender(showing: "cat $X/jpeg/phone-563x1219.jpg")
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
