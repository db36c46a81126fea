import FrameWire
import TestDescriptions
import Testing

@Suite("Invalid requests: fatal or skipped", .tags(.computes))
struct ControlErrorTests {
    @Test(
        arguments: [
            ControlCase(.requestLineMethod, stream: "¦GET /pause HTTP/1.1\r\n"),
            ControlCase(.requestLineMethod, stream: "¦\r\nPOST /pause HTTP/1.1\r\n"),
            ControlCase(.requestLineMethod, stream: "¦HTTP/1.1 200 OK\r\n"),
            ControlCase(.requestLineMethod, stream: "¦\u{0}"),
            ControlCase(.requestLineMethod, stream: "P¦ost /pause HTTP/1.1\r\n"),
            ControlCase(.requestLineMethod, stream: "POST¦\t/pause HTTP/1.1\r\n"),
            ControlCase(.requestLineMethod, stream: "POST ¦ /pause HTTP/1.1\r\n"),
            ControlCase(.requestLineMethod, stream: "POST ¦pause HTTP/1.1\r\n"),
            ControlCase(.requestLineTarget, stream: "POST /pau¦\tse HTTP/1.1\r\n"),
            ControlCase(.requestLineTarget, stream: "POST /pause¦\r\n"),
            ControlCase(.requestLineTarget, stream: "POST /¦\n"),
            ControlCase(.requestLineTarget, stream: "POST /caf¦\u{E9} HTTP/1.1\r\n"),
            ControlCase(.requestLineTarget, stream: "POST /x¦\u{7F} HTTP/1.1\r\n"),
            ControlCase(.requestLineVersion, stream: "POST /pause ¦ HTTP/1.1\r\n"),
            ControlCase(.requestLineVersion, stream: "POST /pause HTTP/¦2.0\r\n"),
            ControlCase(.requestLineVersion, stream: "POST /pause HTTP/1.¦0\r\n"),
            ControlCase(.requestLineVersion, stream: "POST /pause HTTP/1.1¦ \r\n"),
            ControlCase(.requestLineVersion, stream: "POST /pause HTTP/1¦\r\n"),
            ControlCase(.requestLineVersion, stream: "POST /pause ¦http/1.1\r\n"),
            ControlCase(.lineBareLineFeed, stream: "POST /pause HTTP/1.1¦\n"),
            ControlCase(.lineBareCarriageReturn, stream: "POST /pause HTTP/1.1\r¦X"),
        ]
    )
    func `a line that is not a request line is an error`(_ controlCase: ControlCase) { controlCase.checkIsFinal() }

    @Test(
        arguments: [
            ControlCase(.fieldMissing, stream: "POST /pause HTTP/1.1\r\n\r¦\n"),
            ControlCase(.fieldMissing, stream: "POST /nope HTTP/1.1\r\nX: y\r\n\r¦\n"),
            ControlCase(.fieldDuplicate, "pause", "Content-Length¦: 0"),
            ControlCase(.fieldDuplicate, "nope", "content-length¦: 4"),
            ControlCase(.fieldUnsupported, "nope", "Transfer-Encoding¦: chunked"),
            ControlCase(.numberEmpty, stream: "POST /pause HTTP/1.1\r\nContent-Length: ¦\r\n\r\n"),
            ControlCase(.numberInvalid, stream: "POST /pause HTTP/1.1\r\nContent-Length: ¦-1\r\n\r\n"),
            ControlCase(.numberInvalid, stream: "POST /nope HTTP/1.1\r\nContent-Length: 4¦,4\r\n\r\n"),
            ControlCase(.numberInvalid, stream: "POST /nope HTTP/1.1\r\nContent-Length: 4 ¦4\r\n\r\n"),
            ControlCase(.numberInvalid, stream: "POST /nope HTTP/1.1\r\nContent-Length: ¦x\r\n\r\n"),
            ControlCase(.numberLeadingZero, stream: "POST /nope HTTP/1.1\r\nContent-Length: 0¦4\r\n\r\n"),
            ControlCase(.contentLengthTooLarge, stream: "POST /nope HTTP/1.1\r\nContent-Length: 409¦7\r\n\r\n"),
        ]
    )
    func `a length without which the next request cannot be found is an error`(_ controlCase: ControlCase) {
        controlCase.checkIsFinal()
    }

