import FrameSocket
import FrameTransport
import FrameWire
import TestSupport
import Testing

@testable import FrameSocketTool

/// What a preview makes of addresses, tokens, rates, orientations and Exif data, without a server.
struct PreviewRequestTests {
    private static let addresses: [(text: String, url: String, isLoopback: Bool)] = [
        ("127.0.0.1:8080", "http://127.0.0.1:8080/", true), ("127.255.0.1:1", "http://127.255.0.1:1/", true),
        ("localhost:0", "http://127.0.0.1:0/", true), ("[::1]:65535", "http://[::1]:65535/", true),
        ("0.0.0.0:80", "http://127.0.0.1:80/", false), ("[::]:80", "http://[::1]:80/", false),
        ("192.168.1.2:80", "http://192.168.1.2:80/", false), ("[fd00::1]:80", "http://[fd00::1]:80/", false),
        // Reaches this machine alone, but in a way that the rule does not know.
        ("[::ffff:127.0.0.1]:80", "http://[::ffff:127.0.0.1]:80/", false),
    ]

    @Test func `an address with a port is parsed, and recognized as local or not, and other text is rejected`() {
        func parsed(_ text: String) -> HTTPAddress? {
            HTTPAddress(text).flatMap { $0.isAddress && $0.hasPort ? $0 : nil }
        }
        for (text, url, isLoopback) in Self.addresses {
            #expect(parsed(text)?.url == url && parsed(text)?.isLoopback == isLoopback, "\(text)")
        }
        let others = [
            "", ":", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1",
            "127.1:80", "0x7f.0.0.1:80", "::1:80", "[::1]", "[::1:80", "[127.0.0.1]:80", "[fe80::1%lo]:80",
            "example.org:80", "127.0.0.1 :80", "http://127.0.0.1:80",
        ]
        for text in others { #expect(parsed(text) == nil, "\(text)") }
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.0.0.1:8080", true), ("localhost", true), ("LOCALHOST:9000", true), ("[::1]", true),
        ("[::1]:8080", true), ("192.168.1.2:80", true), ("studio", true), ("Studio:80", true),
        ("evil.example", false), ("evil.example:8080", false), ("127.0.0.1.evil.example", false),
        ("localhost.evil.example", false), ("localhost:8080@evil.example", false), ("127.0.0.1:8080:80", false),
        ("[::1", false), ("[::1]evil", false), ("[evil.example]", false), ("[]", false), ("", false), (":", false),
        (" localhost", false), ("127.1", false), ("2130706433", false), ("localhost.", false), ("studio.evil", false),
    ])
    func `only addresses and this machine's own names are answered`(host: String, isOurs: Bool) {
        let access = PreviewAccess(token: nil, names: ["studio"])
        let absolute = HTTPRequest(target: "http://\(host)/", fields: ["host": "localhost"])
        for request in [HTTPRequest(target: "/", fields: ["host": host]), absolute] {
            #expect((try? access.check(request))?.path == (isOurs ? "/" : nil))
        }
        #expect(throws: HTTPResponse.self) { try access.check(HTTPRequest(target: "/")) }
    }

    @Test(arguments: [
        ("the-token-1", true), ("the-token-2", false), ("the-token-", false), ("the-token-11", false), ("", false),
        ("THE-TOKEN-1", false), ("the-token-1 ", false),
    ])
    func `the token is compared whole`(text: String, isKnown: Bool) {
        let access = PreviewAccess(token: "the-token-1", names: [])
        let request = HTTPRequest(target: "/", fields: ["host": "[::1]:8080"], arguments: ["token": text])
        let cookie = "framesocket-8080=the-token-1; HttpOnly; SameSite=Strict"
        #expect((try? access.check(request))?.cookie == (isKnown ? cookie : nil))
        let fields = ["host": "localhost", "cookie": "a=b; framesocket-80=other;framesocket-80=\(text)"]
        #expect(((try? access.check(HTTPRequest(target: "/", fields: fields))) != nil) == isKnown)
    }

    @Test func `a token that nobody has set is another one each time, and can be part of an address`() {
        let tokens = (0..<100).map { _ in PreviewAccess.makeToken() }
        #expect(Set(tokens).count == 100)
        #expect(tokens.allSatisfy { $0.utf8.count == 32 && $0.isPlain(8...128) })
    }

