import Foundation
import TestSupport
import Testing

extension DocumentedCommand {
    /// The program's own commands.
    static let programs: [DocumentedCommand] = [
        DocumentedCommand("README.md: .build-release/release/framesocket preview", run: previewShowsAImage),
        DocumentedCommand(
            "docs/preview.md: framesocket preview",
            "docs/preview.md: listening at",
            "docs/preview.md: framesocket send",
            "docs/preview.md: curl"
        ) { run in
            let port = try await run.takePort()
            let preview = try run.start(0)
            for index in 1...2 {
                let line = run.use(index).replacing("$D", with: run.place.directory).replacing("$PORT", with: port)
                try await preview.told(line)
            }
            _ = try run.start(3)
            // Before the first frame there is no image yet.
            try await succeeds(run.shell("curl -sf http://127.0.0.1:$PORT/snapshot.jpg?token=the-token -o first.jpg"))
            try await run.run(4)
            try await run.run(5)
            #expect(try Data.bytes(at: run.place.path("now.jpg")).starts(with: [0xFF, 0xD8]))
            #expect(try Data.bytes(at: run.place.path("ten-seconds.mkv")).count > 100_000)
        },
        DocumentedCommand("README.md: framesocket receive PATH [", run: runSynopsis),
        DocumentedCommand("docs/doctor.md: $ framesocket doctor") { run in
            let ending = try await run.start(0).ended(73)
            #expect(ending.lines == (1...3).map { run.use($0).replacing("$D", with: run.place.directory) }, "\(ending)")
        },
        DocumentedCommand("docs/recording.md: framesocket record PATH FILE.mkv  ") { run in
            let recorder = try run.start(0)
            try await run.sendImages(to: "PATH")
            await run.interrupt(recorder)
            try await run.checkVideo("FILE.mkv", frames: 20)
            try FileManager.default.removeItem(atPath: run.place.path("FILE.mkv"))
            let second = try run.start(1)
            try await run.sendImages(to: "PATH")
            try await run.succeeded(second, run.commands[1])
            let receiver = try await run.receiver(at: "PATH", count: 20)
            try await run.run(2)
            #expect(try await receiver.ended().events("frame").count == 20)
        },
        DocumentedCommand("docs/services.md: systemd-socket-activate") { run in
            let service = try run.start(0)
            try await run.listens(at: run.place.path("frames.socket"))
            try await run.sendImages(to: "frames.socket")
            // The first one only looked whether somebody listens.
            try await service.told("sender 2: the other side ended")
            #expect(await service.ended(by: .interrupt).errors.contains("20 frames"))
        },
        DocumentedCommand("docs/recording.md: framesocket receive PATH --wire-log") { run in
            let logger = try run.start(0)
            try await run.sendImages(to: "PATH")
            await run.interrupt(logger)
            let receiver = try await run.receiver(at: "PATH", count: 20)
            try await run.run(1)
            #expect(try await receiver.ended().events("frame").count == 20)
        },
    ]

    /// Runs a command again and again until it succeeds.
    private static func succeeds(_ command: @autoclosure () throws -> Program) async throws {
        let start = ContinuousClock.now
        while try await command().ended().status != 0 {
            try #require(ContinuousClock.now - start < Patience.length)
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private static func previewShowsAImage(_ run: DocumentedRun) async throws {
        try await run.takePort()
        let preview = try run.start(0)
        try await preview.told("preview at")
        _ = try run.start(1)
        try await succeeds(run.shell("curl -sf http://127.0.0.1:$PORT/snapshot.jpg?token=the-token -o now.jpg"))
        #expect(try Data.bytes(at: run.place.path("now.jpg")).starts(with: [0xFF, 0xD8]))
        await run.interrupt(preview)
    }

    // MARK: The synopsis

    /// The forms of a line: without the options in brackets, and with each of them alone.
    static func forms(of line: String) -> [String] {
        let command = line.prefix { $0 != "#" }.trimmingCharacters(in: .whitespaces)
        var parts = command.split(separator: "[")
        let bare = parts.removeFirst().trimmingCharacters(in: .whitespaces)
        let options = parts.flatMap { $0.prefix { $0 != "]" }.components(separatedBy: " | ") }
        return [bare] + options.map { "\(bare) \($0)" }
    }

    /// Runs every form of every line, against a receiver or a sender.
    private static func runSynopsis(_ run: DocumentedRun) async throws {
        let jpeg = Places.fixture("jpeg/chelsea-420.jpg")
        let send = "framesocket send PATH \(jpeg) --passthrough --loop 3 --wait 30 --quiet"
        for index in run.commands.indices {
            for form in forms(of: run.use(index)) {
                if form.contains("$PORT") { try await run.takePort() }
                let words = form.split(separator: " ")
                switch words.prefix(2).last {
                case "receive", "record":
                    let program = try run.shell("exec " + form)
                    try await run.listens(at: run.place.path("PATH"))
                    try await run.succeeded(run.shell(send), form)
                    if form.contains("--count") {
                        try await run.succeeded(program, form)
                    } else {
                        await run.interrupt(program)
                    }
                case "send", "replay":
                    let receiver = try run.shell("exec framesocket receive PATH --json")
                    try await receiver.lines(1)
                    let source = form.contains("--size") ? "head -c 8294400 /dev/zero" : "cat \(jpeg)"
                    try await run.succeeded(run.shell(form.contains("PATH -") ? "\(source) | \(form)" : form), form)
                    // The sender ends when its frames have been read; they are printed a little later.
                    try await receiver.printed(#""event":"frame""#)
                    await run.interrupt(receiver)
                case "preview":
                    // Without an address it would take the port that another program may have.
                    guard form.contains("--http") else { continue }
                    let program = try run.shell("exec " + form)
                    try await program.told("preview at")
                    await run.interrupt(program)
                default:
                    try await run.succeeded(run.shell("exec " + form), form)
                }
            }
        }
    }
}
