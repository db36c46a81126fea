import Foundation
import FrameSocketTesting
import TestSupport
import Testing

/// What `receive` tells while it runs: a line on a terminal, and JSON for scripts.
@Suite(.serialized) struct StatisticsLineTests {
    private let place = Workplace.new

    @Test func `a JSON line every second states the progress`() async throws {
        let receiver = try await place.receiver("--stats", "json")
        let sender = try place.framesocket(
            ["send", place.socket, Places.fixture("jpeg/chelsea-420.jpg"), "--loop", "0", "--fps", "50", "--quiet"]
        )
        // Not what was sent when, but that the lines go on by themselves: a machine that is busy may send nothing in a second.
        let start = ContinuousClock.now
        var lines: [String] = []
        var last: Event?
        while last == nil || lines.count < 4 {
            try #require(ContinuousClock.now - start < Patience.length, "\(lines)")
            lines = try await receiver.lines(lines.count + 1)
            last = try lines.map(Event.init).last { $0.number("framesPerSecond") ?? 0 > 0 && $0["latency"] != nil }
        }
        let ending = await receiver.ended(by: .interrupt, 130)
        _ = await sender.ended()
        let readings = try ending.events
        try #require(readings.allSatisfy { $0.name == "statistics" }, "nothing else is printed")
        let reading = try #require(last)
        for key in ["connections", "frames", "bytes", "missing", "superseded", "undecodable", "bytesPerSecond"] {
            #expect(reading[key] != nil, "\(key)")
        }
        #expect(reading["width"] == 451 && reading["height"] == 300 && reading["connections"] == 1)
        let latency = reading["latency"] ?? 0
        #expect(latency > 0 && reading["latencyMaximum"] ?? 0 >= latency)
        let counts = readings.compactMap { $0["frames"] }
        #expect(counts == counts.sorted())
        // One more at the end, with all that came.
        #expect(counts.count == readings.count && counts.count > lines.count)
        #expect(ending.errors.contains("\(try #require(counts.last)) frames from 1 sender"))
    }

    @Test func `drops are counted while the sender is connected`() async throws {
        let receiver = try await place.receiver("--stats", "json", "--json")
        let jpeg = try Data.bytes(at: Places.fixture("jpeg/chelsea-420.jpg"))
        // Numbers 1 and 5: three between them were dropped before the socket.
        let sender = try PeerSocket.connected(to: place.socket)
        for number in [1, 5] as [UInt64] {
            try await sender.write(PeerMessage.frame(jpeg, width: 451, height: 300, sequence: number).bytes)
        }
        try #require(await becomesTrue { receiver.hasPrinted(#""frames":2,"#) })
        let reading = try #require(
            try await receiver.ended(by: .interrupt).events("statistics").first { $0["frames"] == 2 }
        )
        #expect(reading["missing"] == 3 && reading["connections"] == 1)
        withExtendedLifetime(sender) {}
    }

    @Test func `statistics go to standard error if frames go to standard output`() async throws {
        let receiver = try place.framesocket(
            ["receive", place.socket, "--mjpeg", "--stats", "json", "--count", "3", "--quiet"]
        )
        let files = (0..<3).map { _ in Places.fixture("jpeg/chelsea-420.jpg") }
        try await place.send("--wait", "30", "--passthrough", files[0], files[1], files[2]).checked(0)
        let ending = await receiver.ended(0)
        #expect(try ending.output == files.flatMap { try Data.bytes(at: $0) })
        let readings = try ending.errors.split(separator: "\n").map { try Event(String($0)) }
        #expect(readings.allSatisfy { $0.name == "statistics" } && readings.last?["frames"] == 3)
    }

    @Test func `statistics go on while nobody reads the frames`() async throws {
        let reader = try SilentReader(place.path("out"))
        let receiver = try place.shell("exec $F receive $S --raw bgra --stats json --quiet >$D/out")
        let sender = try place.framesocket(
            ["send", place.socket, Places.fixture("jpeg/chelsea-420.jpg"), "--loop", "0", "--quiet", "--wait", "60"]
        )
        // The first frame does not fit into the pipe.
        try #require(await becomesTrue { reader.count > 0 })
        try await receiver.told(#""connections":1,"frames":0,"#)
        await receiver.ended(by: .interrupt, 130)
        await sender.ended(by: .interrupt)
        withExtendedLifetime(reader) {}
    }

    #if os(Linux)
        @Test(.needs("script"), arguments: [80, 12])
        func `a person at a terminal sees one changing line, which fits the window`(columns: Int) async throws {
            let command = "stty cols \(columns) && TERM=xterm '\(Places.framesocket)' receive '\(place.socket)'"
            let terminal = try place.start(Places.tool("script"), ["-qefc", command, "/dev/null"], input: .silence)
            // The line begins where the last one began, and ends there.
            let erasure = "\r\u{1B}[K"
            let waiting = "waiting for a sender".prefix(columns - 1)
            try #require(await becomesTrue { terminal.hasPrinted(erasure + waiting + erasure) })
            let options = ["--loop", "0", "--fps", "50", "--quiet"]
            let sender = try place.framesocket(
                ["send", place.socket, Places.fixture("jpeg/chelsea-420.jpg")] + options
            )
            // Rate, size, drops, latency.
            let parts = columns == 80 ? ["frames/s, 451x300, ", "0 dropped, latency "] : [" frames"]
            try #require(await becomesTrue { parts.allSatisfy { terminal.hasPrinted($0) } })
            await sender.ended(by: .interrupt)
            try #require(await becomesTrue { terminal.hasPrinted("sender 1: ") })
            terminal.kill()
        }
    #endif
}
