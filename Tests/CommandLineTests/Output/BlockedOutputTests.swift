import Foundation
import TestSupport
import Testing

/// Readers of a command's output that do not read: the command ends nevertheless, as if they did.
@Suite(.serialized) struct BlockedOutputTests {
    private let place = Workplace.new
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    /// How a command is made to fill a pipe, and what ends it; without a signal, the time that it is given.
    struct Case: CustomTestStringConvertible, Sendable {
        var environment = ""
        var command: String
        var signal: Program.Signal?
        var status: Int32

        var testDescription: String { "\(environment)\(command), \(signal.map { "\($0)" } ?? "timeout"), \(status)" }
    }

    static let cases = [
        Case(command: "receive $S --mjpeg", signal: .interrupt, status: 130),
        Case(command: "receive $S --raw bgra", signal: .interrupt, status: 130),
        Case(command: "receive $S --json", signal: .interrupt, status: 130),
        Case(command: "receive $S --wire-log -", signal: .interrupt, status: 130),
        Case(command: "record $S -", signal: .interrupt, status: 130),
        Case(command: "record $S -", signal: .terminate, status: 73),
        Case(command: "record $S $D/r.mkv --json", signal: .terminate, status: 73),
        // The frames that have arrived are lost.
        Case(command: "receive $S --mjpeg", status: 73),
        // Its first frame is larger than the pipe, and has arrived all the same.
        Case(command: "receive $S --raw bgra", status: 73),
        Case(command: "receive $S --json", status: 73),
        Case(command: "receive $S --wire-log -", status: 73),
        Case(command: "receive $S --raw bgra --count 1", status: 75),
        Case(command: "receive $S --mjpeg --count 100000", status: 75),
        Case(command: "record $S -", status: 75),
        // What has arrived is delivered for 20 seconds, and lost then.
        Case(environment: "NOTIFY_SOCKET=$D/notify", command: "receive $S --mjpeg", signal: .terminate, status: 73),
    ]

    /// A command that writes to a named pipe, which is full, and a sender.
    private struct Blockage {
        let command: Program
        let sender: Program
        let reader: SilentReader

        /// Ends the sender.
        func end() async {
            await sender.ended(by: .interrupt)
        }
    }

    /// Starts a command that writes to a named pipe, and a sender; returns when the command waits for room in the pipe, or
    /// nil if it has ended before.
    ///
    /// The command waits `timeScale` times as long as otherwise for a reader. A short pipe has a single page, which lines
    /// fill sooner.
    private func fill(
        _ command: String,
        _ environment: String = "",
        timeScale: Double,
        isShort: Bool = false
    ) async throws -> Blockage? {
        for name in ["out", "r.mkv"] { try? FileManager.default.removeItem(atPath: place.path(name)) }
        let reader = try SilentReader(place.path("out"), isShort: isShort)
        let command = try place.shell("FRAMESOCKET_TIME_SCALE=\(timeScale) \(environment) exec \(command) >$D/out")
        let sender = try place.framesocket(["send", place.socket, jpeg, "--loop", "0", "--quiet", "--wait", "60"])
        let blockage = Blockage(command: command, sender: sender, reader: reader)
        try await reader.isFilled(by: command)
        guard command.hasEnded else { return blockage }
        await blockage.end()
        return nil
    }

    /// Lets the time of a command end while the pipe is full: after as many seconds as it takes to fill it.
    private func fillInTime(_ example: Case, isShort: Bool) async throws -> Blockage? {
        for seconds in [1, 5, 25, 125] {
            let command = "$F \(example.command) --timeout \(seconds)"
            if let blockage = try await fill(command, timeScale: 0.1, isShort: isShort) { return blockage }
        }
        return nil
    }

    @Test(arguments: cases)
    func `a reader that does not read keeps nobody from ending a command`(_ example: Case) async throws {
        // Lines fill a long pipe slowly, above all on a busy machine.
        let isShort = example.command.contains("--json")
        let blockage: Blockage?
        if let signal = example.signal {
            blockage = try await fill("$F \(example.command)", example.environment, timeScale: 0.1, isShort: isShort)
            blockage?.command.send(signal)
        } else {
            blockage = try await fillInTime(example, isShort: isShort)
        }
        let blocked = try #require(blockage)
        let ending = await blocked.command.ended(example.status)
        #expect(ending.errors.contains("frames that had arrived are lost"), "\(ending)")
        await blocked.end()
        #expect(try Set(place.names()).isSubset(of: ["out", "r.mkv"]))
    }

    @Test func `a reader of events that does not read is waited for once`() async throws {
        let blocked = try #require(try await fill("$F receive $S --json", timeScale: 4, isShort: true))
        blocked.command.send(.interrupt)
        let start = ContinuousClock.now
        await blocked.command.ended(130)
        // The last event is not waited for again.
        #expect(ContinuousClock.now - start < .seconds(7))
        await blocked.end()
    }

