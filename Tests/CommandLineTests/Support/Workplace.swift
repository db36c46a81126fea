import Foundation
import TestSupport

/// A directory of a test's own, the path of a socket in it, and ways to start programs there; all gone with the test.
final class Workplace: @unchecked Sendable {
    private let temporary: TemporaryDirectory
    private let lock = NSLock()
    /// What was started here, under the lock.
    private var programs: [Program] = []

    var directory: String { temporary.path }

    /// A path for a socket, short enough for every system.
    var socket: String { directory + "/s" }

    init() throws {
        temporary = try TemporaryDirectory()
    }

    /// The place of a suite; where there can be none, no test can run.
    static var new: Workplace {
        do { return try Workplace() } catch { fatalError("\(error)") }
    }

    deinit {
        for program in programs { program.kill() }
    }

    /// A path in the directory.
    func path(_ name: String) -> String {
        "\(directory)/\(name)"
    }

    /// Writes a file, and gives its path.
    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(filePath: path(name)))
        return path(name)
    }

    /// Writes a file that nobody else may read, and gives its path.
    func secret(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = try file(name, bytes)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    /// What is in the directory, or in one below it, by name.
    func names(in name: String = ".") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path(name)).sorted()
    }

    /// What files in a directory below hold, in the order of their names.
    func contents(of name: String) throws -> [[UInt8]] {
        try names(in: name).map { try Data.bytes(at: path("\(name)/\($0)")) }
    }

    // MARK: Programs

    /// Starts a program, which ends with the test at the latest.
    func start(_ executable: String, _ arguments: [String], input: Program.Input = .nothing) throws -> Program {
        let program = try Program(executable, arguments, input: input)
        lock.withLock { programs.append(program) }
        return program
    }

    /// Starts `framesocket`.
    func framesocket(_ arguments: [String], input: Program.Input = .nothing) throws -> Program {
        try start(Places.framesocket, arguments, input: input)
    }

    /// Starts `framesocket`, whose own limits of time are so many times what they are.
    func framesocket(_ arguments: [String], timeScale: Double) throws -> Program {
        try framesocket(arguments, with: "FRAMESOCKET_TIME_SCALE=\(timeScale)")
    }

    /// Starts `framesocket` with the words of a line, which spaces separate, and in which `$S` is the socket, `$D` the directory
    /// and `$X` Fixtures.
    func framesocket(words line: String) throws -> Program {
        try framesocket(words(of: line))
    }

    private func words(of line: String) -> [String] {
        let places = ["$S": socket, "$D": directory, "$X": Places.fixture("")]
        return line.split(separator: " ").map { word in
            places.reduce(String(word)) { $0.replacing($1.key, with: $1.value) }
        }
    }

    /// Starts `framesocket` with more in its environment, each as `NAME=value`.
    func framesocket(_ arguments: [String], with settings: String...) throws -> Program {
        try start("/usr/bin/env", settings + [Places.framesocket] + arguments)
    }

    /// Starts `framesocket receive` at the socket, and waits until it listens.
    func receiver(_ arguments: String...) async throws -> Program {
        try await receiver(arguments)
    }

    /// Starts `framesocket receive` at the socket, and waits until it listens.
    func receiver(_ arguments: [String]) async throws -> Program {
        let receiver = try framesocket(["receive", socket] + arguments)
        if arguments.contains("--json") {
            _ = try await receiver.lines(1)
        } else {
            try await receiver.told("listening at")
        }
        return receiver
    }

    /// Sends with `framesocket send` to the socket, and waits for its end.
    func send(_ arguments: String..., input: Program.Input = .nothing) async throws -> Ending {
        try await framesocket(["send", socket] + arguments, input: input).ended()
    }

    /// Lets `framesocket` with these arguments, which listens at the socket, take what `sender` sends.
    func take(
        _ arguments: [String],
        from sender: () async throws -> Ending
    ) async throws -> (taken: Ending, sent: Ending) {
        let program = try framesocket(arguments)
        _ = try await program.lines(1)
        let sent = try await sender()
        if !arguments.contains("--once") {
            // Behind the sender's end nothing comes.
            try await program.printed(#""event":"closed""#)
            program.send(.interrupt)
        }
        return (await program.ended(), sent)
    }

    /// Starts a foreign peer at the socket.
    @discardableResult
    func peer(_ name: String, _ arguments: String...) throws -> Program {
        try start(Places.python, ["-B", Places.peer(name), socket] + arguments)
    }

    /// Starts a command of the shell, in which `$F` is framesocket, `$S` the socket, `$D` the directory and `$X` Fixtures.
    func shell(_ command: String) throws -> Program {
        let settings = "F='\(Places.framesocket)' S='\(socket)' D='\(directory)' X='\(Places.fixture(""))'; "
        return try start("/bin/sh", ["-c", settings + command])
    }

    /// Runs a program of the system to its end, and gives what it prints.
    func run(_ tool: String, _ arguments: String...) async throws -> [UInt8] {
        try await succeed(Places.tool(tool), arguments).output
    }

    /// Runs a program of the system to its end, with the words of a line, and gives what it prints.
    func run(words line: String) async throws -> [UInt8] {
        let words = words(of: line)
        return try await succeed(Places.tool(words[0]), Array(words.dropFirst())).output
    }

    private func succeed(
        _ executable: String,
        _ arguments: [String],
        input: Program.Input = .nothing
    ) async throws -> Ending {
        let ending = try await start(executable, arguments, input: input).ended()
        guard ending.status == 0 else { throw Program.Failure(description: "\(executable) \(arguments): \(ending)") }
        return ending
    }

    /// The SHA-256 of a file, in hexadecimal digits.
    func digest(_ path: String) async throws -> String {
        String(decoding: try await run("sha256sum", path).prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
    }

    /// Runs a script of Tests/Peers to its end, which has to be a good one.
    @discardableResult
    func script(_ name: String, _ arguments: String...) async throws -> Ending {
        try await succeed(Places.python, ["-B", Places.peer(name)] + arguments)
    }

    /// Checks that events fit docs/events.schema.json; returns their names.
    @discardableResult
    func checkSchema(of lines: [String]) async throws -> Set<String> {
        let file = try file("events", Array(lines.map { $0 + "\n" }.joined().utf8))
        return Set(try await succeed(Places.python, ["-B", Places.peer("check_events")], input: .file(file)).lines)
    }
}

extension Data {
    /// A file's bytes.
    static func bytes(at path: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: URL(filePath: path)))
    }
}

extension Workplace {
    /// Starts the host that speaks the control channel and shares no code with the package.
    func host(_ steps: String..., audio: Bool = false) async throws -> Program {
        let host = try start(
            Places.python,
            ["-B", Places.peer("control_host"), socket] + steps.flatMap { ["--step", $0] }
                + (audio ? ["--audio"] : [])
        )
        try await host.lines(1)
        return host
    }
}
