import Foundation
import FrameSocketTesting
import TestSupport
import Testing

/// The commands of blocks that belong together, and a directory in which they run.
final class DocumentedRun {
    let place: Workplace
    /// The commands as the tests run them.
    let commands: [String]
    /// What the blocks say, to the letter.
    let lines: [String]
    private var used: Set<Int> = []
    private var settings = ""

    init(_ blocks: [DocumentedBlock]) throws {
        place = try Workplace()
        lines = blocks.flatMap(\.lines)
        commands = try blocks.flatMap(\.commands).map(Documents.replaced)
        let files = FileManager.default
        for name in ["Fixtures", "docs"] {
            try files.createSymbolicLink(atPath: place.path(name), withDestinationPath: Places.package + name)
        }
        let products = URL(filePath: Places.framesocket).deletingLastPathComponent().path()
        try files.createDirectory(atPath: place.path(".build-release"), withIntermediateDirectories: false)
        try files.createSymbolicLink(atPath: place.path(".build-release/release"), withDestinationPath: products)
        // The two machines of docs/scaling.md.
        for name in ["A", "B"] {
            try files.createDirectory(atPath: place.path(name), withIntermediateDirectories: false)
        }
        set("D", place.directory)
        settings += "export PATH='\(products)':\"$PATH\"; "
    }

    /// Sets a variable of the shell.
    func set(_ name: String, _ value: String) {
        settings += "export \(name)='\(value)'; "
    }

    /// Sets `PORT` to a port that nobody uses just now, and gives its number.
    ///
    /// The commands that are tested bind it, so it cannot be held for them. It is none of those that a system gives to
    /// whoever asks for any port, so that nobody else gets it by chance until then.
    @discardableResult
    func takePort(_ kind: String = "SOCK_STREAM") async throws -> String {
        let code = """
            import random, socket
            while True:
                port = random.randrange(20000, 30000)
                try:
                    socket.socket(type=socket.\(kind)).bind(('127.0.0.1', port))
                    break
                except OSError:
                    continue
            print(port)
            """
        let port = try #require(try await place.start(Places.python, ["-c", code]).ended().lines.first)
        set("PORT", port)
        return port
    }

    /// Starts what the tests add, in the same place.
    func shell(_ command: String, on machine: String = ".") throws -> Program {
        try place.start("/bin/sh", ["-c", settings + "cd \(place.path(machine)); " + command])
    }

    /// Starts a command of the documentation, changed by `change`.
    ///
    /// One that is a program alone takes the place of its shell, so that signals reach it.
    func start(_ index: Int, on machine: String = ".", change: (String) -> String = { $0 }) throws -> Program {
        used.insert(index)
        let isAlone = !commands[index].contains { "|;{&".contains($0) }
        return try shell((isAlone ? "exec " : "") + change(commands[index]), on: machine)
    }

    /// Runs a command of the documentation to its end, which has to be a good one.
    @discardableResult
    func run(_ index: Int, on machine: String = ".", change: (String) -> String = { $0 }) async throws -> Ending {
        try await succeeded(start(index, on: machine, change: change), commands[index])
    }

    /// Waits for the end of a program, which has to be a good one.
    @discardableResult
    func succeeded(_ program: Program, _ command: String) async throws -> Ending {
        let ending = await program.ended()
        #expect(ending.status == 0, "\(command): \(ending)")
        return ending
    }

    /// Ends a command that would go on, as Ctrl-C does.
    func interrupt(_ program: Program) async {
        let ending = await program.ended(by: .interrupt)
        #expect(ending.status == 130 || ending.status == 0, "\(ending)")
    }

    /// Takes note of a command that the scenario runs in a form of its own.
    func use(_ index: Int) -> String {
        used.insert(index)
        return commands[index]
    }

    /// The commands that were not run.
    var unused: [String] { commands.indices.filter { !used.contains($0) }.map { commands[$0] } }

    // MARK: What the tests put at the other end

    /// Waits until a server listens at a path.
    func listens(at path: String) async throws {
        try #require(await becomesTrue { (try? PeerSocket.connected(to: path).close()) != nil })
    }

    /// Starts a receiver that prints events, and waits until it listens.
    func receiver(at name: String, count: Int, _ options: String = "") async throws -> Program {
        let receiver = try place.framesocket(
            ["receive", place.path(name), "--json", "--count", "\(count)"]
                + options.split(separator: " ").map(String.init)
        )
        _ = try await receiver.lines(1)
        return receiver
    }

    /// Twenty JPEGs of 1280x720, one behind the other.
    private static let images = Task { () -> [UInt8] in
        let source = ["-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=30", "-frames:v", "20", "-q:v", "3"]
        let arguments = ["-nostdin", "-loglevel", "error"] + source + ["-f", "mjpeg", "-"]
        let ending = try await Program(Places.tool("ffmpeg"), arguments).ended()
        try #require(ending.status == 0, "\(ending)")
        return ending.output
    }

    /// Sends twenty frames of 1280x720 to a path, which has to work.
    func sendImages(to name: String) async throws {
        if !FileManager.default.fileExists(atPath: place.path("images")) {
            _ = try await place.file("images", Self.images.value)
        }
        let command = "framesocket send \(place.path(name)) - --passthrough --wait 30 --quiet <images"
        try await succeeded(shell(command), command)
    }

    /// Sees that `count` frames were written to a video file.
    func checkVideo(_ name: String, frames count: Int) async throws {
        let packets = try await place.run(
            words: "ffprobe -v error -count_packets -show_entries stream=nb_read_packets -of csv=p=0 $D/\(name)"
        )
        #expect(String(decoding: packets, as: UTF8.self).prefix { $0.isNumber } == "\(count)", "\(name)")
    }
}