    @Test(
        arguments: [
            ControlCase(.lineBareLineFeed, "pause", "X: y¦\n"),
            ControlCase(.lineBareLineFeed, "pause", "¦\n"),
            ControlCase(.lineBareCarriageReturn, "pause", "X: y\r¦z"),
            ControlCase(.lineBareCarriageReturn, "pause", "\r¦z"),
            ControlCase(.fieldFolded, "pause", "¦ folded"),
            ControlCase(.fieldEmptyName, "pause", "¦: y"),
            ControlCase(.fieldInvalidName, "pause", "X¦\u{85}: y"),
            ControlCase(.fieldSpaceBeforeColon, "pause", "Ping-Number¦ : 1"),
            ControlCase(.fieldNoColon, "pause", "nocolon¦"),
            ControlCase(.fieldInvalidValue, "pause", "X: ¦\u{7}"),
            ControlCase(.fieldInvalidValue, "ping", "Ping-Number: 1¦\u{0}"),
            // A number that is already wrong does not make the bytes behind it right.
            ControlCase(.fieldInvalidValue, "ping", "Ping-Number: x¦\u{0}"),
        ]
    )
    func `a malformed request header is an error`(_ controlCase: ControlCase) { controlCase.checkIsFinal() }

    /// Shows P28.
    @Test(
        arguments: [
            ("hello", ControlCase(.numberOutOfRange, "hello", "Control-Version: 0¦")),
            ("hello", ControlCase(.numberOutOfRange, "hello", "Control-Version: 0¦ ")),
            ("hello", ControlCase(.numberOutOfRange, "hello", "Control-Version: 1000¦0")),
            ("hello", ControlCase(.numberOutOfRange, "hello", "Control-Version: 1", "Wants-Audio: ¦2")),
            ("hello", ControlCase(.numberInvalid, "hello", "Control-Version: 1", "Wants-Pictures: ¦yes")),
            ("hello", ControlCase(.fieldDuplicate, "hello", "Control-Version: 1", "Control-Version¦: 1")),
            ("hello", ControlCase(.fieldMissing, stream: "POST /hello HTTP/1.1\r\nContent-Length: 0\r\n\r¦\n")),
            ("stop", ControlCase(.fieldMissing, stream: "POST /stop HTTP/1.1\r\nContent-Length: 0\r\n\r¦\n")),
            ("stop", ControlCase(.finishReasonUnknown, "stop", "Finish-Reason: 10000¦")),
            ("stop", ControlCase(.finishReasonUnknown, "stop", "Finish-Reason: 1001¦1")),
            ("stop", ControlCase(.numberInvalid, "stop", "Finish-Reason: ¦user")),
            ("prefer", ControlCase(.numberOutOfRange, "prefer", "Prefer-Frame-Rate: 0¦")),
            ("prefer", ControlCase(.numberOutOfRange, "prefer", "Prefer-Frame-Rate: 100000¦1")),
            ("prefer", ControlCase(.numberInvalid, "prefer", "Prefer-Frame-Rate: 29¦.97")),
            ("prefer", ControlCase(.dimensionZero, "prefer", "Prefer-Width: 0¦", "Prefer-Height: 1")),
            ("prefer", ControlCase(.dimensionTooLarge, "prefer", "Prefer-Width: 1", "Prefer-Height: 1638¦5")),
            ("prefer", ControlCase(.numberOutOfRange, "prefer", "Prefer-Quality: 0¦")),
            ("prefer", ControlCase(.numberOutOfRange, "prefer", "Prefer-Quality: 10¦1")),
            ("prefer", ControlCase(.numberOutOfRange, "prefer", "Prefer-Byte-Rate: 0¦")),
            ("prefer", ControlCase(.numberOutOfRange, "prefer", "Prefer-Byte-Rate: 9999999999¦0")),
            (
                "prefer",
                ControlCase(
                    .fieldMissing,
                    stream: "POST /prefer HTTP/1.1\r\nContent-Length: 0\r\nPrefer-Width: 4\r\n\r¦\n"
                )
            ),
            ("ping", ControlCase(.numberEmpty, "ping", "Ping-Number:¦")),
            ("ping", ControlCase(.numberLeadingZero, "ping", "Ping-Number: 0¦1")),
            ("ping", ControlCase(.numberOverflow, "ping", "Ping-Number: 1844674407370955161¦6")),
            // The first fault counts, and a field that is missing does not where another is wrong.
            ("ping", ControlCase(.numberInvalid, "ping", "Ping-Number: ¦x", "Ping-Number: 0x")),
        ]
    )
    func `a wrong value skips its request, and the next one is taken`(name: String, _ controlCase: ControlCase) {
        controlCase.checkIsSkipped(name: name)
    }