    #if os(Linux)
        /// Signals, the exit code under a service manager, and what is told, if the program ends in an orderly way; whether
        /// the reader reads.
        @Test(
            arguments: [
                ([SIGTERM, SIGTERM, SIGTERM], 0, "frames from 1 sender", true),
                ([SIGINT, SIGTERM, SIGINT], 130, "frames that had arrived are lost", false),
                ([SIGTERM, SIGINT], 73, "may be lost; standard output: its reader did not read", false),
                ([SIGTERM, SIGTERM, SIGTERM, SIGTERM], 130, nil, false),
                ([SIGTERM, SIGALRM], 130, nil, false),
            ] as [([Int32], Int32, String?, Bool)]
        )
        func `up to three signals are one`(signals: [Int32], status: Int32, report: String?, reads: Bool) async throws {
            // One that reads has all the time that it needs.
            let scale = reads ? 60 : 0.1
            let blockage = try await fill("$F receive $S --mjpeg", "NOTIFY_SOCKET=$D/notify", timeScale: scale)
            let blocked = try #require(blockage)
            try await blocked.command.send(inTurn: signals)
            if reads { _ = await Task.detached { blocked.reader.readAll() }.value }
            let ending = await blocked.command.ended(status)
            if let report {
                #expect(ending.errors.contains(report), "\(ending)")
                #expect(try place.names() == ["out"])
            } else {
                #expect(!ending.errors.contains("from 1 sender"), "\(ending)")
            }
            await blocked.end()
        }
    #endif

    @Test func `the counters of a receiver are written while nobody reads its output`() async throws {
        let blocked = try #require(try await fill("$F receive $S --mjpeg --metrics $D/metrics", timeScale: 0.1))
        try FileManager.default.removeItem(atPath: place.path("metrics"))
        try #require(await becomesTrue { FileManager.default.fileExists(atPath: place.path("metrics")) })
        let metrics = try String(contentsOfFile: place.path("metrics"), encoding: .utf8)
        #expect(metrics.contains("} 1\n") && metrics.contains("framesocket_frames_total"))
        await blocked.command.ended(by: .interrupt, 130)
        await blocked.end()
    }

    @Test(arguments: [
        "receive $S --wire-log $D/pipe", "receive $S --audio $D/pipe", "record $S $D/pipe --overwrite",
        "receive $S --token-file $D/pipe", "record $S $D/x --token-file $D/pipe",
    ])
    func `the time ends while a named pipe that nobody opens is being opened`(command: String) async throws {
        _ = try await place.run("mkfifo", "-m", "600", place.path("pipe"))
        var ending: Ending?
        // On a machine that is busy the time may end before the pipe is opened.
        for seconds in [0.5, 5, 25] where ending?.errors.contains("pipe") != true {
            let shell = "FRAMESOCKET_TIME_SCALE=0.1 exec $F \(command) --timeout \(seconds) --json"
            let last = try await place.shell(shell).ended()
            ending = last
            #expect(last.status == 75, "\(last)")
            #expect(try last.events.map(\.name) == ["failed"])
            #expect(try place.names() == ["pipe"])
        }
        #expect(ending?.errors.contains("pipe") == true, "\(ending as Any)")
    }

    /// A shell's words that make a standard stream non-blocking and run a command, as parents do that share their pipes.
    private func nonblocking(_ stream: Int, _ command: String) -> String {
        "python3 -c 'import os, sys; os.set_blocking(\(stream), False); os.execv(sys.argv[1], sys.argv[1:])' \(command)"
    }

    @Test(arguments: ["receive $S --mjpeg", "receive $S --raw bgra", "receive $S --json", "record $S -"])
    func `a non-blocking output is waited for`(command: String) async throws {
        let blocked = try #require(try await fill(nonblocking(1, "$F \(command)"), timeScale: 60))
        let count = blocked.reader.count
        let read = Task.detached { blocked.reader.readAll() }
        await blocked.command.ended(by: .interrupt, 130)
        // What waited for room has been written, too.
        #expect(await read.value.count > count)
        await blocked.end()
    }

    @Test(arguments: ["send $S -", "send $S - --passthrough"])
    func `a non-blocking input is waited for`(command: String) async throws {
        let receiver = try await place.receiver("--count", "2", "--json")
        let input = "mkfifo $D/go; (cat \(jpeg); cat $D/go; cat \(jpeg))"
        let sender = try place.shell("\(input) | \(nonblocking(0, "$F \(command) --quiet"))")
        // What precedes the first image has been read by then, and there is nothing else.
        var lines = 1
        while try await !receiver.lines(lines).contains(where: { $0.contains("\"frame\"") }) { lines += 1 }
        _ = try await place.shell(": >$D/go").ended()
        await sender.ended(0)
        await receiver.ended(0)
    }
}
