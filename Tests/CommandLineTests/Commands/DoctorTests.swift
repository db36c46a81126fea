import Foundation
import FrameSocketTesting
import TestDescriptions
import Testing

/// `framesocket doctor`: what it says, how it ends, and what it leaves alone.
@Suite(.serialized) struct DoctorTests {
    private let place = Workplace.new

    /// One finding as it is printed for scripts.
    private struct Finding: Decodable {
        let code, severity, message: String
        let remedy: String?
        let pid, uid, errno: Int?
    }

    private struct Diagnosis: Decodable {
        let event, path, severity: String
        let findings: [Finding]
    }

    private func diagnosis(_ ending: Ending) throws -> Diagnosis {
        try #require(ending.lines.count == 1, "\(ending)")
        return try JSONDecoder().decode(Diagnosis.self, from: Data(ending.output))
    }

    // MARK: Situations

    /// What may be wrong with a path, what is said of it, and what helps: a row of a table.
    struct Situation: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: Int32
        let code: String
        /// A part of the first finding's message.
        let words: String
        /// How its remedy is shown to work: nothing is wrong after the "(command)" behind its last colon, at the "(path)" behind it, with
        /// a "(receiver)" that is started, or "(later)", once what `within` runs has ended; or what it says, if a test cannot do it.
        let remedy: String
        /// Commands that make the situation.
        let made: String
        /// A command that runs another one in it.
        let within: String
        let path: String
        var timeout: Double { status == 75 ? 0.3 : 60 }

