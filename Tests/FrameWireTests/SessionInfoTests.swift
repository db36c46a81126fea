import FrameWire
import TestDescriptions
import TestSupport
import Testing

/// What the two sides state about themselves: which values are valid, and how they cross the wire.
@Suite("Session infos", .tags(.computes))
struct SessionInfoTests {
    typealias Info = ControlRequest.SessionInfo

    private static func text(_ count: Int) -> String { String(repeating: "v", count: count) }

    /// As large as an info may be: 4,096 bytes.
    private static func largest() throws -> Info {
        try Info(Dictionary(uniqueKeysWithValues: (10..<18).map { ("\($0)" + text(252), text(256)) }))
    }

    /// Values of which no more are allowed, each as large as it may be: what an earlier version writes.
    private static let earlierValues = Dictionary(
        uniqueKeysWithValues: (10..<26).map { ("\($0)" + text(254), text(256)) }
    )

    /// Their lines: 8,224 bytes.
    private static let earlierBody = earlierValues.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\n" }.joined()

    // MARK: Validity

    @Test(
        arguments: [
            (["": "v"], "invalid key"), (["a b": "v"], "invalid key"), (["a=b": "v"], "invalid key"),
            (["a\u{0}": "v"], "invalid key"), (["a\r\n": "v"], "invalid key"), (["ключ": "v"], "invalid key"),
            (["a:": "v"], "invalid key"), ([text(257): "v"], "has 257 bytes"), (["k": "a\u{0}b"], "contains NUL"),
            (["k": "a\r\nX: 1"], "contains NUL"), (["k": "\n"], "contains NUL"), (["k": "\r"], "contains NUL"),
            (["k": text(257)], "has 257 bytes"), (["k": String(repeating: "ü", count: 129)], "has 258 bytes"),
            (Dictionary(uniqueKeysWithValues: (0..<17).map { ("k\($0)", "") }), "more than 16 values"),
            (Dictionary(uniqueKeysWithValues: (0..<9).map { ("k\($0)" + text(254), text(254)) }), "4608 bytes"),
        ] as [([String: String], String)]
    )
    func `invalid values are refused with what is wrong`(values: [String: String], sentence: String) throws {
        let error = try #require(throws: WireError.self) { try Info(values) }
        #expect(error.code == .infoInvalid && error.byteOffset == nil && error.detail.contains(sentence), "\(error)")
        // What a person reads contains nothing that a terminal would obey.
        #expect(error.message.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } && error.message.utf8.count < 200)
    }

    @Test func `a value that is refused changes nothing`() throws {
        var info = try Info(["a": "1"])
        #expect(throws: WireError.self) { try info.set("x\ny", for: "a") }
        #expect(throws: WireError.self) { try info.set("x", for: "a b") }
        #expect(info.values == ["a": "1"])
        try info.set(nil, for: "a")
        #expect(info.values.isEmpty)
    }

    /// Shows P330.
    @Test func `everything that the limits allow is written and read`() throws {
        let values = [
            [:], ["a": ""], ["!#$%&'*+-.^_`|~09AZaz": "= \t\u{7F}\u{9B}\"\\😀"],
            ["k": String(repeating: "ü", count: 128), "K": "other"], try Self.largest().values,
        ]
        for values in values {
            var info = try Info(values)
            (info.size, info.frameRate, info.offersAudio) = (BufferSize(width: 281, height: 609), 29.97, false)
            let good = Streams.good()
            let result = transcript(ofEverySplitOf: good + info.encoded() + good)
            #expect(result.error == nil && result.areAllComplete && result.entries.count == 3)
            #expect(result.items[1] == .message(.info(info)) && result.entries[1].body.isEmpty)
            let plain = try Info(values)
            let request = ControlRequest.info(plain).encoded()
            let ping = Streams.good(.requests)
            let requests = transcript(ofEverySplitOf: ping + request + ping, .requests)
            #expect(requests.error == nil)
            #expect(requests.items == [.request(.ping(7)), .request(.info(plain)), .request(.ping(7))])
        }
    }

    // MARK: The wire

    @Test func `an info is written byte for byte as specified`() throws {
        var info = try Info(["b": "2=2", "a": "ü"])
        info.size = BufferSize(width: 562, height: 1218)
        info.frameRate = 15
        info.offersAudio = true
        let lines = [
            "Content-Length: 11", "Message-Type: info", "Buffer-Width: 562", "Buffer-Height: 1218",
            "Frame-Rate: 15000", "Offers-Audio: 1",
        ]
        #expect(info.encoded() == Array((Streams.header(lines) + "a=ü\nb=2=2\n").utf8))
        let request = "POST /info HTTP/1.1\r\nContent-Length: 11\r\n\r\na=ü\nb=2=2\n"
        #expect(ControlRequest.info(info).encoded() == Array(request.utf8))
        let hello = ControlRequest.hello(ControlRequest.Hello(wantsInfo: true)).encoded()
        #expect(String(decoding: hello, as: UTF8.self).hasSuffix("\r\nWants-Info: 1\r\n\r\n"))
        #expect(Transcript(of: hello, .requests).items == [.request(.hello(ControlRequest.Hello(wantsInfo: true)))])
    }

