import Foundation
import Testing

/// The files that commands write: who may lose one, and what happens if one cannot be written.
@Suite(.serialized) struct OutputFileTests {
    private let place: Workplace
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    init() throws {
        place = try Workplace()
    }

    // MARK: Opening

    @Test(arguments: ["--wire-log", "--audio"])
    func `a receiver that cannot listen does not empty a file`(option: String) async throws {
        let receiver = try await place.receiver("--json")
        let file = try place.file("there", [1, 2, 3])
        let ending = try await place.shell("$F receive $S \(option) $D/there --output $D/out").ended()
        #expect(ending.status == 69 && ending.errors.contains("another server"), "\(ending)")
        #expect(try Data.bytes(at: file) == [1, 2, 3])
        #expect(try !place.names().contains("out"))
        receiver.send(.interrupt)
        _ = await receiver.ended()
    }

    @Test(arguments: ["--wire-log", "--audio"])
    func `a receiver that cannot open a file leaves no socket`(option: String) async throws {
        let ending = try await place.shell("$F receive $S \(option) $D/none/file --json").ended()
        #expect(ending.status == 73 && ending.errors.contains("none/file"), "\(ending)")
        #expect(try ending.events.map(\.name) == ["failed"])
        #expect(try place.names() == [])
    }

    @Test func `a receiver that must not replace frames empties no file either`() async throws {
        try FileManager.default.createDirectory(atPath: place.path("out"), withIntermediateDirectories: true)
        _ = try place.file("out/frame-000000.jpg", [1])
        let file = try place.file("there", [1, 2, 3])
        let ending = try await place.shell("$F receive $S --output $D/out --wire-log $D/there --audio $D/there").ended()
        #expect(ending.status == 73 && ending.errors.contains("--overwrite"), "\(ending)")
        #expect(try Data.bytes(at: file) == [1, 2, 3])
        #expect(try place.names() == ["out", "there"])
    }

    @Test func `a sender that connects before the files are open is logged from its first byte`() async throws {
        // A named pipe can be opened once it has a reader: until then, the receiver listens and accepts nobody.
        let receiver = try place.shell("mkfifo $D/log && $F receive $S --count 1 --json --wire-log $D/log")
        try await eventually { FileManager.default.fileExists(atPath: place.socket) }
        let sender = try place.framesocket(["send", place.socket, jpeg, "--passthrough", "--quiet", "--wait", "60"])
        let log = try await place.shell("cat $D/log").ended()
        #expect(await sender.ended().status == 0)
        #expect(await receiver.ended().status == 0)
        let image = try Data.bytes(at: jpeg)
        #expect(log.text.contains("HTTP/1.1 200 OK") && log.output.count > image.count, "\(log.output.count) bytes")
    }

    @Test(arguments: Program.Signal.allCases)
    func `a receiver that is interrupted before the files are open removes its socket`(
        signal: Program.Signal
    ) async throws {
        let receiver = try place.shell("mkfifo $D/log && exec $F receive $S --json --wire-log $D/log")
        try await eventually { FileManager.default.fileExists(atPath: place.socket) }
        receiver.send(signal)
        let ending = await receiver.ended()
        #expect(ending.status == 130 && ending.output.isEmpty, "\(ending)")
        #expect(try place.names() == ["log"])
    }
}
