import Foundation
import FrameSocketTesting
import FrameTransport
import TestSupport
import Testing

/// A `framesocket preview` at the socket of a workplace, and those who look at its page.
struct PreviewSite {
    let place: Workplace
    let program: Program
    /// The path at which it listens.
    let path: String
    /// Where the page is, with its token.
    let url: String

    /// The address of something that a program reads, with the token.
    func url(_ path: String) -> String {
        let parts = url.split(separator: "?", maxSplits: 1)
        return parts[0] + path + (parts.count == 1 ? "" : (path.contains("?") ? "&" : "?") + parts[1])
    }

    /// The port of the page.
    var port: Int { URL(string: url)?.port ?? 0 }

    /// Starts a preview, and waits until its page is available.
    init(
        _ place: Workplace,
        _ arguments: String...,
        at path: String? = nil,
        http: String = "127.0.0.1:0",
        timeScale: Double = 1
    ) async throws {
        self.place = place
        self.path = path ?? place.socket
        let all = ["preview", self.path, "--http", http, "--json"] + arguments
        program = try place.framesocket(all, timeScale: timeScale)
        let events = try await program.lines(2).map { try Event($0) }
        // A sender that was there before may be connected by now.
        guard let url = events.compactMap({ $0.text("url") }).first else {
            throw Program.Failure(description: "no address: \(events)")
        }
        self.url = url
    }

    /// What is answered to a request with the cookie of the page, unless its fields say otherwise.
    func get(
        _ path: String,
        method: String = "GET",
        _ fields: [String: String] = [:],
        body: [UInt8]? = nil
    ) async throws -> PreviewAnswer {
        let token = url.split(separator: "token=").last ?? ""
        var all = ["Host": "127.0.0.1:\(port)", "Cookie": "framesocket-\(port)=\(token)", "Connection": "close"]
        if let body { all["Content-Length"] = "\(body.count)" }
        all.merge(fields) { $1 }
        let client = try connection()
        try await client.write("\(method) \(path) HTTP/1.1\r\n\(all.map { "\($0.key): \($0.value)\r\n" }.joined())\r\n")
        try await client.write(body ?? [])
        var bytes: [UInt8] = []
        while case let piece = try await client.readSome(upTo: 1 << 16), !piece.isEmpty { bytes += piece }
        let answer = try #require(PreviewAnswer(bytes), "\(path): \(bytes.count) bytes")
        if method == "GET", answer.status != 204, answer.status != 304 {
            #expect(answer.fields["content-length"] == "\(answer.body.count)")
        }
        return answer
    }

    /// What `/state` says, of one sender if it is named.
    func state(of sender: Int? = nil) async throws -> PreviewReport {
        let answer = try await get("/state" + (sender.map { "?sender=\($0)" } ?? ""))
        return try JSONDecoder().decode(PreviewReport.self, from: Data(answer.body))
    }