    @Test func `sizes and rates that are not allowed are not written`() {
        for (width, rate) in [(0, 0), (-1, -1), (65_536, 1_000_001), (.max, .max)] {
            var info = Info()
            info.size = BufferSize(width: width, height: 1)
            info.frameRateInMillihertz = rate
            #expect(Transcript(of: info.encoded()).items == [.message(.info(Info()))])
        }
    }

    private static func wrong(_ body: String) -> WireCase {
        let count = body.unicodeScalars.count { $0 != "¦" }
        let header = Streams.header(["Content-Length: \(count)", "Message-Type: info"])
        return WireCase(.infoInvalid, stream: header + body)
    }

    /// The body of an info with one wrong byte.
    private static let wrongBodies: [String] = [
        "¦=v\n", "a¦ b=1\n", "a¦\n", "a=1\n¦=2\n", "a=1\na¦=2\n", "a=x¦\u{0}\n", "a=x¦\r\n", "a=\u{C3}\u{28}¦\n",
        "a=\u{ED}\u{A0}\u{80}¦\n", "a=\u{FF}¦\n", "\u{FF}".replacing("\u{FF}", with: "¦\u{FF}=1\n"), "a=¦1", "¦a",
        "a=1\n¦\n", text(256) + "¦v=1\n", "a=" + text(256) + "¦v\n",
        (0..<16).map { "k\($0)=\n" }.joined() + "¦k=\n",
    ]

    /// Shows P330.
    @Test(arguments: wrongBodies) func `wrong values in a message are an error at their byte`(body: String) {
        Self.wrong(body).check()
    }

    @Test func `wrong headers of an info are errors`() {
        let kind = "HTTP/1.1 200 OK\r\nMessage-Type: info\r\n"
        for wireCase in [
            WireCase(.fieldMissing, stream: kind + "\r¦\n"),
            WireCase(.fieldMissing, stream: kind + "Content-Length: 0\r\nBuffer-Width: 1\r\n\r¦\n"),
            WireCase(.contentLengthTooLarge, stream: kind + "Content-Length: 8225\r\n\r¦\n"),
        ] { wireCase.check() }
        let cut = Transcript(of: Array((kind + "Content-Length: 4\r\n\r\na=").utf8))
        #expect(cut.error?.code == .bodyTruncated && cut.error?.detail == "2 of 4 bytes" && cut.entries.isEmpty)
        let wrong = Transcript(of: Array((kind + "Content-Length: 4\r\n\r\n=").utf8))
        #expect(wrong.error?.code == .infoInvalid && wrong.error?.detail == "\"=\"")
    }

    /// Shows P330.
    @Test(arguments: wrongBodies) func `wrong values in a request skip it`(body: String) {
        let count = body.unicodeScalars.count { $0 != "¦" }
        let stream = "POST /info HTTP/1.1\r\nContent-Length: \(count)\r\n\r\n" + body
        WireCase(.infoInvalid, .requests, stream: stream).checkIsSkipped(name: "info")
    }

    private static func part(_ body: String, continues: String? = nil) -> String {
        let more = continues.map { "Info-Continues: \($0)\r\n" } ?? ""
        return "POST /info HTTP/1.1\r\nContent-Length: \(body.utf8.count)\r\n\(more)\r\n\(body)"
    }

    /// Shows P330.
    @Test(
        arguments: [
            // What an earlier version divides is skipped, whatever a part says by itself, and what follows it is read.
            ([part("a=1\n", continues: "1"), part("b=2\n")], [], 2),
            ([part("a=", continues: "1"), part("", continues: "1"), part("1\n", continues: "0")], [], 3),
            ([part("a=", continues: "1"), part("1\n"), part("b=2\n")], ["b=2"], 2),
            ([part("a=1\n", continues: "x"), part("b=2\n"), part("c=3\n")], ["c=3"], 2),
            ([part("a=1\n"), part("=\n"), part("c=3\n")], ["a=1", "c=3"], 1),
            ([part("a=1\n", continues: "0"), part("b=2\n")], ["a=1", "b=2"], 0),
            ([part("a=1\n"), part("")], ["a=1", ""], 0),
        ]
    )
    func `each info of a receiver is read by itself, or skipped`(parts: [String], infos: [String], skipped: Int) {
        let result = transcript(ofEverySplitOf: parts.joined().bytes + Streams.good(.requests), .requests)
        let read = result.items.compactMap { item -> String? in
            guard case .request(.info(let info)) = item else { return nil }
            return info.values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ",")
        }
        #expect(result.error == nil && read == infos && result.entries.count == infos.count + skipped + 1)
        #expect(result.items.last == .request(.ping(7)))
    }

    @Test func `the values of an earlier sender are read, and not written in full`() throws {
        let header = Streams.header(["Content-Length: 8224", "Message-Type: info"])
        let items = Transcript(of: Array((header + Self.earlierBody).utf8)).items
        guard case .message(.info(let info))? = items.first, items.count == 1 else {
            Issue.record("\(items) is no info")
            return
        }
        #expect(info.values == Self.earlierValues)
        let written = Transcript(of: info.encoded()).items
        let first = Dictionary(uniqueKeysWithValues: Self.earlierValues.sorted { $0.key < $1.key }.prefix(7).map { $0 })
        #expect(written == [.message(.info(try Info(first)))])
    }
}
