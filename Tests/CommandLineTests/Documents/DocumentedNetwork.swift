import Foundation
import TestSupport
import Testing

extension DocumentedCommand {
    /// docs/scaling.md, between two directories of this machine: every frame that is sent in one comes out in the other.
    static let network: [DocumentedCommand] = [
        DocumentedCommand("docs/scaling.md: framesocket record PATH - | ssh") { run in
            let recorder = try run.start(0, on: "A", change: keepingWhatIsSent)
            checkTimes(try await send(run, recorder))
            try await checkImages(run)
        },
        DocumentedCommand("docs/scaling.md: B: socat") { run in
            let port = try await run.takePort()
            let replay = try run.start(0, on: "B")
            try await isBound(port, "tcp")
            checkTimes(try await send(run, run.start(1, on: "A", change: keepingWhatIsSent)))
            try await run.succeeded(replay, run.commands[0])
            try await checkImages(run)
        },
        DocumentedCommand("docs/scaling.md: B: gst-launch-1.0") { run in
            let port = try await run.takePort("SOCK_DGRAM")
            _ = try run.start(0, on: "B")
            // A datagram before that would be lost.
            try await isBound(port, "udp")
            // So many fit into the smallest buffer that a system has for datagrams: none is lost, however late it is read.
            _ = try await send(run, run.start(1, on: "A", change: keepingWhatIsSent), underWay: 4)
            try await checkImages(run)
        },
        DocumentedCommand("docs/scaling.md: framesocket record PATH - | ffmpeg", "docs/scaling.md: B: ffmpeg -rtsp") {
            run in
            let port = try await run.takePort()
            _ = try run.start(1, on: "B")
            try await isBound(port, "tcp")
            _ = try await send(run, run.start(0, on: "A", change: keepingWhatIsSent), "--no-strips")
            try await checkImages(run)
        },
    ]

    /// How many frames are sent.
    private static let count = 100

    /// Keeps what `record` writes in `A/sent.mkv` as well.
    private static func keepingWhatIsSent(_ command: String) -> String {
        command.replacing("record PATH - --once |", with: "record PATH - --once | tee sent.mkv |")
    }

    /// Sends images of 640x480, at most fifty a second, to `A/PATH`, and gives the events of the frames that arrive at
    /// `B/PATH`.
    ///
    /// They are encoded here: baseline, 4:2:0, with the tables of the standard. No more than `underWay` are sent before the
    /// earlier ones have arrived.
    private static func send(
        _ run: DocumentedRun,
        _ recorder: Program,
        _ options: String = "",
        underWay: Int = count
    ) async throws -> [Event] {
        let receiver = try await run.receiver(at: "B/PATH", count: count, "--output \(run.place.path("out"))")
        try await recorder.told("listening at")
        let command = """
            ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=640x480:rate=25 -frames:v \(count) -pix_fmt bgra -f rawvideo - |
            python3 -c '\(relay(underWay))' |
            framesocket send A/PATH - --size 640x480 --format bgra --fps 50 --quiet \(options)
            """
        try await run.succeeded(run.shell(command), command)
        let events = try await receiver.ended().events("frame")
        #expect(events.count == count)
        return events
    }

    /// A program that passes on an image as soon as few enough are on their way to the directory `out`.
    private static func relay(_ underWay: Int) -> String {
        """
        import os, sys, time
        for number in range(\(count)):
            image = sys.stdin.buffer.read(640 * 480 * 4)
            while number - len(os.listdir("out")) >= \(underWay): time.sleep(0.01)
            sys.stdout.buffer.write(image)
            sys.stdout.flush()
        """
    }

    /// Sees that the times arrived, and not a byte else.
    private static func checkTimes(_ frames: [Event]) {
        let times = frames.compactMap { $0["timestamp"] }
        // A stall of this machine makes a step longer, and none shorter.
        #expect(times.count == count && zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 20_000_000 })
    }

    /// Sees that the images that arrived are those that were sent, to the bit.
    private static func checkImages(_ run: DocumentedRun) async throws {
        let sent = try await checksums(run, "-i A/sent.mkv")
        #expect(sent.count == count)
        #expect(try await checksums(run, "-f image2 -i out/frame-%06d.jpg") == sent)
    }

    /// What one frame after another decodes to, as ffmpeg prints it.
    private static func checksums(_ run: DocumentedRun, _ input: String) async throws -> [Substring] {
        let ending = try await run.shell("ffmpeg -nostdin -v error \(input) -fps_mode passthrough -f framemd5 -")
            .ended()
        try #require(ending.status == 0, "\(ending)")
        return ending.checksums
    }

    /// Waits until a program listens at a port, or receives datagrams there.
    private static func isBound(_ port: String, _ kind: String) async throws {
        let number = ":" + String(Int(port) ?? 0, radix: 16, uppercase: true)
        try #require(
            try await becomesTrue {
                let sockets = try systemFile("/proc/net/" + kind)
                // State 0A is that of a listening socket.
                return sockets.contains(kind == "tcp" ? number + " 00000000:0000 0A" : number + " ")
            }
        )
    }
}
