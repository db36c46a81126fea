import Foundation
import FrameSocketTesting
import TestDescriptions
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// `framesocket doctor`: what it says, how it ends, and what it leaves alone.
@Suite(.serialized) struct DoctorTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    /// One finding as it is printed for scripts.
    private struct Finding: Decodable {
        let code, severity, message: String
        let remedy: String?
        let bytes, limit, pid, uid, open: Int?
    }

    private struct Diagnosis: Decodable {
        let event, path, severity: String
        let findings: [Finding]
    }

    private func diagnosis(_ ending: Ending) throws -> Diagnosis {
        try #require(ending.lines.count == 1, "\(ending)")
        return try JSONDecoder().decode(Diagnosis.self, from: Data(ending.output))
    }

    private static let bind = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('$D/t')"

    /// One of each severity, with a remedy or without; `DiagnosisTests` has every finding.
    ///
    /// Each with the exit code, the command that makes the place, the path, and the code of the finding that counts.
    @Test(
        arguments: [
            (0, ":", "$D/t", "path.free"),
            (0, ":", "$S", "server.live"),
            (69, "python3 -c \"\(bind)\"", "$D/t", "socket.dead"),
            (69, "ulimit -n 60", "$D/t", "descriptors.few"),
            (73, "mkdir -m 777 $D/open", "$D/open/t", "directory.openToOthers"),
            (73, "mkdir $D/t.lock", "$D/t", "path.lockUnusable"),
        ].map { (Int32($0), Short($1), $2, $3) }
    )
    func `each finding has its code and exit code`(
        code: Int32,
        preparation: Short,
        path: String,
        finding: String
    ) async throws {
        // Somebody listens at $S, whom nothing of this may disturb.
        let receiver = try await place.receiver("--count", "1", "--json")
        let ending = try await place.shell("\(preparation.text); $F doctor \(path) --json --timeout 60").ended()
        #expect(ending.status == code, "\(ending)")
        let diagnosis = try diagnosis(ending)
        #expect(diagnosis.event == "diagnosis")
        #expect(diagnosis.severity == (code == 0 ? "note" : code == 69 ? "warning" : "failure"))
        let found = try #require(diagnosis.findings.first { $0.code == finding }, "\(ending)")
        #expect(found.severity == diagnosis.severity)
        #expect((found.remedy == nil) == (code == 0))
        #expect(ending.errors.contains(found.message) == (code != 0))
        #expect(diagnosis.findings.last?.code == "jpeg.library")
        #expect(diagnosis.findings.last?.message.contains("libturbojpeg") == true)

        let names = try place.names()
        let words = try await place.shell("ulimit -n \(finding == "descriptors.few" ? 60 : 1024); $F doctor \(path)")
            .ended()
        #expect(words.status == code)
        // How many descriptors are open differs by one from run to run: a library opens a timer when it first waits.
        let said = finding == "descriptors.few" ? "of at most 60 descriptors open" : found.message
        #expect(words.text.contains(said) && words.text.contains("(\(finding))"))
        if code == 73 { #expect(!words.text.contains("can listen here"), "\(words)") }
        if let remedy = found.remedy { #expect(words.text.contains("remedy: \(remedy)\n")) }
        #expect(try place.names() == names)

        #expect(try await place.send(Places.fixture("jpeg/chelsea-420.jpg")).status == 0)
        #expect(await receiver.ended().status == 0)
    }

    @Test func `a live server is identified by its process and user, with its descriptors`() async throws {
        let receiver = try await place.receiver("--json")
        let ending = try await place.shell("$F doctor $S --json").ended()
        let diagnosis = try diagnosis(ending)
        let server = try #require(diagnosis.findings.first { $0.code == "server.live" })
        #expect(server.pid == receiver.id && server.uid == Int(geteuid()))
        let descriptors = diagnosis.findings.filter { $0.code == "descriptors.free" }
        #expect(descriptors.map(\.pid).contains(receiver.id))
        #expect(descriptors.allSatisfy { ($0.open ?? 0) > 2 && ($0.limit ?? 0) > ($0.open ?? 0) })
        // The receiver saw a sender that came and went, and no failure.
        try await receiver.lines(3)
        receiver.send(.interrupt)
        #expect(try await receiver.ended().events.map(\.name) == ["listening", "connected", "closed"])
    }

    #if os(Linux)
        @Test(.leftOut(of: .thread, because: "the thread sanitizer ends if files may not grow"))
        func `a system without memory to share is a warning that leaves the exit code`() async throws {
            // A limit on the size of files is one on shared memory too.
            let ending = try await place.shell("ulimit -f 1; $F doctor $D/t --json").ended()
            #expect(ending.status == 0, "\(ending)")
            let diagnosis = try diagnosis(ending)
            let memory = try #require(diagnosis.findings.first { $0.code == "memory.shared" })
            #expect(diagnosis.severity == "note" && memory.severity == "warning" && memory.remedy != nil)
        }
    #endif

    @Test func `a stopped server is distinguished from a healthy one`() async throws {
        let receiver = try await place.receiver("--json")
        let stopped = try await place.shell("kill -STOP \(receiver.id); $F doctor $S --json --timeout 0.2").ended()
        #expect(stopped.status == 75, "\(stopped)")
        let silent = try diagnosis(stopped).findings.first { $0.code == "server.noAnswer" }
        #expect(silent?.pid == receiver.id)
        let awake = try await place.shell("kill -CONT \(receiver.id); $F doctor $S --json --timeout 60").ended()
        #expect(awake.status == 0, "\(awake)")
        receiver.send(.interrupt)
        #expect(await receiver.ended().status == 130)
    }

    #if os(Linux)
        /// Errors of bind(2) by number: file systems without sockets, read-only ones, full ones.
        @Test(arguments: [
            (EOPNOTSUPP, "directory.noSockets", "creates no sockets"),
            (EIO, "directory.noSockets", "creates no sockets"),
            (ENOSYS, "directory.noSockets", "creates no sockets"), (EPERM, "directory.noSockets", "has none"),
            (EROFS, "directory.readOnly", "mounted read-only"), (ENOSPC, "directory.full", "no inodes left"),
            (EDQUOT, "directory.full", "quota"),
        ])
        func `a directory in which no socket can be created is found by trying, and the server says the same`(
            error: Int32,
            code: String,
            sentence: String
        ) async throws {
            let source = try place.file("fail.c", Array(Self.failingBind.utf8))
            _ = try await place.run("cc", "-shared", "-fPIC", "-o", place.path("fail.so"), source)
            let preload = "export LD_PRELOAD=$D/fail.so BIND_ERROR=\(error);"
            let ending = try await place.shell("\(preload) $F doctor $D/t --json").ended()
            #expect(ending.status == 73, "\(ending)")
            let findings = try diagnosis(ending).findings
            let found = try #require(findings.first { $0.severity == "failure" })
            #expect(found.code == code && found.remedy != nil)
            #expect(!findings.contains { $0.message.contains("can listen here") })
            let server = try await place.shell("\(preload) $F receive $D/t").ended()
            #expect(server.status == 73 && server.errors.contains(sentence), "\(server)")
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
            #expect(found.code == "socket.mounted" && found.remedy?.contains("mount the directory") == true)
            #expect(ending.errors.contains("73\n") && ending.status == 73)
            #expect(ending.errors.contains("cannot be replaced; mount the directory of the socket"), "\(ending)")
        }
    #endif

    @Test func `output that nobody reads is not a failure`() async throws {
        let ending = try await place.shell("$F doctor $D/t | true; $F doctor $D/t >&-; echo $?").ended()
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `a server without a free slot turns senders away`() async throws {
        let receiver = try await place.receiver("--json")
        let peers = try (0..<64).map { _ in try PeerSocket.connected(to: place.socket) }
        let ending = try await place.framesocket(["doctor", place.socket, "--json"]).ended()
        let codes = try diagnosis(ending).findings.map(\.code)
        #expect(ending.status == 69 && codes.contains("server.turnsAway"), "\(ending)")
        for peer in peers { peer.close() }
        receiver.send(.interrupt)
        _ = await receiver.ended()
    }

    @Test func `a server whose socket file is gone is found by its lock`() async throws {
        let receiver = try await place.receiver("--json")
        try FileManager.default.removeItem(atPath: place.socket)
        let ending = try await place.framesocket(["doctor", place.socket, "--json"]).ended()
        let codes = try diagnosis(ending).findings.map(\.code)
        #expect(ending.status == 69 && codes.contains("path.lockHeld"), "\(ending)")
        #expect(codes.contains("path.free") && !ending.text.contains("can listen here"))
        receiver.send(.interrupt)
        _ = await receiver.ended()
        // Without it the path is free.
        #expect(try await place.framesocket(["doctor", place.socket, "--json"]).ended().status == 0)
    }

    #if os(Linux)
        @Test func `a device is not to be moved out of the way`() async throws {
            let ending = try await place.shell("$F doctor /dev/null").ended()
            #expect(ending.status == 73 && ending.text.contains("remedy: choose another path\n"), "\(ending)")
        }
    #endif
}
