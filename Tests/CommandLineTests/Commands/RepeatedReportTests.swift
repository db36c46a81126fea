import Foundation
import FrameSocketTesting
import TestSupport
import Testing

@testable import FrameSocketTool

/// What senders repeat: it is reported once, or a few times, and holds up nobody.
@Suite(.serialized) struct RepeatedReportTests {
    private let place = Workplace.new
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    private static func status(_ state: String, _ fields: String = "") -> [UInt8] {
        Array(
            """
            HTTP/1.1 200 OK\r\nContent-Length: 0\r\nMessage-Type: status\r\nSender-State: \(state)\r
            \(fields)Control-Version: 1\r\n\r\n
            """.utf8
        )
    }

    private static func repeated(_ count: Int, _ units: [UInt8]...) -> [UInt8] {
        (0..<count).flatMap { units[$0 % units.count] }
    }

    /// What one sender says, how often it changes its mind, and what it says last.
    ///
    /// People are told more the longer this takes, but on no machine more than a tenth.
    private static let speeches: [(stream: [UInt8], changes: Int, last: String)] = [
        (repeated(20_000, status("live")), 1, "live"),
        // The same, to another ping each time.
        ((0..<2_000).flatMap { status("paused", "Pong-Number: \($0)\r\n") }, 1, "paused"),
        (repeated(20_001, status("live"), status("paused")) + status("paused"), 20_001, "paused"),
        // A number that grows.
        (
            (1...5_000).flatMap { status("live", "Refused-Preferences: \($0)\r\n") } + status("paused"), 5_001,
            "paused"
        ),
    ]

    @Test func `a limit admits some messages at once and then its rate, and counts those that are left out`() {
        var limit = ReportLimit()
        let kinds = [
            ReportLimit.Kind(name: "one", burst: 3, perSecond: 2),
            ReportLimit.Kind(name: "all", burst: 4, perSecond: 1),
        ]
        /// How many of ten messages are admitted, and the last number of those that were left out before.
        func admitted(at tenths: UInt64, _ kinds: [ReportLimit.Kind]) -> [Int] {
            (0..<10).compactMap { _ in limit.admit(kinds, at: tenths * 100_000_000) }
        }
        #expect(admitted(at: 50, [kinds[0]]) == [0, 0, 0])
        #expect(limit.omitted == 7)
        #expect(admitted(at: 54, [kinds[0]]) == [] && admitted(at: 55, [kinds[0]]) == [17])
        // A pause adds no more than may come at once, and a clock that goes back adds nothing.
        #expect(admitted(at: 600, [kinds[0]]) == [9, 0, 0] && admitted(at: 590, [kinds[0]]) == [])
        // What one kind has no room for takes nothing of the others'.
        #expect(admitted(at: 600, kinds) == [] && admitted(at: 600, [kinds[1]]) == [0, 0, 0, 0])
        limit.forget("one")
        #expect(admitted(at: 610, kinds) == [0])
    }

    @Test(arguments: speeches.indices, [true, false])
    func `a state is reported when it changes, to people now and then if it always changes`(
        index: Int,
        isJSON: Bool
    ) async throws {
        let speech = Self.speeches[index]
        let receiver = try await place.receiver(isJSON ? ["--json"] : [])
        let sender = try PeerSocket.connected(to: place.socket)
        try await sender.write(speech.stream)
        sender.finishWriting()
        if isJSON { try await receiver.printed(#""event":"closed""#) } else { try await receiver.told("ended the") }
        let ending = await receiver.ended(by: .interrupt)
        let states =
            isJSON
            ? try ending.events("status").compactMap { $0.text("state") }
            : ending.errors.split(separator: "\n").filter { $0.hasPrefix("sender 1 is ") }.map {
                String($0.dropFirst(12))
            }
        let most = isJSON ? speech.changes : min(speech.changes, 2_000)
        #expect((1...most).contains(states.count), "\(states.count) reports")
        #expect(!isJSON || states.last?.hasPrefix(speech.last) == true)
    }

    @Test func `errors that alternate with good frames are reported now and then, and are all counted`() async throws {
        let receiver = try await place.receiver("--decode")
        let good = try Data.bytes(at: jpeg)
        let sender = try PeerSocket.connected(to: place.socket)
        let pair = message(good, width: 451, height: 300) + message([1, 2, 3], width: 451, height: 300)
        for _ in 0..<1_000 { try await sender.write(pair) }
        sender.finishWriting()
        try await receiver.told("ended the")
        let ending = await receiver.ended(by: .interrupt)
        let told = ending.errors.split(separator: "\n").filter { $0.hasPrefix("sender 1: these 3 bytes") }
        // Ten at once, and more the longer this takes.
        #expect((10..<1_000).contains(told.count), "\(told.count)")
        #expect(ending.errors.contains("1000 frames from 1 sender"), "\(ending)")
        #expect(ending.errors.contains("1000 not decodable; \(1_000 - told.count) messages left out"), "\(ending)")
    }

    /// A stream of each kind, and how many connections send it one after another: a line about each is more than a pipe
    /// holds.
    static let floods: [(String, [UInt8], Int)] = [
        ("statuses", repeated(10_000, status("live"), status("paused")), 1),
        ("connections", Array("no message".utf8), 1_500),
        ("empty connections", [], 1_500),
        ("bad frames", repeated(7, message([1], width: 64, height: 48)), 700),
    ]

    @Test(
        arguments: floods.map(\.0),
        ["receive $S --decode --output $D/o", "record $S $D/r.mkv", "preview $S --http 127.0.0.1:0"]
    )
    func `whatever a sender repeats, nobody waits for a reader of standard error`(name: String, command: String)
        async throws
    {
        let (_, stream, connections) = try #require(Self.floods.first { $0.0 == name })
        let errors = try SilentReader(place.path("errors"))
        let program = try place.shell("exec $F \(command) 2>$D/errors")
        for _ in 0..<connections {
            let sender = try await PeerSocket.connectedWhenListening(at: place.socket)
            // One that is turned away cannot write.
            try? await sender.write(stream)
            sender.close()
        }
        // An innocent one still gets through.
        try await place.send(jpeg, "--loop", "20", "--wait", "60", "--quiet").checked(0)
        await program.ended(by: .interrupt, 130)
        let text = String(decoding: errors.readAll(), as: UTF8.self)
        #expect(text.utf8.count < 256 << 10)
        #expect(text.contains("listening at"))
    }

    @Test(arguments: ["", "--mjpeg", "--json"]) func `statistics that nobody reads delay nothing`(option: String)
        async throws
    {
        // Standard output or, if there are frames, standard error.
        let readings = try SilentReader(place.path("readings"))
        let others = try SilentReader(place.path("others"))
        let streams = option == "--mjpeg" ? "2>$D/readings >/dev/null" : "2>$D/others >$D/readings"
        let receiver = try place.shell("exec $F receive $S --stats json \(option) --output $D/o \(streams)")
        try await place.send(jpeg, "--loop", "50", "--wait", "60", "--quiet").checked(0)
        await receiver.ended(by: .terminate, 130)
        #expect(try place.names(in: "o").count == 50)
        #expect(String(decoding: readings.readAll(), as: UTF8.self).contains(#""event":"statistics""#))
        withExtendedLifetime(others) {}
    }
}
