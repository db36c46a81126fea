import Foundation
import Testing

/// Readers of a command's output that do not read: the command ends nevertheless, as if they did.
@Suite(.serialized) struct BlockedOutputTests {
    private let place: Workplace
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    init() throws {
        place = try Workplace()
    }

    /// How a command is made to fill a pipe, and what ends it.
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
        Case(command: "receive $S --mjpeg --timeout 5", status: 73),
        // Its first frame is larger than the pipe, and has arrived all the same.
        Case(command: "receive $S --raw bgra --timeout 5", status: 73),
        Case(command: "receive $S --json --timeout 5", status: 73),
        Case(command: "receive $S --wire-log - --timeout 5", status: 73),
        Case(command: "receive $S --raw bgra --timeout 5 --count 1", status: 75),
        Case(command: "receive $S --mjpeg --timeout 5 --count 100000", status: 75),
        Case(command: "record $S - --timeout 5", status: 75),
        // What has arrived is delivered for 20 seconds, and lost then.
        Case(environment: "NOTIFY_SOCKET=$D/notify ", command: "receive $S --mjpeg", signal: .terminate, status: 73),
    ]

    /// Starts a command that writes to a named pipe, and a sender; returns when the pipe is full.
    private func fill(
        _ command: String,
        _ environment: String = "",
        isShort: Bool = false
    ) async throws -> (command: Program, sender: Program, reader: SilentReader) {
        let reader = try SilentReader(place.path("out"), isShort: isShort)
        let command = try place.shell("\(environment) exec \(command) >$D/out")
        let sender = try place.framesocket(["send", place.socket, jpeg, "--loop", "0", "--quiet", "--wait", "60"])
        // A pipe has 16 pages, or one, which writes need not fill; it is full if nothing is added to it any longer.
        var (last, looks) = (0, 0)
        try await eventually {
            let count = reader.count
            looks = count == last ? looks + 1 : 0
            last = count
            return count > (isShort ? 2_500 : 40_000) && looks > 20
        }
        return (command, sender, reader)
    }

    @Test(arguments: cases)
    func `a reader that does not read keeps nobody from ending a command`(_ example: Case) async throws {
        // Lines fill a long pipe slowly, above all on a busy machine.
        let isShort = example.command.contains("--json")
        let (command, sender, reader) = try await fill("$F \(example.command)", example.environment, isShort: isShort)
        if let signal = example.signal { command.send(signal) }
        let ending = await command.ended()
        #expect(ending.status == example.status, "\(ending)")
        #expect(ending.errors.contains("frames that had arrived are lost"), "\(ending)")
        sender.send(.interrupt)
        _ = await sender.ended()
        #expect(try Set(place.names()).isSubset(of: ["out", "r.mkv"]))
        withExtendedLifetime(reader) {}
    }

    #if os(Linux)
        /// Signals, the exit code under a service manager, and what is told, if the program ends in an orderly way; whether
        /// the reader reads.
        @Test(
            arguments: [
                ([SIGTERM, SIGTERM, SIGTERM], 0, "frames from 1 sender", true),
                ([SIGINT, SIGTERM, SIGINT], 130, "frames that had arrived are lost", false),
                ([SIGTERM, SIGINT], 73, "its reader did not read everything in time", false),
                ([SIGTERM, SIGTERM, SIGTERM, SIGTERM], 130, nil, false),
                ([SIGTERM, SIGALRM], 130, nil, false),
            ] as [([Int32], Int32, String?, Bool)]
        )
        func `up to three signals are one`(signals: [Int32], status: Int32, report: String?, reads: Bool) async throws {
            let (command, sender, reader) = try await fill("$F receive $S --mjpeg", "NOTIFY_SOCKET=$D/notify ")
            try await command.send(inTurn: signals)
            if reads { _ = await Task.detached { reader.readAll() }.value }
            let ending = await command.ended()
            #expect(ending.status == status, "\(ending)")
            if let report {
                #expect(ending.errors.contains(report), "\(ending)")
                #expect(try place.names() == ["out"])
            } else {
                #expect(!ending.errors.contains("from 1 sender"), "\(ending)")
            }
            sender.send(.interrupt)
            _ = await sender.ended()
            withExtendedLifetime(reader) {}
        }
    #endif

    @Test func `the counters of a receiver are written while nobody reads its output`() async throws {
        let (command, sender, reader) = try await fill("$F receive $S --mjpeg --metrics $D/metrics")
        try FileManager.default.removeItem(atPath: place.path("metrics"))
        try await eventually { FileManager.default.fileExists(atPath: place.path("metrics")) }
        let metrics = try String(contentsOfFile: place.path("metrics"), encoding: .utf8)
        #expect(metrics.contains("} 1\n") && metrics.contains("framesocket_frames_total"))
        command.send(.interrupt)
        #expect(await command.ended().status == 130)
        sender.send(.interrupt)
        _ = await sender.ended()
        withExtendedLifetime(reader) {}
    }

    @Test func `a recording to a named pipe that nobody opens can be interrupted`() async throws {
        let command = try place.shell("mkfifo $D/pipe && exec $F record $S $D/pipe --overwrite")
        try await eventually { FileManager.default.fileExists(atPath: place.socket) }
        command.send(.interrupt)
        #expect(await command.ended().status == 130)
        #expect(try place.names() == ["pipe"])
    }

    @Test(arguments: [
        "receive $S --wire-log $D/pipe", "receive $S --audio $D/pipe", "record $S $D/pipe --overwrite",
        "receive $S --token-file $D/pipe", "record $S $D/x --token-file $D/pipe",
    ])
    func `the time ends while a named pipe that nobody opens is being opened`(command: String) async throws {
        let ending = try await place.shell("mkfifo -m 600 $D/pipe && exec $F \(command) --timeout 0.5 --json").ended()
        #expect(ending.status == 75 && ending.errors.contains("pipe"), "\(ending)")
        #expect(try ending.events.map(\.name) == ["failed"])
        #expect(try place.names() == ["pipe"])
    }

    /// A shell's words that make a standard stream non-blocking and run a command, as parents do that share their pipes.
    private func nonblocking(_ stream: Int, _ command: String) -> String {
        "python3 -c 'import os, sys; os.set_blocking(\(stream), False); os.execv(sys.argv[1], sys.argv[1:])' \(command)"
    }

    @Test(arguments: ["receive $S --mjpeg", "receive $S --raw bgra", "receive $S --json", "record $S -"])
    func `a non-blocking output is waited for`(command: String) async throws {
        let (command, sender, reader) = try await fill(nonblocking(1, "$F \(command)"))
        let read = Task.detached { reader.readAll() }
        command.send(.interrupt)
        let ending = await command.ended()
        #expect(ending.status == 130, "\(ending)")
        #expect(await read.value.count > 40_000)
        sender.send(.interrupt)
        _ = await sender.ended()
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
        let ending = await sender.ended()
        #expect(ending.status == 0, "\(ending)")
        #expect(await receiver.ended().status == 0)
    }

    @Test func `a reader that reads gets whole frames to the end`() async throws {
        let (command, sender, reader) = try await fill("$F receive $S --json")
        let read = Task.detached { reader.readAll() }
        command.send(.interrupt)
        #expect(await command.ended().status == 130)
        #expect(await read.value.count > 40_000)
        sender.send(.interrupt)
        _ = await sender.ended()
    }
}
