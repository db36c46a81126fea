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

    @Test func `a sender waits for a server that starts later, even at a dead socket`() async throws {
        for isDead in [false, true] {
            if isDead { try leaveDeadSocket() }
            let sender = try place.framesocket(["send", place.socket, jpeg, "--wait", "60"])
            let receiver = try await place.receiver("--count", "1")
            #expect(await sender.ended().status == 0)
            #expect(await receiver.ended().status == 0)
        }
    }
}
