import Foundation
import FrameSocketTesting
import TestDescriptions
import TestSupport
import Testing

/// Somebody reads the output slowly: frames that have arrived when a signal comes end as they would without it, and every
/// sender has its turn.
@Suite(.serialized) struct SlowReaderTests {
    private let place = Workplace.new

    /// Gives a reader, which begins to read when the receiver is about to end, all the time that it needs.
    private static let patient = "FRAMESOCKET_TIME_SCALE=60"

    private func frame(_ fixture: String, _ width: Int, _ height: Int) throws -> [UInt8] {
        try message(Data.bytes(at: Places.fixture("jpeg/\(fixture).jpg")), width: width, height: height)
    }

    /// A signal, if any, and the exit codes of a receiver whose frames cannot all be written: Ctrl-C may come too late.
    static let signals: [(Program.Signal?, Set<Int32>)] = [(nil, [65]), (.terminate, [65]), (.interrupt, [130, 65])]

    @Test(arguments: ["--y4m", "--raw bgra", "--raw i420 --stats json"], signals)
    func `a frame that does not fit the video ends it with the reason, whatever ends the receiver`(
        options: String,
        end: (signal: Program.Signal?, status: Set<Int32>)
    ) async throws {
        let reader = try SilentReader(place.path("out"))
        let receiver = try place.shell("\(Self.patient) exec $F receive $S \(options) >$D/out")
        let sender = try await PeerSocket.connectedWhenListening(at: place.socket)
        // Each is larger than a pipe. All have arrived when the first is being written.
        let (wide, high) = (try frame("chelsea-420", 451, 300), try frame("chelsea-exif-6", 300, 451))
        try await sender.write(wide + high + high)
        sender.finishWriting()
        #expect(await becomesTrue { reader.count > 0 })
        if let signal = end.signal { receiver.send(signal) }
        let read = Task.detached { reader.readAll() }
        let ending = await receiver.ended()
        #expect(end.status.contains(ending.status), "\(ending)")
        let told = ending.errors.components(separatedBy: "the size changed from 451x300 to 300x451").count - 1
        #expect(told == 1 && ending.errors.contains("--letterbox"), "\(ending)")
        #expect(await read.value.count > 200_000)
    }

    @Test(
        .leftOut(of: .thread, because: "the thread sanitizer ends if files may not grow"),
        arguments: [Program.Signal.terminate, .interrupt]
    )
    func `a failure after a signal is an event too`(signal: Program.Signal) async throws {
        let reader = try SilentReader(place.path("out"), isShort: true)
        let command = "exec $F receive $S --json --output $D/o >$D/out"
        let receiver = try place.shell("ulimit -f 1; \(Self.patient) \(command)")
        let sender = try await PeerSocket.connectedWhenListening(at: place.socket)
        // Many small frames, whose events fill the pipe, and one that is too large for a file; all fit into the socket.
        let small = (0..<700).flatMap { _ in message([1], width: 64, height: 48) }
        try await sender.write(small + frame("chelsea-420", 451, 300))
        sender.finishWriting()
        try await reader.isFilled(by: receiver)
        receiver.send(signal)
        let read = Task.detached { reader.readAll() }
        let ending = await receiver.ended()
        let events = try await read.value.completeLines.map { try Event($0) }
        // Ctrl-C may come before that frame.
        if ending.errors.contains("File too large") {
            #expect(events.last?.name == "failed" && events.last?["exitCode"] == 73, "\(ending)")
        }
        #expect(signal == .interrupt || ending.errors.contains("File too large"), "\(ending)")
        #expect(ending.status == 73 || (signal == .interrupt && ending.status == 130), "\(ending)")
    }

    @Test func `a sender that always has another frame keeps no other from its turn, nor its own audio`() async throws {
        _ = try await place.run("mkfifo", place.path("out"))
        _ = try place.shell("while [ $(head -c 50000 | wc -c) -gt 0 ]; do sleep 0.02; done <$D/out")
        let receiver = try place.shell("exec $F receive $S --mjpeg --audio $D/audio.wav >$D/out")
        let busy = try await PeerSocket.connectedWhenListening(at: place.socket)
        // Larger than the pipe.
        let frame = message([UInt8](repeating: 1, count: 120_000))
        let kind = [
            (name: "Message-Type", value: "audio"), (name: "Audio-Kind", value: "app"),
            (name: "Audio-Sample-Rate", value: "48000"), (name: "Audio-Channels", value: "1"),
        ]
        let audio = PeerMessage(startLine: "HTTP/1.1 200 OK", fields: kind, body: [UInt8](repeating: 0, count: 2_000))
            .bytes
        let work = Task.detached { while !Task.isCancelled { try await busy.write(frame + audio) } }
        defer { work.cancel() }
        // At first the pipe takes everything.
        for number in 2...5 {
            let other = try PeerSocket.connected(to: place.socket)
            try await other.write(message([2]))
            other.finishWriting()
            try await receiver.told("sender \(number): the other side ended the connection")
        }
        // More than what waits for a consumer at most.
        #expect(await becomesTrue { (try? Data.bytes(at: place.path("audio.wav")).count) ?? 0 > 150_000 })
    }
}