    @Test func `the page has no address that would leave the path at which it is`() {
        #expect(!(PreviewPage.html + PreviewPage.css).contains("\"/"))
        #expect(!PreviewPage.script.contains("address(\"/") && !PreviewPage.script.contains("ask(\"/"))
    }

    @Test func `a rate is there after a second, and is not too high`() throws {
        let second: UInt64 = 1_000_000_000
        var meter = PreviewMeter()
        #expect(meter.rates(at: second) == nil)
        for index in 0..<40 {
            meter.add(receivedAt: second + UInt64(index) * second / 10, timestamp: second, byteCount: 50)
            let now = second + UInt64(index) * second / 10
            let rates = meter.rates(at: now)
            #expect((rates == nil) == (index < 10), "frame \(index)")
            if let rates { #expect(rates.frames == 10 && rates.bytes == 500) }
        }
        // Two seconds after the last one, there is none.
        #expect(meter.rates(at: 7 * second)?.frames == 0)
    }

    // MARK: Images

    /// Without loss, or decoded and encoded again if a part of a block would have to move.
    @Test(arguments: FrameOrientation.allCases, [(96, 64), (100, 70)])
    func `an image is upright and whole`(orientation: FrameOrientation, size: (Int, Int)) throws {
        let image = try PixelBuffer(width: size.0, height: size.1, format: .gray) { _, x, y in UInt8(2 * x + y / 2) }
        let jpeg = FrameBytes(try JPEGEncoder(quality: 95).encode(image))
        let info = FrameInfo(bufferSize: BufferSize(width: size.0, height: size.1), orientation: orientation)
        let frame = Frame(.jpeg(jpeg), header: FrameHeader(contentLength: jpeg.count, info: info))
        let shown = try PreviewImage(frame, number: 1, of: "test", limits: JPEGDecoder.Limits())
        let expected = try image.upright(from: orientation)
        #expect(shown.size == BufferSize(width: expected.width, height: expected.height))
        let seen = try JPEGDecoder().decode(bytes: shown.jpeg(), as: .gray)
        #expect(try peakSignalToNoiseRatio(seen.ppm(), expected.ppm()) > 35)
    }

    @Test func `an Exif segment is found at any position, and nothing else is`() {
        let segment = HandmadeJPEG.segment
        let exif = segment(0xE1, Array("Exif\0\0II".utf8))
        let xmp = segment(0xE1, Array("http://ns".utf8))
        let jfif = segment(0xE0, Array("JFIF\0".utf8))
        let scan: [UInt8] = [0xFF, 0xDA, 0, 2]
        let cases: [([UInt8], Range<Int>?)] = [
            (exif + scan, 2..<14), (jfif + exif + scan, 11..<23), (xmp + exif, 15..<27),
            ([0xFF] + exif + scan, 3..<15), (jfif + xmp + scan, nil), (scan + exif, nil), ([], nil),
            (segment(0xE1, Array("Exi".utf8)) + scan, nil), ([0xFF, 0xE1, 0, 0], nil), ([0xFF, 0xE1, 0, 1, 0], nil),
            ([0xFF, 0xE1, 0xFF, 0xFF] + exif, nil),
            // What decoders skip.
            ([0, 0, 0, 0] + exif, 6..<18), ([0xFF, 0xD3, 0xFF, 0, 0xFF, 1] + exif, 8..<20),
            ([0xFF, 0xFE, 0, 0] + exif, 6..<18),
        ]
        let two = FrameBytes(copying: ([0xFF, 0xD8] + exif + jfif + exif + scan).span)
        #expect(JPEGExif.removed(from: two) == [0xFF, 0xD8] + jfif + scan)
        let many = (0..<200_000).flatMap { $0 % 1_000 == 0 ? jfif : exif }
        let few = FrameBytes(copying: ([0xFF, 0xD8] + many + scan).span)
        #expect(JPEGExif.removed(from: few) == [0xFF, 0xD8] + (0..<200).flatMap { _ in jfif } + scan)
        for (index, (bytes, expected)) in cases.enumerated() {
            let jpeg = [0xFF, 0xD8] + bytes
            #expect(JPEGExif.segment(of: jpeg.span) == expected, "case \(index)")
            // Cut anywhere, it is found whole or not at all.
            for count in jpeg.indices {
                let found = JPEGExif.segment(of: jpeg.span.extracting(..<count))
                #expect(found == nil || found == expected, "case \(index), cut at \(count)")
            }
        }
    }
}
