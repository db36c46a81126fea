import Foundation
import FrameSocketTesting
import Testing

/// What happens to the socket's file, and who may use the path.
@Suite(.serialized) struct PathTests {
    private let place: Workplace
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    init() throws {
        place = try Workplace()
    }

    /// Leaves a socket behind that nobody listens at, as existing Jitsi receivers do.
    private func leaveDeadSocket() throws {
        try PeerSocket.listening(at: place.socket).close()
        #expect(try place.names() == ["s"])
    }

    @Test func `only this user may use the socket, and it is removed at the end`() async throws {
        let receiver = try await place.receiver("--count", "1", "--json")
        let attributes = try FileManager.default.attributesOfItem(atPath: place.socket)
        #expect(attributes[.type] as? FileAttributeType == .typeSocket)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try await place.send(jpeg).status == 0)
        #expect(await receiver.ended().status == 0)
        #expect(try place.names() == [])
    }

    @Test func `a dead socket is replaced`() async throws {
        try leaveDeadSocket()
        let receiver = try await place.receiver("--count", "1", "--json")
        #expect(try await place.send(jpeg).status == 0)
        #expect(await receiver.ended().status == 0)
        #expect(try place.names() == [])
    }

    @Test func `a killed receiver leaves a dead socket, which the next one replaces`() async throws {
        let killed = try await place.receiver("--json")
        killed.kill()
        #expect(await killed.ended().status == -9)
        #expect(try place.names().contains("s"))
        let receiver = try await place.receiver("--count", "1", "--json")
        #expect(try await place.send(jpeg).status == 0)
        #expect(await receiver.ended().status == 0)
        #expect(try place.names() == [])
    }

    @Test func `a live server is left alone`() async throws {
        let first = try await place.receiver("--count", "1", "--json")
        let second = try place.framesocket(["receive", place.socket, "--json"])
        let ending = await second.ended()
        #expect(ending.status == 69)
        #expect(try ending.events.map(\.name) == ["error", "failed"])
        #expect(try ending.events[0].text("code") == "path.inUse")
        #expect(try await place.send(jpeg).status == 0)
        #expect(await first.ended().status == 0)
    }

    @Test func `a live server of another program is left alone`() async throws {
        let live = try PeerSocket.listening(at: place.socket)
        let ending = await (try place.framesocket(["receive", place.socket])).ended()
        #expect(ending.status == 69, "\(ending)")
        #expect(try place.names() == ["s"])
        withExtendedLifetime(live) {}
    }

    @Test func `a file that is not a socket is never touched`() async throws {
        let file = try place.file("s", Array("precious".utf8))
        let ending = await (try place.framesocket(["receive", place.socket])).ended()
        #expect(ending.status == 73)
        #expect(try Data.bytes(at: file) == Array("precious".utf8))
        #expect(try place.names() == ["s"])
    }

    #if os(Linux)
        @Test func `a path of more than 300 bytes works like any other`() async throws {
            let deep = place.directory + String(repeating: "/" + String(repeating: "d", count: 99), count: 3)
            try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
            let path = deep + "/rtc_SSFD"
            let receiver = try place.framesocket(["receive", path, "--count", "1", "--json"])
            #expect(try await receiver.lines(1).first?.contains(path) == true)
            let second = await (try place.framesocket(["receive", path])).ended()
            #expect(second.status == 69 && second.errors.contains(path), "\(second)")
            let sender = await (try place.framesocket(["send", path, jpeg])).ended()
            #expect(sender.status == 0, "\(sender)")
            #expect(await receiver.ended().status == 0)
            #expect(try FileManager.default.contentsOfDirectory(atPath: deep).isEmpty)
        }

        /// Root may become another user, who is then neither let in nor believed.
        @Test(.enabled(if: geteuid() == 0, "only root may become another user"))
        func `another user's process is turned away, and nothing is sent to its server`() async throws {
            let receiver = try await place.receiver("--count", "1", "--json")
            // As far as the files go, everybody may.
            let files = FileManager.default
            try files.setAttributes([.posixPermissions: 0o1777], ofItemAtPath: place.directory)
            try files.setAttributes([.posixPermissions: 0o666], ofItemAtPath: place.socket)
            let stranger = try await place.stranger("connect", place.socket).ended()
            #expect(stranger.status == 0 && stranger.text == "0\n", "\(stranger)")

            let server = try await place.foreignServer(at: "other")
            let sender = await (try place.framesocket(["send", place.path("other"), jpeg, "--json"])).ended()
            #expect(sender.status == 69 && sender.errors.contains("belongs to user 65534"), "\(sender)")
            #expect(await server.ended().text == "listening\n0\n")

            // Whoever is innocent is served as ever.
            #expect(try await place.send(jpeg).status == 0)
            #expect(await receiver.ended().status == 0)
        }
    #endif

    @Test func `a sender waits for a server that starts later, even at a dead socket`() async throws {
        for isDead in [false, true] {
            if isDead { try leaveDeadSocket() }
            let sender = try place.framesocket(["send", place.socket, jpeg, "--wait", "60"])
            let receiver = try await place.receiver("--count", "1")
            #expect(await sender.ended().status == 0)
            #expect(await receiver.ended().status == 0)
        }
    }

    @Test func `a sender gives up on a dead socket`() async throws {
        try leaveDeadSocket()
        let ending = try await place.send(jpeg, "--wait", "0.3")
        #expect(ending.status == 69)
        #expect(ending.errors.contains(place.socket))
        #expect(try place.names() == ["s"])
    }
}
