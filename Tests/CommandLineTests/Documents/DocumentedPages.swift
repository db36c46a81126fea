import Foundation
import TestSupport
import Testing

extension DocumentedCommand {
    /// Peers, articles, and shells that are senders.
    static let pages: [DocumentedCommand] = [
        DocumentedCommand("README.md: { printf") { run in
            let receiver = try await run.receiver(at: "screen", count: 1, "--decode")
            try await run.run(0)
            let event = try #require(try await receiver.ended().events("frame").first)
            #expect(event["jpegWidth"] == 451 && event["jpegHeight"] == 300)
        },
        DocumentedCommand("docs/wire-format.md: { printf") { run in
            let image = "ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=562x1218 -frames:v 1 screen.jpg"
            try await run.succeeded(run.shell(image), image)
            let receiver = try await run.receiver(at: "rtc_SSFD", count: 1, "--decode")
            try await run.run(0)
            let event = try #require(try await receiver.ended().events("frame").first)
            #expect(event["jpegWidth"] == 562 && event["jpegHeight"] == 1218 && event["bytes"] ?? 0 >= 10_240)
        },
        DocumentedCommand("docs/peers/README.md: docs/peers/receiver.py") { run in
            let receiver = try run.start(0)
            // It ends with its first sender, so that nobody else may look whether it listens.
            try await run.run(1) { $0 + " --wait 30" }
            try await run.succeeded(receiver, run.commands[0])
            #expect(try run.place.names(in: "frames").count == 50)
        },
        DocumentedCommand("docs/peers/README.md: cc") { run in
            try await run.run(0)
            let receiver = try run.start(1)
            try await run.listens(at: run.place.path("screen"))
            try await run.run(2)
            let count = try FileManager.default.contentsOfDirectory(atPath: Places.fixture("jpeg")).count
            try #require(try await becomesTrue { try run.place.names(in: "frames").count == count })
            await run.interrupt(receiver)
        },
        DocumentedCommand("Sources/FrameSocket/FrameSocket.docc/CommandLine.md: framesocket receive") { run in
            let receiver = try run.start(0)
            try await run.listens(at: run.place.path("screen"))
            try await run.run(1)
            await run.interrupt(receiver)
            #expect(try run.place.names(in: "frames").count == 50)
        },
        DocumentedCommand("Sources/FrameSocket/FrameSocket.docc/TestingWithFixtures.md: framesocket send") { run in
            let receiver = try await run.receiver(at: "screen", count: 52)
            try await run.run(0)
            try await run.run(1)
            #expect(try await receiver.ended().events("frame").count == 52)
        },
        DocumentedCommand("Sources/FrameSocket/FrameSocket.docc/GettingStarted.md: apt-get") { run in
            try await run.run(0)
        },
    ]
}
