import FrameSocketTesting
import TestSupport
import Testing

/// Senders of frames that are no images: whatever a command does with images, the eighth in a row ends the connection.
@Suite(.serialized) struct UndecodableStreamTests {
    private let place = Workplace.new

    /// No bytes, no JPEG, and as far as a JPEG's first segment.
    private func body(_ index: Int) -> [UInt8] {
        [[], TestSupport.body(index + 1, count: 300), [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0]][index % 3]
    }

    /// Shows P99.
    @Test(arguments: [
        "receive $S --json --decode", "receive $S --json --decode --newest", "record $S $D/r.mkv --json",
        "preview $S --http 127.0.0.1:0 --json",
    ])
    func `the eighth frame in a row that is no image ends the connection, and is the last that is reported`(
        command: String
    ) async throws {
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
        let codes = try await program.ended(by: .interrupt).events("error").compactMap { $0.text("code") }
        #expect(codes.count == 9 && codes.dropLast().allSatisfy { $0.hasPrefix("jpeg.") }, "\(codes)")
    }
}
