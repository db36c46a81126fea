import FrameSocketTesting
import TestSupport
import Testing

/// Senders of frames that are no images: whatever a command does with images, the eighth in a row ends the connection.
@Suite(.serialized) struct UndecodableStreamTests {
    private let place: Workplace

    init() throws {
        place = try Workplace()
    }

    /// Every command that reads images, and how much of them.
    static let commands = [
        "receive $S --json --decode", "receive $S --json --decode --output $D/o", "receive $S --raw bgra",
        "receive $S --y4m --letterbox 64x48", "receive $S --mjpeg --decode",
        "record $S $D/r.mkv --json", "record $S $D/r.mkv",
    ]

    /// No bytes, no JPEG, and as far as a JPEG's first segment.
    private func body(_ index: Int) -> [UInt8] {
        [[], TestSupport.body(index + 1, count: 300), [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0]][index % 3]
    }

    /// Shows P99.
    @Test(arguments: commands)
    func `the eighth frame in a row that is no image ends the connection, and is the last that is reported`(
        command: String
    ) async throws {
        let program = try place.framesocket(words: command)
        let sender = try await PeerSocket.connectedWhenListening(at: place.socket)
        // All of them at once, and then the sender's end: what has arrived by then changes nothing.
        let stream = (0..<40).flatMap { message(body($0), width: 64, height: 48) }
        try? await sender.write(stream)
        sender.finishWriting()
        _ = try? await sender.otherEndEnded()
        if command.contains("--json") {
            try await program.printed(#""event":"closed""#)
        } else {
            try await program.told("8 frames in a row")
        }
        program.send(.interrupt)
        let ending = await program.ended()
        #expect(ending.status == 130, "\(ending)")
        guard command.contains("--json") else {
            var told = ending.errors.split(separator: "\n").filter { $0.hasPrefix("sender 1: ") }
            // If everything was read before the eighth was looked at, the sender had ended cleanly.
            if told.last?.contains("the other side ended") == true { told.removeLast() }
            #expect(told.count == 9 && told.last?.contains("8 frames in a row") == true, "\(ending)")
            return
        }
        let codes = try ending.events("error").compactMap { $0.text("code") }
        #expect(codes.count == 9 && codes.dropLast().allSatisfy { $0.hasPrefix("jpeg.") }, "\(ending)")
        #expect(codes.last == "peer.undecodable", "\(ending)")
    }

    @Test(arguments: ["receive $S --json --decode --newest", "preview $S --http 127.0.0.1:0 --json"])
    func `so does the eighth that is looked at, if only the newest frames are`(command: String)
        async throws
    {
        let program = try place.framesocket(words: command)
        let sender = try await PeerSocket.connectedWhenListening(at: place.socket)
        try await program.printed(#""event":"connected""#)
        let before = try await program.lines(2).count
        for index in 0..<8 {
            try await sender.write(message(body(index), width: 64, height: 48))
            try await program.lines(before + index + 1)
        }
        try await program.printed(#""code":"peer.undecodable""#)
        try await program.printed(#""reason":"peer.undecodable""#)
        program.send(.interrupt)
        let codes = try await program.ended().events("error").compactMap { $0.text("code") }
        #expect(codes.count == 9 && codes.dropLast().allSatisfy { $0.hasPrefix("jpeg.") }, "\(codes)")
    }
}
