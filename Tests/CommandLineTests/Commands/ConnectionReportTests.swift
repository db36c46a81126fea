import Foundation
import FrameSocket
import FrameSocketTesting
import TestSupport
import Testing

@testable import FrameSocketTool

/// What a person is told of connections: every end once, every refusal, and shared memory that was requested and not obtained.
@Suite(.serialized) struct ConnectionReportTests {
    private let place = Workplace.new
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    /// What a sender writes, with what its connection ends, and a part of the sentence about that.
    static let ends: [(stream: [UInt8], reason: String)] = [
        ([], "the other side ended the connection"),
        (Array("no message".utf8), "Not the start of a message"),
        (Array("HTTP/1.1 200 OK\r\nX".utf8), "ended within a header"),
        (Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n".utf8), "Content-Length"),
    ]

    @Test(arguments: ["receive $S", "record $S $D/r", "preview $S --http 127.0.0.1:0"], ends)
    func `the end of a connection is reported once, whatever ended it`(
        command: String,
        end: (stream: [UInt8], reason: String)
    ) async throws {
        let program = try place.framesocket(words: command)
        let sender = try await PeerSocket.connectedWhenListening(at: place.socket)
        if !end.stream.isEmpty { try await sender.write(end.stream) }
        sender.finishWriting()
        try await program.told("sender 1: ")
        let ending = await program.ended(by: .interrupt)
        let told = ending.errors.split(separator: "\n").filter { $0.hasPrefix("sender 1: ") }
        #expect(told.count == 1 && told.first?.contains(end.reason) == true, "\(ending)")
    }

    @Test(arguments: ["receive $S", "record $S $D/r", "preview $S --http 127.0.0.1:0"], [true, false])
    func `senders without the right token are reported, and not again and again`(command: String, isJSON: Bool)
        async throws
    {
        let token = try place.secret("token", Array("a token".utf8))
        let program = try place.framesocket(words: "\(command) --token-file \(token) \(isJSON ? "--json" : "")")
        for _ in 0..<50 {
            let sender = try await PeerSocket.connectedWhenListening(at: place.socket)
            try await sender.write(Array("another".utf8))
            #expect(try await sender.read(1).isEmpty)
        }
        let sentence =
            "a sender was refused, before it had sent the right token: the sender's token is not the expected one"
        if isJSON { try await program.printed(sentence) } else { try await program.told(sentence) }
        let ending = await program.ended(by: .interrupt)
        let events = try isJSON ? ending.events("error").filter { $0.text("code") == "handshake.rejected" } : []
        let told = isJSON ? events.count : ending.errors.components(separatedBy: sentence).count - 1
        // One more for every ten seconds, should this machine be so slow.
        #expect((1...10).contains(told), "\(ending)")
        #expect(ending.status == 130)
    }

    /// A refusal of a user, or else for lack of a slot.
    private static func refusal(for user: Int?) -> TransportEvent {
        guard let user else { return TransportEvent(.warning, .refusedForPlace, "every slot is taken", endpoint: "") }
        let error = TransportError(.peerRefused, "user \(user) may not connect")
        return TransportEvent(.warning, .refusedForUser, error.message, endpoint: "", error: error)
    }

    @Test func `a refusal of each kind is reported once, whatever the others are, and again later; kinds are limited`()
    {
        let reporter = Reporter("receive", isJSON: true, isQuiet: false)
        let refusals = [nil, 6, 7].map { ServerEvent.refused(Self.refusal(for: $0)) }
        #expect(refusals[0].json.text.contains(#""code":"server.full""#))
        #expect(refusals[1].json.text.contains("user 6"))
        for refusal in refusals { #expect(reporter.admit(refusal, at: 1) == 0) }
        for refusal in refusals { #expect(reporter.admit(refusal, at: 2) == nil) }
        // Nobody expects a sentence where there are events.
        #expect(reporter.omitted == 0)
        // Later they are worth a word again, which says how many there were.
        #expect(reporter.admit(refusals[0], at: 20_000_000_000) == 1)
        #expect((0..<2_000).count { reporter.admit(.refused(Self.refusal(for: 100 + $0)), at: 200) != nil } <= 1_000)
    }

    @Test(arguments: ["receive $S", "record $S $D/r", "preview $S --http 127.0.0.1:0"], [true, false])
    func `that nobody can connect any longer is reported, and that everybody can again`(command: String, isJSON: Bool)
        async throws
    {
        let program = try place.framesocket(words: "\(command) \(isJSON ? "--json" : "")")
        _ = try await PeerSocket.connectedWhenListening(at: place.socket)
        #expect(try unsafe rename(place.file("other", [1]), place.socket) == 0)
        let (lost, restored) = ("is not back yet: \(place.socket): ", "the path is bound again")
        try await isJSON ? program.printed(lost) : program.told(lost)
        unsafe unlink(place.socket)
        try await isJSON ? program.printed(restored) : program.told(restored)
        let ending = await program.ended(by: .interrupt)
        if isJSON {
            let codes = try ending.events("error").map { $0.text("code") }
            #expect(codes == ["path.notASocket", "path.restored"], "\(ending)")
        }
        #expect(ending.status == 130)
    }

    // MARK: Shared memory

    @Test func `a receiver that leaves with an image in shared memory is not said to accept none`() async throws {
        for _ in 0..<5 {
            let receiver = try await place.receiver("--shared", "--count", "1")
            let sent = try await place.send(jpeg, "--shared").checked(0, ["1 in shared memory"])
            #expect(!sent.errors.contains("accepts no images"), "\(sent)")
            await receiver.ended(0)
        }
    }

    @Test func `a sender tells that its receiver takes nothing in shared memory, and a receiver that nothing came so`()
        async throws
    {
        let plain = try await place.receiver("--json")
        let sent = try await place.send(jpeg, "--shared", "--loop", "3").checked(0, ["none in shared memory"])
        let sentence = "\(place.socket): the receiver accepts no images in shared memory; sending JPEGs"
        #expect(sent.errors.components(separatedBy: sentence).count == 2, "\(sent)")
        await plain.ended(by: .interrupt)

        let sharing = try await place.receiver("--shared", "--count", "3")
        try await place.send(jpeg, "--loop", "3").checked(0)
        let received = await sharing.ended()
        #expect(received.errors.contains("none in shared memory"), "\(received)")
    }

    // MARK: Tokens

    /// The tokens of a receiver and of a sender, for how long the sender tries, and a part of what it says.
    static let tokens: [(receiver: String?, sender: String?, wait: String, message: String)] = [
        ("long token", "long", "0.5", "connected, but the handshake was not finished within 0.5 seconds; do both ends"),
        // Longer than a handshake may take: the receiver may be the first to end it.
        ("long token", "long", "5.5", "the same token"),
        ("long", "long token", "2", "it expects a different token or none, or is full"),
        ("one token", "two token", "2", "it expects a different token or none, or is full"),
        ("one token", nil, "2", "It expects a token; name its file with --token-file."),
        (nil, "one token", "2", "it expects a different token or none, or is full"),
    ]

    /// At a port both must have one.
    static let refusals = tokens.flatMap { example in
        (example.receiver == nil || example.sender == nil ? [false] : [true, false]).map { (example, $0) }
    }

    @Test(arguments: refusals)
    func `a sender whose token is not its receiver's is told what may be wrong, at a path and at a port`(
        example: (receiver: String?, sender: String?, wait: String, message: String),
        isPort: Bool
    ) async throws {
        var files: [[String]] = []
        for (name, token) in [("receiver", example.receiver), ("sender", example.sender)] {
            files.append(try token.map { ["--token-file", try place.secret(name, Array($0.utf8))] } ?? [])
        }
        let receiver = try place.framesocket(["receive", isPort ? "tcp:0" : place.socket, "--json"] + files[0])
        let listening = try Event(try #require(try await receiver.lines(1).first))
        let port = listening.text("path")?.split(separator: ":").last.map(String.init) ?? ""
        let target = isPort ? "tcp:\(port)" : place.socket
        let ending = try await place.framesocket(["send", target, jpeg, "--wait", example.wait] + files[1]).ended()
        #expect(ending.status == 69 && ending.errors.contains(example.message), "\(ending)")
        #expect(!ending.errors.contains("is one running"), "\(ending)")
    }
}
