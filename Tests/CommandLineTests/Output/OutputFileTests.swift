import Foundation
import FrameSocket
import FrameSocketTesting
import FrameTransport
import FrameWire
import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocketTool

/// The files that commands write: who may lose one, and what happens if one cannot be written.
@Suite(.serialized) struct OutputFileTests {
    private let place = Workplace.new
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    // MARK: Opening

    @Test func `a file with audio is replaced only with --overwrite`() async throws {
        let files = try ["audio", "log"].map { try place.file($0, [1, 2, 3]) }
        try await place.shell("$F receive $S --audio $D/audio --wire-log $D/log").ended(
            73,
            "use --overwrite to replace it"
        )
        for file in files { #expect(try Data.bytes(at: file) == [1, 2, 3]) }
        let taken = try await place.receiver("--audio", files[0], "--overwrite")
        await taken.ended(by: .terminate, 130)
        #expect(try Data.bytes(at: files[0]).isEmpty)
    }

    @Test func `a sender that connects before the files are open is logged from its first byte`() async throws {
        // A named pipe can be opened once it has a reader: until then, the receiver listens and accepts nobody.
        let receiver = try place.shell("mkfifo $D/log && $F receive $S --count 1 --json --wire-log $D/log")
        try #require(await becomesTrue { FileManager.default.fileExists(atPath: place.socket) })
        let sender = try place.framesocket(["send", place.socket, jpeg, "--passthrough", "--quiet", "--wait", "60"])
        let log = try await place.shell("cat $D/log").ended()
        await sender.ended(0)
        await receiver.ended(0)
        let image = try Data.bytes(at: jpeg)
        #expect(log.text.contains("HTTP/1.1 200 OK") && log.output.count > image.count, "\(log.output.count) bytes")
    }

    @Test(arguments: Program.Signal.allCases)
    func `a receiver that is interrupted before the files are open removes its socket`(
        signal: Program.Signal
    ) async throws {
        let receiver = try place.shell("mkfifo $D/log && exec $F receive $S --json --wire-log $D/log")
        try #require(await becomesTrue { FileManager.default.fileExists(atPath: place.socket) })
        let ending = await receiver.ended(by: signal)
        #expect(ending.status == 130 && ending.output.isEmpty, "\(ending)")
        #expect(try place.names() == ["log"])
    }

    // MARK: Audio

    /// A message with samples of the app's audio.
    private func audio(_ samples: [UInt8], rate: Int = 8000, channels: Int = 1) -> PeerMessage {
        PeerMessage(
            startLine: "HTTP/1.1 200 OK",
            fields: [
                (name: "Message-Type", value: "audio"), (name: "Audio-Kind", value: "app"),
                (name: "Audio-Sample-Rate", value: "\(rate)"), (name: "Audio-Channels", value: "\(channels)"),
            ],
            body: samples
        )
    }

    /// A frame so short that it is read at once, and of which nobody knows that it is none.
    private let shortFrame = PeerMessage.frame([1, 2, 3], width: 1, height: 1)

    private func frame() throws -> PeerMessage {
        PeerMessage.frame(try Data.bytes(at: jpeg), width: 451, height: 300)
    }

    /// Sends messages at once, and waits for the receiver to end the connection.
    private func send(_ messages: [PeerMessage]) async throws {
        var connection: PeerSocket?
        // The file of a socket is there a moment before it listens.
        _ = await becomesTrue {
            connection = try? PeerSocket.connected(to: place.socket)
            return connection != nil
        }
        let sender = try #require(connection)
        if messages.contains(where: { !$0.isFrame }) {
            // Audio that comes before the receiver has asked for it is dropped.
            #expect(try await sender.nextMessage()?.requestName == "hello")
        }
        try await sender.write(messages.flatMap(\.bytes))
        sender.finishWriting()
        _ = try await sender.read(.max)
    }

    @Test(arguments: [["audio"], ["audio", "frame"]])
    func `audio that cannot be written is a failure, even if the last frame has arrived`(order: [String]) async throws {
        let receiver = try await place.receiver("--json", "--count", "1", "--audio", "/dev/full")
        try await send(order.map { $0 == "audio" ? audio([1, 2, 3, 4]) : try frame() })
        let ending = await receiver.ended(73, "/dev/full")
        let last = try #require(try ending.events.last)
        #expect(last.name == "failed" && last["exitCode"] == 73)
    }

    @Test(.leftOut(of: .thread, because: "the thread sanitizer ends if files may not grow"), .needs("prlimit"))
    func `audio is valid up to the block that could not be written`() async throws {
        let receiver = try place.shell("exec prlimit --fsize=1000 $F receive $S --json --audio $D/a.wav")
        try await receiver.lines(1)
        try await send([audio([UInt8](repeating: 1, count: 400)), audio([UInt8](repeating: 2, count: 2000))])
        await receiver.ended(73, "a.wav")
        var file = try AudioFile(place.path("a.wav"))
        #expect(try file.next()?.samples.count == 200)
        #expect(try file.next() == nil)
    }

    @Test func `a file of the maximum length accepts no further audio, and says so`() throws {
        let path = place.path("a.wav")
        let writer = WAVWriter(try OutputFile(path, overwrites: true), limit: 8)
        let samples: [UInt8] = [1, 0, 2, 0, 3, 0]
        func message(_ count: Int, rate: Int = 8000) -> AudioBlock {
            let bytes = FrameBytes(copying: samples.span.extracting(first: count))
            return AudioBlock(kind: .app, sampleRate: rate, channels: 1, samples: bytes)
        }
        #expect(try writer.append(message(6)))
        // Another form.
        #expect(try !writer.append(message(2, rate: 16_000)))
        #expect(try writer.append(message(2)))
        let failure = #expect(throws: CommandFailure.self) { try writer.append(message(2)) }
        #expect(failure?.message.contains("File too large") == true)
        var file = try AudioFile(path)
        #expect(try file.next()?.samples == [1, 2, 3, 1])
        #expect(try file.next() == nil)
    }

    @Test func `audio goes to a pipe too, with an unknown length`() async throws {
        let receiver = try place.shell(
            "mkfifo $D/a; cat $D/a >$D/a.wav & $F receive $S --json --count 1 --audio $D/a; wait"
        )
        try await receiver.lines(1)
        try await send([audio([1, 0, 2, 0]), audio([3, 0]), try frame()])
        await receiver.ended(0)
        var file = try AudioFile(place.path("a.wav"))
        #expect(try file.next()?.samples == [1, 2, 3])
    }

    @Test func `audio of another form is left out, and that is an error of its connection`() async throws {
        let receiver = try await place.receiver("--json", "--count", "2", "--audio", place.path("a.wav"))
        try await send([audio([1, 0]), try frame()])
        try await receiver.printed(#""event":"closed""#)
        try await send([audio([2, 0, 2, 0], channels: 2), audio([2, 0, 2, 0], channels: 2), try frame()])
        let ending = await receiver.ended()
        let errors = try ending.events("error")
        #expect(ending.status == 0 && errors.count == 1, "\(ending)")
        #expect(errors.first?["connection"] == 2 && errors.first?.text("code") == "audio.format")
        var file = try AudioFile(place.path("a.wav"))
        #expect(try file.next()?.samples == [1])
    }

    @Test func `a file of audio that cannot be read to its end is a failure of the sender`() async throws {
        let whole = place.path("whole.wav")
        do {
            let writer = WAVWriter(try OutputFile(whole, overwrites: true))
            let samples = [UInt8](repeating: 1, count: 4000)
            let bytes = FrameBytes(samples)
            _ = try writer.append(AudioBlock(kind: .app, sampleRate: 8000, channels: 1, samples: bytes))
        }
        let cut = try place.file("cut.wav", Array(try Data.bytes(at: whole).dropLast(100)))
        _ = try await place.receiver("--json", "--audio", place.path("a.wav"))
        let ending = try await place.send(jpeg, "--loop", "5", "--fps", "10", "--audio", cut, "--json").checked(
            65,
            ["cut.wav: it ends within its samples"]
        )
        let events = try ending.events
        try #require(events.count == 3)
        #expect(events.map(\.name) == ["error", "sent", "failed"] && events[0].text("code") == "file.unfit")
        // Nothing is wrong with the frames.
        #expect(events[1]["frames"] == 5)
    }

    // MARK: Other files

    @Test func `a file that another program still writes is not overwritten`() async throws {
        let recorder = try await record(at: place.socket)
        try await place.send(jpeg, "--passthrough", "--quiet").checked(0)
        try await recorder.printed(#""event":"frame""#)
        let size = try Data.bytes(at: place.path("r.mkv")).count
        try await record("--overwrite", at: place.path("t")).ended(73, "r.mkv: another program still writes it")
        #expect(try Data.bytes(at: place.path("r.mkv")).count == size)
        await recorder.ended(by: .interrupt, 130)
        // Once it has ended, nobody minds.
        try await record("--overwrite", "--timeout", "0.1", at: place.path("t")).ended(75)
    }

    /// Starts to record into `$D/r.mkv`, and waits until it listens or has failed.
    private func record(_ options: String..., at path: String) async throws -> Program {
        let recorder = try place.framesocket(["record", path, place.path("r.mkv"), "--json"] + options)
        try await recorder.lines(1)
        return recorder
    }

    @Test(.leftOut(of: .thread, because: "the thread sanitizer ends if files may not grow"), .needs("prlimit"))
    func `the duration of a recording ends with the last frame that was written`()
        async throws
    {
        let size = try Data.bytes(at: jpeg).count
        let limit = size + size / 2
        let recorder = try place.shell("exec prlimit --fsize=\(limit) $F record $S $D/r.mkv --json --quiet")
        try await recorder.lines(1)
        let (image, (width, height)) = (try Data.bytes(at: jpeg), (451, 300))
        try await send([
            PeerMessage.frame(image, width: width, height: height, timestamp: 1_000_000_000),
            PeerMessage.frame(image, width: width, height: height, timestamp: 1_500_000_000),
        ])
        let ending = await recorder.ended()
        let recorded = try #require(try ending.events("recorded").first)
        #expect(recorded["frames"] == 1 && recorded["duration"] == 0, "\(ending)")
        #expect(ending.status == 73, "\(ending)")
    }

    @Test(.leftOut(of: .thread, because: "the thread sanitizer ends if files may not grow"), .needs("prlimit"))
    func `a wire log that loses its last byte is a failure`() async throws {
        let count = shortFrame.bytes.count - 1
        let receiver = try place.shell(
            "exec prlimit --fsize=\(count) $F receive $S --json --count 1 --wire-log $D/log"
        )
        try await receiver.lines(1)
        try await send([shortFrame])
        await receiver.ended(73, "log: File too large")
    }

    @Test(.leftOut(of: .thread, because: "the thread sanitizer ends if files may not grow"), .needs("prlimit"))
    func `a service that cannot write at its end fails`() async throws {
        let frame = shortFrame.bytes
        let receiver = try place.shell(
            "NOTIFY_SOCKET=@$D exec prlimit --fsize=\(frame.count) $F receive $S --json --wire-log $D/log"
        )
        try await receiver.lines(1)
        let peer = try PeerSocket.connected(to: place.socket)
        try await peer.write(frame)
        try await receiver.printed(#""event":"frame""#)
        receiver.send(.terminate)
        // Its end has been announced, and it still reads what is being sent.
        #expect(try await peer.readSome(upTo: 1).isEmpty)
        try await peer.write(frame)
        peer.close()
        await receiver.ended(73, "log: File too large")
    }

    @Test(.needs("prlimit")) func `a recording without its index is a failure`() async throws {
        let image = try Data.bytes(at: jpeg)
        let frames = (1...100 as ClosedRange<UInt64>).map {
            // The file is as long each time only if the times are the same.
            PeerMessage.frame(image, width: 451, height: 300, timestamp: 1_000_000_000 + 20_000_000 * $0)
        }
        var size = 0
        for isLimited in [false, true] {
            let limit = isLimited ? "prlimit --fsize=\(size - 10) " : ""
            let recorder = try place.shell("exec \(limit)$F record $S $D/r.mkv --overwrite --count 100 --quiet --json")
            try await recorder.lines(1)
            try await send(frames)
            let ending = await recorder.ended()
            #expect(try ending.events("frame").count == 100)
            #expect(try ending.events.last?.name == (isLimited ? "failed" : "recorded"))
            #expect(ending.status == (isLimited ? 73 : 0), "\(ending)")
            size = try Data.bytes(at: place.path("r.mkv")).count
        }
    }

    @Test(
        .leftOut(of: .thread, because: "the thread sanitizer ends if files may not grow"),
        .needs("prlimit"),
        arguments: ["receive $S", "record $S /dev/null --overwrite"]
    )
    func `an event that is lost after the last frame is a failure`(command: String) async throws {
        let command = "$F \(command) --json --count 1 --quiet"
        let first = try place.shell("exec \(command)")
        try await first.lines(1)
        try await send([try frame()])
        let lines = await first.ended().lines
        let end = try #require(lines.firstIndex { $0.contains(#""closed""#) })
        // Room for half of the event of the end; a process identifier may have another length.
        let room = lines[..<end].reduce(0) { $0 + $1.utf8.count + 1 } + lines[end].utf8.count / 2
        let second = try place.shell("exec prlimit --fsize=\(room) \(command) >$D/events")
        try #require(await becomesTrue { FileManager.default.fileExists(atPath: place.socket) })
        try await send([try frame()])
        await second.ended(73, "standard output")
    }
}