    @Test(arguments: [2_048, 100])
    func `the bytes of a request header are limited`(limit: Int) {
        var limits = ControlLimits()
        if limit == 2_048 { #expect(limits.maximumHeaderBytes == limit) }
        limits.maximumHeaderBytes = limit
        let filler = String(repeating: "v", count: limit - Requests.good.count - 4)
        for (more, isTaken) in [("", true), ("v", false)] {
            let lines = ["Content-Length: 0", "Ping-Number: 7", "X:" + filler + more]
            let result = controlTranscript(ofEverySplitOf: Array(Requests.text("ping", lines).utf8), limits: limits)
            #expect(result.requests.count == (isTaken ? 1 : 0))
            #expect(result.error?.code == (isTaken ? nil : .headTooLong))
            #expect(result.error?.byteOffset == (isTaken ? nil : UInt64(limit)))
        }
    }

    @Test(
        arguments: ["POST /", "POST /x HTTP/1.1\r\n", "POST /x HTTP/1.1\r\nX:"]
    )
    func `an endless name or value is refused at the limit, and little of it is shown`(beginning: String) {
        let stream = Array((beginning + String(repeating: "a", count: 3_000)).utf8)
        let result = controlTranscript(ofEverySplitOf: stream)
        #expect(result.error?.code == .headTooLong)
        #expect(result.error?.byteOffset == 2_048)
        #expect((result.error?.detail.utf8.count ?? .max) < 100)
    }

    @Test(arguments: [16, 2])
    func `the fields of a request header are limited`(limit: Int) {
        var limits = ControlLimits()
        if limit == 16 { #expect(limits.maximumFields == limit) }
        limits.maximumFields = limit
        let lines = ["Content-Length: 0", "Ping-Number: 7"] + (2..<limit).map { "X-\($0): y" }
        let taken = controlTranscript(ofEverySplitOf: Array(Requests.text("ping", lines).utf8), limits: limits)
        #expect(taken.requests == [.ping(7)])
        #expect(taken.error == nil)
        let over = ControlCase(.headTooManyFields, stream: Requests.text("ping", lines + [WireCase.mark + "X: y"]))
        over.checkIsFinal(limits: limits)
    }

    /// Shows P157.
    @Test(arguments: [4_096, 0, 9])
    func `the body of a request is limited`(limit: Int) {
        var limits = ControlLimits()
        if limit == 4_096 { #expect(limits.maximumContentLength == limit) }
        limits.maximumContentLength = limit
        let header = Array(Requests.text("pause", ["Content-Length: \(limit)"]).utf8)
        let taken = ControlTranscript(of: header + [UInt8](repeating: 0x50, count: limit), limits: limits)
        #expect(taken.error == nil)
        #expect(taken.requests == [.pause])
        #expect(taken.entries.map(\.bodyCount) == [limit])
        let over = "\(limit + 1)"
        let line = "Content-Length: \(over.dropLast())¦\(over.suffix(1))"
        ControlCase(.contentLengthTooLarge, stream: Requests.text("pause", [line])).checkIsFinal(limits: limits)
    }

    @Test(arguments: [Int.min, -1, 0])
    func `absurd limits refuse everything and trap nothing`(limit: Int) {
        let paths: [WritableKeyPath<ControlLimits, Int>] = [
            \.maximumHeaderBytes, \.maximumFields, \.maximumContentLength,
        ]
        for path in paths {
            var limits = ControlLimits()
            limits[keyPath: path] = limit
            let stream = Array(Requests.text("pause", ["Content-Length: 1"]).utf8) + [0]
            let result = controlTranscript(ofEverySplitOf: stream, limits: limits)
            #expect(result.entries.isEmpty)
            #expect(result.error != nil)
        }
    }
}
