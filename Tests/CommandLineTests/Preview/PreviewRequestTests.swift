import FrameTransport
import Testing

@testable import FrameSocketTool

/// Who may ask a preview for what, and how images are put into a stream: without a server.
struct PreviewRequestTests {
    @Test(arguments: [
        ("127.0.0.1:8080", "http://127.0.0.1:8080/", true),
        ("127.255.0.1:1", "http://127.255.0.1:1/", true),
        ("localhost:0", "http://127.0.0.1:0/", true),
        ("[::1]:65535", "http://[::1]:65535/", true),
        ("0.0.0.0:80", "http://127.0.0.1:80/", false),
        ("[::]:80", "http://[::1]:80/", false),
        ("192.168.1.2:80", "http://192.168.1.2:80/", false),
        ("[fd00::1]:80", "http://[fd00::1]:80/", false),
        // Reaches this machine alone, but in a way that the rule does not know.
        ("[::ffff:127.0.0.1]:80", "http://[::ffff:127.0.0.1]:80/", false),
    ])
    func `an address is parsed, and recognized as local or not`(
        text: String,
        url: String,
        isLoopback: Bool
    ) throws {
        let address = try #require(HTTPAddress(text))
        #expect(address.url == url)
        #expect(address.isLoopback == isLoopback)
    }

    @Test(arguments: [
        "", ":", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.1:80",
        "0x7f.0.0.1:80", "::1:80", "[::1]", "[::1:80", "[127.0.0.1]:80", "[fe80::1%lo]:80", "example.org:80",
        "127.0.0.1 :80", "http://127.0.0.1:80",
    ])
    func `text that is not an address with a port is rejected`(text: String) {
        #expect(HTTPAddress(text) == nil)
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
        let request = HTTPRequest(method: "GET", path: "/", host: host, site: nil)
        #expect(request.isForThisHost(named: ["studio"]) == isOurs)
    }

    @Test func `a request that names no host is not answered`() {
        let request = HTTPRequest(method: "GET", path: "/", host: nil, site: nil)
        #expect(!request.isForThisHost(named: ["studio"]))
    }

    @Test(arguments: ["/state", "/snapshot.jpg", "/stream"])
    func `a sender that is not connected or not a number cannot be selected`(path: String) {
        let routes = PreviewRoutes(
            stage: PreviewStage(maximumViewers: 1),
            endpoint: .path("/run/s"),
            names: [],
            user: nil
        )
        for (sender, status) in [("1", 404), ("0", 400), ("-1", 400), ("", 400), ("1x", 400), ("\u{0661}", 400)] {
            let request = HTTPRequest(method: "GET", path: path, host: "localhost", site: nil, sender: sender)
            #expect(routes.answer(request).status == UInt32(status), "\(sender)")
        }
    }

    private func answer(_ method: String, _ path: String, site: String? = nil) -> HTTPResponse {
        let stage = PreviewStage(maximumViewers: 1)
        let routes = PreviewRoutes(stage: stage, endpoint: .path("/run/s"), names: [], user: nil)
        return routes.answer(HTTPRequest(method: method, path: path, host: "localhost", site: site))
    }

    @Test(
        arguments: [
            ("GET", "/", nil, 200), ("HEAD", "/", nil, 200), ("GET", "/preview.css", nil, 200),
            ("GET", "/preview.js", nil, 200), ("GET", "/icon.svg", nil, 200), ("GET", "/state", nil, 200),
            ("GET", "/stream", nil, 200), ("GET", "/snapshot.jpg", nil, 404), ("GET", "/none", nil, 404),
            ("GET", "//", nil, 404), ("POST", "/", nil, 405), ("PUT", "/state", nil, 405),
            ("OPTIONS", "/state", nil, 405),
            ("get", "/", nil, 405),
            ("GET", "/stream", "same-origin", 200), ("GET", "/state", "none", 200), ("GET", "/", "cross-site", 200),
            ("GET", "/stream", "cross-site", 403), ("GET", "/state", "same-site", 403),
            ("GET", "/snapshot.jpg", "cross-site", 403),
        ] as [(String, String, String?, UInt32)]
    )
    func `existing resources can be requested, but not by other sites`(
        method: String,
        path: String,
        site: String?,
        status: UInt32
    ) {
        let answer = answer(method, path, site: site)
        #expect(answer.status == status)
        // Whatever it is, nobody keeps it, guesses at it or frames it.
        let fields = Dictionary(answer.fields.map { ($0.name, $0.value) }) { first, _ in first }
        #expect(fields["Cache-Control"] == "no-store")
        #expect(fields["X-Content-Type-Options"] == "nosniff")
        #expect(fields["Content-Security-Policy"]?.hasPrefix("default-src 'none'; ") == true)
        #expect(fields["Cross-Origin-Resource-Policy"] == "same-origin")
    }

    @Test(
        arguments: [(1_000, 1_000, 200), (1_000, 0, 200), (1_000, 1_001, 403), (1_000, nil, 403), (0, 1_000, 403)]
            as [(UInt32, UInt32?, UInt32)]
    )
    func `only root and the user who started the preview may watch`(user: UInt32, client: UInt32?, status: UInt32) {
        let stage = PreviewStage(maximumViewers: 1)
        let routes = PreviewRoutes(stage: stage, endpoint: .path("/run/s"), names: [], user: user)
        for path in ["/", "/state", "/stream"] {
            let request = HTTPRequest(method: "GET", path: path, host: "localhost", site: nil, userID: client)
            #expect(routes.answer(request).status == status)
        }
    }