    /// Waits until `/state` says what is expected.
    @discardableResult
    func state(where isExpected: (PreviewReport) -> Bool) async throws -> PreviewReport {
        let start = ContinuousClock.now
        while true {
            let state = try await state()
            if isExpected(state) { return state }
            guard ContinuousClock.now - start < Patience.length else {
                throw Program.Failure(description: "the state never became that: \(state)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Starts to read `/stream`, or to ask for one image after another, and waits for the answer's head.
    func viewer(_ options: [String] = [], as action: String = "stream") async throws -> Program {
        let viewer = try place.start(Places.python, ["-B", Places.peer("watch_preview"), url, action] + options)
        try await viewer.lines(1)
        return viewer
    }

    /// A connection to the page that writes what it is told, whether HTTP allows that or not.
    func connection() throws -> PeerSocket {
        try PeerSocket.connected(to: .loopback(port: UInt16(clamping: port)))
    }

    /// Starts a sender that shows images of files, and then stays; the test may write more to it.
    @discardableResult
    func sender(showing files: String..., options: String...) throws -> Program {
        let arguments = ["send", path, "-", "--quiet", "--passthrough"] + options
        let sender = try place.framesocket(arguments, input: .pipe(InputPipe()))
        for file in files { sender.write(try Data.bytes(at: file)) }
        return sender
    }

    /// Opens pages in a browser, which waits for each of the steps in every one; see Tests/Browser/look.py.
    func browser(
        _ steps: [String],
        options: [String] = [],
        query: String = "",
        pages: Int = 1,
        in browser: Browser = .chromium
    ) throws -> BrowserRun {
        let program = try Places.program(of: browser) ?? Places.tool(browser.rawValue)
        let look = ["-B", Places.package + "Tests/Browser/look.py", "--\(browser)", program, "--tabs", "\(pages)"]
        let run = try place.start(Places.python, look + options + [self.url(query)] + steps)
        return BrowserRun(program: run, pages: pages)
    }
}

/// A browser that opens pages and waits for steps in them, for each of which it has as much patience as a test for anything.
struct BrowserRun {
    fileprivate let program: Program
    fileprivate let pages: Int

    /// Waits until so many steps have been made.
    func steps(_ count: Int) async throws { try await program.lines(pages + count) }

    /// Waits for all steps and the end, which has to be a good one; if it is clean, nothing was refused by the content security
    /// policy, and nothing was thrown.
    func ended(isClean: Bool = false) async {
        _ = try? await program.lines(.max)
        let ending = await program.ended()
        #expect(ending.status == 0, "\(ending)")
        if isClean { #expect(ending.lines.last == #"{"errors": []}"#) }
    }
}

extension PeerSocket {
    /// Writes text as it is.
    func write(_ text: String) async throws {
        try await write(Array(text.utf8))
    }

    /// The status line of an answer that begins with what is read next.
    func statusLine() async throws -> String {
        let bytes = try await readSome(upTo: 100)
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
    }

    /// Whether the other end has not closed the connection; takes a byte of an answer, if there is one.
    func isOpen() async -> Bool {
        if isQuiet { return true }
        return (try? await readSome(upTo: 1))?.isEmpty == false
    }
}

/// An answer of a page's server.
struct PreviewAnswer {
    let status: Int
    /// By their names in lower case.
    let fields: [String: String]
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    fileprivate init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        guard let status = Int(lines[0].dropFirst("HTTP/1.1 ".count).prefix(3)) else { return nil }
        let pairs = lines.dropFirst().map { $0.split(separator: ": ", maxSplits: 1).map(String.init) }
        fields = Dictionary(pairs.map { ($0[0].lowercased(), $0.last ?? "") }) { $1 }
        (self.status, body) = (status, Array(bytes[end.upperBound...]))
    }
}

/// What `/state` says.
struct PreviewReport: Decodable, Sendable {
    struct Choice: Decodable, Sendable {
        let connection: Int
        let pid: Int?
        let width: Int?
    }

    let choices: [Choice]
    let state, path: String
    let senders, viewers, maximumViewers: Int
    let connection, pid, uid: Int?
    let frames, bytes, missing, superseded, undecodable: Int?
    let framesPerSecond: Double?
    let bytesPerSecond, latency, latencyMaximum: Int?
    let width, height, orientation, age: Int?
    let lastEnd: String?
    let last: Choice?
}

/// A browser that opens the page.
enum Browser: String, CaseIterable {
    case chromium, firefox
}

extension Places {
    /// The program of Chromium; nil if none runs.
    static let chromium = running(["chromium", "chromium-browser", "google-chrome"])
    private static let firefox = running(["firefox-esr", "firefox"])

    /// The program of a browser; nil if none runs.
    static func program(of browser: Browser) -> String? { browser == .chromium ? chromium : firefox }

    /// The first program that does as it is asked: what some systems install under a browser's name only tells where to get it.
    private static func running(_ names: [String]) -> String? {
        names.lazy.compactMap { try? tool($0) }.first { (try? ChildProcess($0, ["--version"]))?.status == 0 }
    }
}
