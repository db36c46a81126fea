import Foundation
import Testing

extension DocumentedCommand {
    /// docs/pipes.md, and the pipes of docs/recording.md.
    static let pipes: [DocumentedCommand] = [
        DocumentedCommand("docs/pipes.md: framesocket receive PATH --y4m | ffmpeg", run: readsTwentyFrames),
        DocumentedCommand("docs/pipes.md: framesocket receive PATH --y4m --range limited", run: readsTwentyFrames),
        DocumentedCommand("docs/recording.md: framesocket record PATH - |", run: readsTwentyFrames),
        DocumentedCommand("docs/pipes.md: ffmpeg … -pix_fmt", run: sendsTwentyFrames),
        DocumentedCommand("docs/pipes.md: ffmpeg -f x11grab") { run in
            let server = try run.shell("exec Xvfb -displayfd 1 -nolisten tcp -screen 0 1280x720x24 2>log")
            run.set("DISPLAY", ":\(try await server.lines(1)[0])")
            try await sendsTwentyFrames(run)
        },
    ]

    /// Each command reads twenty frames out of the socket, and those that write a video have them in it.
    private static func readsTwentyFrames(_ run: DocumentedRun) async throws {
        for index in run.commands.indices {
            let reader = try run.start(index)
            try await run.sendImages(to: "PATH")
            try await run.succeeded(reader, run.commands[index])
            guard run.commands[index].contains("out.mp4") else { continue }
            try await run.checkVideo("out.mp4", frames: 20)
            try FileManager.default.removeItem(atPath: run.place.path("out.mp4"))
        }
    }

    /// Each command sends twenty frames of 1280x720 into the socket.
    private static func sendsTwentyFrames(_ run: DocumentedRun) async throws {
        for index in run.commands.indices {
            let receiver = try await run.receiver(at: "PATH", count: 20)
            try await run.run(index)
            let events = try await receiver.ended().events("frame")
            #expect(
                events.count == 20 && events.allSatisfy { $0["width"] == 1280 && $0["height"] == 720 },
                "\(run.commands[index])"
            )
        }
    }
}