    @Test(
        arguments: [
            ("0100007F:C350 0100007F:1F90", 1_000), ("0100007F:1F90 0100007F:C350", 1_001),
            // Of another address, without an owner any more, listening, cut off, or not there.
            ("0200007F:C350 0100007F:1F90", 1_002), ("0100007F:C351 0100007F:1F90", nil),
            ("00000000:1F90 00000000:0000", nil), ("0100007F:C352 0100007F:1F90", nil), ("", nil),
            // Closed by its owner for sending alone.
            ("0100007F:C353 0100007F:1F90", 1_003),
            // A socket of IPv6.
            (HTTPClient.mapped("0100007F:C354 0100007F:1F90"), 1_004),
        ] as [(String, UInt32?)]
    )
    func `the owner of a socket is found in the kernel's table`(addresses: String, owner: UInt32?) {
        let table = """
              sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
               0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 101 1 0 100 0 0 10 0
               1: 0200007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1002        0 102 1 0 20 4 30 10 -1
               2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 103 1 0 20 4 30 10 -1
               3: 0100007F:C351 0100007F:1F90 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1
               4: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1001        0 104 1 0 20 4 30 10 -1
               5: 0100007F:C353 0100007F:1F90 05 00000000:00000000 00:00000000 00000000  1003        0 105 1 0 20 4 30 10 -1
               6: 0000000000000000FFFF00000100007F:C354 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000  1004        0 106 1 0 20 4 30 10 -1
               7: 0100007F:C352 0100007F:1F90 01 00000000
            """
        #expect(HTTPClient.userID(ofSocket: addresses, in: table) == owner)
    }

    @Test(
        arguments: [
            (nil, false), ("", false), ("\"a-1\"", true), ("W/\"a-1\"", true), ("\"b-1\", \"a-1\"", true),
            ("\"b-1\",W/\"a-1\"", true), ("\"a-11\"", false), ("a-1", false), ("\"a-1", false), ("*", false),
            ("\"b-1\"", false), (",,", false),
        ] as [(String?, Bool)]
    )
    func `what a client has is recognized by its tag`(tags: String?, isKnown: Bool) {
        let request = HTTPRequest(method: "GET", path: "/", host: nil, site: nil, knownTags: tags)
        #expect(request.knows("a-1") == isKnown)
    }

    @Test(
        arguments: [
            (nil, nil), ("", nil), ("wait=1", 1), ("Wait = 5", 5), ("respond-async, wait=10", 10), ("wait=\"3\"", 3),
            ("wait=2; x=y", 2), ("wait", nil), ("wait=", nil), ("wait=0", nil), ("wait=-1", nil), ("wait=1.5", nil),
            ("wait=99999999999999999999", nil), ("waiting=1", nil), (";,=", nil), ("return=minimal", nil),
        ] as [(String?, Int?)]
    )
    func `how long a client would wait is read from its preferences`(preference: String?, seconds: Int?) {
        let request = HTTPRequest(method: "GET", path: "/", host: nil, site: nil, preference: preference)
        #expect(request.patience == seconds)
    }

    // MARK: The stream

    /// All that a stream has to write, in rooms of `size` bytes.
    private func write(_ stream: inout MultipartStream, room size: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            var room = [UInt8](repeating: 0, count: size)
            var span = room.mutableSpan
            let count = stream.write(to: &span)
            if count == 0 { return bytes }
            bytes += room[..<count]
        }
    }

    @Test(arguments: [1, 2, 7, 64, 4_096])
    func `each part states its length, and the boundary directly follows each image`(room: Int) {
        var stream = MultipartStream(boundary: "B")
        #expect(stream.contentType == "multipart/x-mixed-replace; boundary=B")
        #expect(String(decoding: write(&stream, room: room), as: UTF8.self) == "--B\r\n")
        #expect(stream.isIdle)
        for image in ["first", "", "second\r\n--A"] {
            let bytes = Array(image.utf8)
            stream.add(FrameBytes(bytes))
            #expect(!stream.isIdle)
            let header = "Content-Type: image/jpeg\r\nContent-Length: \(bytes.count)\r\n\r\n"
            #expect(String(decoding: write(&stream, room: room), as: UTF8.self) == header + image + "\r\n--B\r\n")
            #expect(stream.isIdle)
        }
    }

    @Test func `no two streams have the same boundary`() {
        let types = (0..<100).map { _ in MultipartStream().contentType }
        #expect(Set(types).count == 100)
    }

    // MARK: Exif

    /// A segment with its length.
    private func segment(_ kind: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0xFF, kind, UInt8(content.count + 2) >> 8, UInt8((content.count + 2) & 0xFF)] + content
    }

    @Test func `an Exif segment is found at any position, and nothing else is`() {
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
        #expect(JPEGExif.removed(from: two).array() == [0xFF, 0xD8] + jfif + scan)
        let many = (0..<200_000).flatMap { $0 % 1_000 == 0 ? jfif : exif }
        let few = FrameBytes(copying: ([0xFF, 0xD8] + many + scan).span)
        #expect(JPEGExif.removed(from: few).array() == [0xFF, 0xD8] + (0..<200).flatMap { _ in jfif } + scan)
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
