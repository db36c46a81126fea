import Foundation
import TestDescriptions
import Testing

/// The files that `framesocket receive --output` writes: whole or not at all, and never in place of somebody else's.
@Suite(.serialized) struct FrameFileTests {
    private let place: Workplace
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    init() throws {
        place = try Workplace()
        try FileManager.default.createDirectory(atPath: place.path("out"), withIntermediateDirectories: false)
    }

    private func receive(_ options: String...) async throws -> Ending {
        let arguments = ["receive", place.socket, "--count", "1", "--output", place.path("out")] + options
        let receiver = try place.framesocket(arguments)
        let sender = try place.framesocket(["send", place.socket, jpeg, "--passthrough", "--wait", "60", "--quiet"])
        let ending = await receiver.ended()
        // A receiver that refuses to begin leaves it waiting.
        sender.kill()
        _ = await sender.ended()
        return ending
    }

    @Test func `existing frames are replaced only with --overwrite`() async throws {
        let old = try place.file("out/frame-000003.jpg", [1, 2, 3])
        try await receive().checked(73, ["use --overwrite to replace it"])
        #expect(try place.names(in: "out") == ["frame-000003.jpg"])
        _ = try place.file("out/frame-000000.jpg", [1, 2, 3])
        try await receive("--overwrite").checked(0)
        #expect(try Data.bytes(at: place.path("out/frame-000000.jpg")) == Data.bytes(at: jpeg))
        #expect(try Data.bytes(at: old) == [1, 2, 3])
    }

    @Test func `--keep keeps the last frames over restarts, whose numbers continue`() async throws {
        for number in ["000007", "000008", "999999", "1000000"] {
            _ = try place.file("out/frame-\(number).jpg", [1, 2, 3])
        }
        // Neither a start nor a sender's absence costs a frame.
        let idle = ["receive", place.socket, "--output", place.path("out"), "--overwrite", "--keep", "3"]
        try await place.framesocket(idle + ["--timeout", "0.1"]).ended(75)
        #expect(try place.names(in: "out").count == 4)
        try await receive("--overwrite", "--keep", "3").checked(0)
        #expect(try place.names(in: "out") == ["frame-1000000.jpg", "frame-1000001.jpg", "frame-999999.jpg"])
        #expect(try Data.bytes(at: place.path("out/frame-1000001.jpg")) == Data.bytes(at: jpeg))
        try await receive("--overwrite", "--keep", "1").checked(0)
        #expect(try place.names(in: "out") == ["frame-1000002.jpg"])
    }

    @Test func `--keep also bounds the frames of one run, and leaves files that are no frames alone`() async throws {
        _ = try place.file("out/frame-99999999999999999999.jpg", [1])
        _ = try place.file("out/frame-0000002.jpg", [2])
        let receiver = try await place.receiver(
            "--count",
            "5",
            "--output",
            place.path("out"),
            "--overwrite",
            "--keep",
            "2"
        )
        try await place.send(jpeg, "--passthrough", "--loop", "5", "--quiet").checked(0)
        await receiver.ended(0)
        let others = ["frame-0000002.jpg", "frame-99999999999999999999.jpg"]
        #expect(try place.names(in: "out") == ([others[0], "frame-000003.jpg", "frame-000004.jpg", others[1]]))
    }

    @Test func `a frame is reported although another one cannot be removed`() async throws {
        try FileManager.default.createDirectory(
            atPath: place.path("out/frame-000000.jpg"),
            withIntermediateDirectories: true
        )
        let ending = try await receive("--overwrite", "--keep", "1", "--json").checked(
            73,
            ["frame-000000.jpg: not a regular file"]
        )
        #expect(try ending.events.contains { $0.name == "frame" })
        #expect(try Data.bytes(at: place.path("out/frame-000001.jpg")) == Data.bytes(at: jpeg))
    }

    @Test(arguments: ["victim", "none"])
    func `an existing link is neither followed nor written through`(target: String) async throws {
        let victim = try place.file("victim", [1, 2, 3])
        for name in ["frame-000000.jpg", ".framesocket.frame-000000.jpg"] {
            let link = place.path("out/\(name)")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: place.path(target))
        }
        try await receive("--overwrite").checked(0)
        #expect(try Data.bytes(at: victim) == [1, 2, 3])
        #expect(try place.names() == ["out", "victim"])
        #expect(try Data.bytes(at: place.path("out/frame-000000.jpg")) == Data.bytes(at: jpeg))
        #expect(try place.names(in: "out") == ["frame-000000.jpg"])
    }

    @Test func `a pipe in place of a frame is not replaced`() async throws {
        try #require(unsafe mkfifo(place.path("out/frame-000000.jpg"), 0o600) == 0)
        try await receive("--overwrite").checked(73, ["not a regular file"])
    }

    @Test(.leftOut(of: .thread, because: "the thread sanitizer ends if files may not grow"))
    func `a file that cannot be written completely does not exist afterwards`() async throws {
        // Blocks of 512 bytes: fewer than the frame has.
        let receiver = try place.shell("ulimit -f 40; exec $F receive $S --output $D/out")
        try await receiver.told("listening at")
        _ = try await place.send(jpeg, "--passthrough", "--quiet")
        await receiver.ended(73, "frame-000000.jpg: ")
        #expect(try place.names(in: "out") == [])
    }

    #if os(Linux)
        @Test func `a file system without links gets the frames too`() async throws {
            let code = "#include <errno.h>\nint link(const char *from, const char *to) { errno = EPERM; return -1; }\n"
            let source = try place.file("links.c", Array(code.utf8))
            _ = try await place.run("cc", "-shared", "-fPIC", "-o", place.path("links.so"), source)
            let receiver = try place.shell("LD_PRELOAD=$D/links.so exec $F receive $S --count 2 --output $D/out")
            try await receiver.told("listening at")
            try await place.send(jpeg, "--passthrough", "--loop", "2", "--quiet").checked(0)
            await receiver.ended(0)
            #expect(try place.contents(of: "out") == Array(repeating: Data.bytes(at: jpeg), count: 2))
        }

        @Test(.needs("setpriv"), .enabled(if: geteuid() == 0, "only root can plant another user's link"))
        func `another user's link at a recording's path is not followed`() async throws {
            let victim = try place.file("victim", [1, 2, 3])
            let (open, link) = (place.path("open"), place.path("open/r.mkv"))
            try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
            for (path, mode) in [(open, 0o1777), (place.directory, 0o755)] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            }
            _ = try await place.run("setpriv", "--reuid", "65534", "--clear-groups", "ln", "-s", victim, link)
            try await place.framesocket(["record", place.socket, link, "--overwrite"]).ended(73, "symbolic link")
            #expect(try Data.bytes(at: victim) == [1, 2, 3])
        }
    #endif
}
