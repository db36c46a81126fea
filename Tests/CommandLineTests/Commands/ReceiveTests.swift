import Foundation
import Testing

/// What `framesocket receive` does with frames.
@Suite(.serialized) struct ReceiveTests {
    private let place = Workplace.new
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    // MARK: Events

    @Test func `every event has the keys of the contract, and listening comes first`() async throws {
        let receiver = try await place.receiver("--count", "2", "--decode", "--json")
        let jpeg = Places.fixture("jpeg/phone-563x1219.jpg")
        let sender = try place.peer("send_deployed", jpeg, jpeg, "--size", "562x1218", "--orientation", "8")
        let ending = await receiver.ended(0)
        let events = try ending.events
        try #require(events.count == 5)
        #expect(events[0].values == ["event": "listening", "path": place.socket])
        let user = Int(getuid())
        #expect(
            events[1].values == ["event": "connected", "connection": 1, "pid": sender.id, "uid": user]
        )
        for (index, event) in events[2...3].enumerated() {
            #expect(
                event.values == [
                    "event": "frame", "connection": 1, "index": index, "width": 562, "height": 1218,
                    "orientation": 8, "rotation": 90, "bytes": try Data.bytes(at: jpeg).count,
                    "jpegWidth": 563, "jpegHeight": 1219,
                ]
            )
        }
        #expect(events[4].keys == ["event", "connection", "reason", "finish", "finishCode"])
        #expect(events[4].name == "closed")
    }

    // MARK: Which frames

    @Test func `the count and the numbers of frames and files are for all senders together`() async throws {
        let receiver = try await place.receiver("--count", "60", "--json", "--output", place.path("out"))
        let senders = try ["420", "422", "444"].map { name in
            try place.peer("send_deployed", "--loop", "20", Places.fixture("jpeg/chelsea-\(name).jpg"))
        }
        for sender in senders { #expect(await sender.ended().status == 0) }
        let ending = await receiver.ended(0)
        let frames = try ending.events("frame")
        #expect(frames.map { $0["index"] } == Array(0..<60))
        #expect(frames.allSatisfy { $0["jpegWidth"] == nil })
        for connection in 1...3 { #expect(frames.count { $0["connection"] == connection } == 20) }
        let files = try place.contents(of: "out")
        #expect(try place.names(in: "out") == (0..<60).map { String(format: "frame-%06d.jpg", $0) })
        #expect(files.map(\.count) == frames.map { $0["bytes"] })
        for name in ["420", "422", "444"] {
            let sent = try Data.bytes(at: Places.fixture("jpeg/chelsea-\(name).jpg"))
            #expect(files.count { $0 == sent } == 20)
        }
    }

    @Test func `the next sender is the next connection, and the program ends with the last frame`() async throws {
        let receiver = try await place.receiver("--count", "5", "--json")
        try await place.send(jpeg, "--loop", "2").checked(0)
        // More than are wanted: the receiver ends, and not every frame was accepted.
        try await place.send(jpeg, "--loop", "1000").checked(69)
        let ending = await receiver.ended(0)
        #expect(try ending.events("frame").map { $0["connection"] } == [1, 1, 2, 2, 2])
        #expect(try place.names() == [])
    }

    @Test func `a body that is not a JPEG is an error of that frame, and the connection continues`() async throws {
        let good = try Data.bytes(at: jpeg)
        let cut = Array(good.prefix(20_000))
        let stream = [good, Array("not a JPEG".utf8), good, cut, good].flatMap { message($0) }
        let file = try place.file("stream", stream)

        let receiver = try await place.receiver("--count", "3", "--decode", "--json", "--output", place.path("out"))
        try place.peer("send_stream", file)
        let ending = await receiver.ended(0)
        let events = try ending.events.dropFirst(2).dropLast()
        #expect(events.map(\.name) == ["frame", "error", "frame", "error", "frame"])
        #expect(events.map { $0["connection"] } == [1, 1, 1, 1, 1])
        #expect(events.compactMap { $0["index"] } == [0, 1, 2])
        for error in events.filter({ $0.name == "error" }) {
            #expect(error.keys == ["event", "connection", "code", "message"])
        }
        #expect(ending.errors.contains("2 not decodable"))
        #expect(try place.contents(of: "out") == [good, good, good])
    }

    @Test func `without decoding, every body is delivered, whatever it is`() async throws {
        let bodies = [Array("not a JPEG".utf8), [0], try Data.bytes(at: jpeg)]
        let file = try place.file("stream", bodies.flatMap { message($0) })
        let receiver = try await place.receiver("--count", "3", "--output", place.path("out"))
        await (try place.peer("send_stream", file)).ended(0)
        await receiver.ended(0)
        #expect(try place.contents(of: "out") == bodies)
    }

    @Test func `with --decode, a frame that cannot be decoded is not written to standard output either`() async throws {
        try await place.shell(
            "$F receive $S --mjpeg --decode --count 1 >$D/out 2>$D/errors & head -c 12000 '\(jpeg)' >$D/cut; "
                + "$F send $S $D/cut '\(jpeg)' --passthrough --force --quiet --wait 30; wait"
        ).ended(0)
        #expect(try Data.bytes(at: place.path("out")) == Data.bytes(at: jpeg))
        #expect(String(decoding: try Data.bytes(at: place.path("errors")), as: UTF8.self).contains("1 not decodable"))
    }

    // MARK: For a person

    @Test func `events are reported to a person, except with --quiet`() async throws {
        for options in [[], ["--quiet"]] {
            let receiver = try place.framesocket(["receive", place.socket, "--count", "2"] + options)
            try await place.send(jpeg, "--loop", "2", "--wait", "30").checked(0)
            let ending = await receiver.ended()
            #expect(ending.status == 0 && ending.output.isEmpty)
            let words = ["listening at \(place.socket)", "sender 1 connected", "2 frames from 1 sender"]
            for word in words { #expect(ending.errors.contains(word) == options.isEmpty) }
            #expect(ending.errors.isEmpty == !options.isEmpty)
        }
    }
}