        init(_ row: Substring) {
            let cells = row.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            func cell(_ index: Int, _ fallback: String = "") -> String {
                let text = index < cells.count ? cells[index] : ""
                return text.isEmpty ? fallback : text.replacing("DEEP", with: DoctorTests.deep)
            }
            testDescription = cell(0)
            status = Int32(cell(1)) ?? -1
            (code, words, remedy) = (cell(2), cell(3), cell(4))
            (path, made) = (cell(5, "$D/t"), cell(6, ":"))
            let context = cell(7)
            within = context.hasPrefix("python ") ? DoctorTests.python(String(context.dropFirst(7))) : context + " "
        }
    }

    /// Runs a command while a socket of Python's is what `steps` make it.
    fileprivate static func python(_ steps: String) -> String {
        "rm -f $D/t; python3 -c \"import os, socket, subprocess, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_"
            + (steps == "datagram" ? "DGRAM" : "STREAM") + "); s.bind('$D/t'); "
            + "\(steps == "datagram" ? "0" : steps); sys.exit(subprocess.call(sys.argv[1:]))\" "
    }

    private static func rows(_ table: String) -> [Situation] { table.split(separator: "\n").map { Situation($0) } }

    /// Name, exit code, code, words, remedy, path, what makes it, what runs another command in it: each situation that the program
    /// knows; those that need a file system of their own are below, and in `UnsafePathTests`.
    private static let situations = rows(
        """
        free | 0 | path.free | a server can listen here
        a long path | 0 | path.free | a server can listen here | | $D/DEEP/t | mkdir -p -m 700 $D/DEEP
        empty | 73 | path.invalid | is empty | use the path of a file in a directory, such as | ''
        a slash at the end | 73 | path.invalid | ends with a slash | use the path of a file in a directory, such as | $D/
        too long | 73 | path.tooLong | bytes; a socket's path may have at most | choose a shorter one | $D/$(printf '%0120d' 0)
        a link to a server | 73 | path.notASocket | symbolic link | (command) | | ln -s s $D/t
        a link to nothing | 73 | path.notASocket | symbolic link | (command) | | ln -s none $D/t
        a file | 73 | path.notASocket | is not a socket | (command) | "$D/it's one" | : >"$D/it's one"
        a pipe | 73 | path.notASocket | is not a socket | (command) | | mkfifo $D/t
        a directory | 73 | path.notASocket | is a directory | (path) | | mkdir -m 700 $D/t
        a device | 73 | path.notASocket | device | choose another path | /dev/null
        a link as lock file | 73 | path.unsafe | t.lock, which a server locks, is not an empty | (command) | | ln -s none $D/t.lock
        a lock that is held | 69 | path.inUse | whose socket's file was removed, holds | (later) | | : >$D/t.lock | flock $D/t.lock
        no directory | 73 | path.cannotCreate | it's none does not exist | (command) | "$D/it's none/t"
        a file as directory | 73 | path.cannotCreate | is not a directory | choose a path in an existing directory | $D/f/t | : >$D/f
        a loop | 73 | path.cannotCreate | cannot be opened (Too many levels | choose another path | $D/loop/t | ln -s loop $D/loop
        open to others | 73 | path.unsafe | has mode 777, which lets others replace | (command) | $D/open/t | mkdir -m 777 $D/open
        the system's | 73 | path.cannotCreate | the file system of /proc creates no sockets | on another file system | /proc/t
        a socket that was left behind | 69 | connect.timedOut | nobody listens here | (receiver) | | BIND
        a datagram socket | 73 | connect.timedOut | datagram | choose another path | | | python datagram
        accepts nobody | 75 | server.noAnswer | within 0.3 seconds it has either not accepted | ps -o pid,stat,wchan,args -p | | | python s.listen(9)
        a full queue | 75 | connect.timedOut | the queue of connections is full | ss -xlp src | | | python QUEUE
        few descriptors | 69 | descriptors.few | of 64 senders | ulimit -n 1024 | | | ulimit -n 60;
        """
        .replacing("BIND", with: bind)
        .replacing("QUEUE", with: "s.listen(0); c = socket.socket(socket.AF_UNIX); c.connect('$D/t')")
    )

    private static let bind = "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('$D/t')\""
    fileprivate static let deep = String(repeating: "d", count: 60) + "/" + String(repeating: "d", count: 60)

    /// The same for what only root can make.
    private static let strangers = rows(
        """
        a directory of another user | 73 | path.unsafe | belongs to user 65534, who could | choose one owned by you | $D/o/t | MAKE
        a socket of another user | 73 | path.unsafe | belongs to user 65534 | that only you can write to | | BIND; chown -h 65534 $D/t
        a server of another user | 69 | peer.refused | but only 0 may own it | run both ends as the same user | | | python SERVE
        """
        .replacing("MAKE", with: "mkdir $D/o; chown 65534 $D/o")
        .replacing("BIND", with: bind)
        .replacing("SERVE", with: "os.seteuid(65534); s.listen(9); os.seteuid(0)")
    )

    @Test(arguments: situations)
    func `a situation is told by its cause, with a remedy that works`(_ situation: Situation) async throws {
        try await check(situation)
    }

    @Test(.needsRoot, arguments: strangers)
    func `what belongs to others is told by its cause, with a remedy`(_ situation: Situation) async throws {
        try await check(situation)
    }

    private func check(_ situation: Situation) async throws {
        let (path, within) = (situation.path, situation.within)
        try await place.shell(situation.made).ended(0)
        let before = try state
        let doctor = "doctor \(path) --timeout \(situation.timeout)"
        let ending = try await place.shell("\(within)$F \(doctor) --json").ended(situation.status)
        let diagnosis = try diagnosis(ending)
        let severity: [Int32: String] = [0: "note", 69: situation.code.hasPrefix("path") ? "failure" : "warning"]
        let expected = situation.code == "peer.refused" ? "failure" : severity[situation.status] ?? "failure"
        #expect(diagnosis.event == "diagnosis" && diagnosis.severity == expected)
        let complaints = diagnosis.findings.filter { $0.severity != "note" }
        #expect(complaints.count == (situation.status == 0 ? 0 : 1), "what is said once is not said in other words")
        let found = try #require(complaints.first ?? diagnosis.findings.first)
        #expect(found.code == situation.code && found.message.contains(situation.words), "\(ending)")
        #expect((found.remedy == nil) == (situation.status == 0))
        #expect(ending.errors.contains(found.message) == (situation.status != 0))
        #expect(diagnosis.findings.contains { $0.code == "path.long" } == situation.path.contains(Self.deep))
        let words = try await place.shell("\(within)$F \(doctor)").ended()
        #expect(words.status == situation.status && words.text.contains("(\(situation.code))\n"), "\(words)")
        // Each time another process is named.
        let remedy = (found.remedy ?? "").split(separator: /[0-9]+$/).first ?? ""
        #expect(words.text.contains("remedy: \(remedy)") == (situation.status != 0))
        // A socket that Python has bound stays.
        if !within.contains("python3") { #expect(try state == before) }
        try await checkErrors(situation, found)
        try await checkRemedy(situation, found.remedy ?? "")
    }

    /// Checks that the receiver or the sender whose error it is says the same.
    private func checkErrors(_ situation: Situation, _ found: Finding) async throws {
        let command: String
        switch situation.code {
        case "connect.timedOut", "peer.refused":
            command = "send \(situation.path) $X/jpeg/chelsea-420.jpg --wait 0.1"
        case let code where code.hasPrefix("path.") && situation.status != 0 && situation.path != "''":
            command = "receive \(situation.path) --timeout 0.1"
        default: return
        }
        let ending = try await place.shell("\(situation.within)$F \(command)").ended()
        #expect(ending.status == (command.hasPrefix("send") ? 69 : situation.status), "\(ending)")
        #expect(ending.errors.contains(found.remedy ?? "?"), "\(ending)")
    }

    private func checkRemedy(_ situation: Situation, _ remedy: String) async throws {
        var path = situation.path
        let last = remedy.components(separatedBy: ": ").last ?? ""
        switch situation.remedy {
        case "": return
        case "(command)": try await place.shell(last).ended(0)
        case "(path)": path = last
        case "(receiver)":
            let receiver = try place.shell("exec $F receive \(path) --json")
            try await receiver.lines(1)
            let ending = try await place.shell("$F doctor \(path) --json --timeout 60").ended()
            #expect(try diagnosis(ending).findings.first?.code == "server.live" && ending.status == 0, "\(ending)")
            return
        case "(later)": break
        default: return #expect(remedy.contains(situation.remedy), "\(remedy)")
        }
        let ending = try await place.shell("$F doctor \(path) --timeout 60").ended()
        #expect(ending.status == 0, "\(remedy): \(ending)")
    }

    /// What is in the directory, with everything that writing, making or removing would change.
    ///
    /// Not the times of directories: whether a socket can be created there is tried.
    private var state: [String] {
        get throws {
            let files = FileManager.default
            return try files.subpathsOfDirectory(atPath: place.directory).sorted().map { name in
                var facts = try files.attributesOfItem(atPath: place.path(name))
                if facts[.type] as? FileAttributeType == .typeDirectory { facts[.modificationDate] = nil }
                let kinds: [FileAttributeKey] = [
                    .systemFileNumber, .type, .posixPermissions, .ownerAccountID, .size, .modificationDate,
                ]
                return "\(name) \(kinds.map { facts[$0].map { "\($0)" } ?? "-" })"
            }
        }
    }

    @Test func `a live server is identified by its process and user, and sees a sender that leaves`() async throws {
        let receiver = try await place.receiver("--json")
        // A link is not followed.
        try await place.shell("ln -s s $D/t; $F doctor $D/t").ended(73)
        let ending = try await place.shell("$F doctor $S --json").ended()
        let diagnosis = try diagnosis(ending)
        let server = try #require(diagnosis.findings.first { $0.code == "server.live" })
        #expect(server.pid == receiver.id && server.uid == Int(geteuid()))
        try await receiver.lines(3)
        #expect(try await receiver.ended(by: .interrupt).events.map(\.name) == ["listening", "connected", "closed"])
    }

    #if os(Linux)
        @Test(.leftOut(of: .thread, because: "the thread sanitizer ends if files may not grow"))
        func `a system without memory to share is a warning that leaves the exit code`() async throws {
            // A limit on the size of files is one on shared memory too.
            let ending = try await place.shell("ulimit -f 1; $F doctor $D/t --json").ended(0)
            let diagnosis = try diagnosis(ending)
            let memory = try #require(diagnosis.findings.first { $0.code == "memory.shared" })
            #expect(diagnosis.severity == "note" && memory.severity == "warning" && memory.remedy != nil)
        }
    #endif

    #if os(Linux)
        /// Errors of bind(2) by number: file systems without sockets, read-only ones, full ones.
        @Test(arguments: [
            (EOPNOTSUPP, "creates no sockets; choose a directory on another file system"),
            (EIO, "creates no sockets;"), (ENOSYS, "creates no sockets;"),
            (EPERM, "creates no sockets, or none for you"), (EROFS, "mounted read-only; choose another directory"),
            (ENOSPC, "no inodes left; remove files"), (EDQUOT, "quota on the file system"),
        ])
        func `a directory in which no socket can be created is found by trying, and the server says the same`(
            error: Int32,
            sentence: String
        ) async throws {
            let source = try place.file("fail.c", Array(Self.failingBind.utf8))
            _ = try await place.run("cc", "-shared", "-fPIC", "-o", place.path("fail.so"), source)
            let preload = "export LD_PRELOAD=$D/fail.so BIND_ERROR=\(error);"
            let ending = try await place.shell("\(preload) $F doctor $D/t --json").ended(73)
            let found = try #require(try diagnosis(ending).findings.first)
            #expect(found.code == "path.cannotCreate" && found.errno == Int(error))
            let server = try await place.shell("\(preload) $F receive $D/t").ended(73, sentence)
            #expect(server.errors.contains(found.remedy ?? "?"), "\(server)")
            #expect(try place.names().allSatisfy { !$0.contains("doctor") && $0 != "t" })
        }

        private static let failingBind = """
            #include <errno.h>
            #include <stdlib.h>
            #include <sys/socket.h>
            int bind(int socket, const struct sockaddr *address, socklen_t length) {
                errno = atoi(getenv("BIND_ERROR"));
                return -1;
            }

            """

        @Test(.needsNamespaces)
        func `a mount of an old socket is distinguished from one that can be replaced`() async throws {
            let mounted = """
                mkdir $D/host $D/box; touch $D/box/s
                python3 -c "import socket; s = socket.socket(socket.AF_UNIX); s.bind('$D/host/s')"
                unshare --mount sh -c "mount --bind $D/host/s $D/box/s; $F doctor $D/box/s --json; echo \\$? >&2; $F receive $D/box/s"
                """
            let ending = try await place.shell(mounted).ended()
            let found = try #require(try diagnosis(ending).findings.first { $0.severity == "failure" }, "\(ending)")
            #expect(found.code == "path.cannotCreate" && found.remedy?.contains("mount the directory") == true)
            #expect(ending.errors.contains("73\n") && ending.status == 73)
            #expect(ending.errors.contains("cannot be replaced; mount the directory of the socket"), "\(ending)")
        }
    #endif

    @Test func `a server without a free slot turns senders away`() async throws {
        _ = try await place.receiver("--json")
        let peers = try (0..<64).map { _ in try PeerSocket.connected(to: place.socket) }
        // It looks for the end of its connection for 0.3 seconds, in which a busy machine may not get to it.
        var codes: [String] = []
        for _ in 0..<20 where !codes.contains("server.turnsAway") {
            let ending = try await place.framesocket(["doctor", place.socket, "--json"]).ended()
            codes = try diagnosis(ending).findings.map(\.code)
            #expect(ending.status == (codes.contains("server.turnsAway") ? 69 : 0), "\(ending)")
        }
        #expect(codes.contains("server.turnsAway"))
        for peer in peers { peer.close() }
    }
}
