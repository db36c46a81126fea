import Foundation
import FrameSocketTesting
import TestSupport
import Testing

/// The bytes of a connection (`receive --wire-log`), which socat sends again.
@Suite(.serialized) struct WireLogTests {
    private let place = Workplace.new
    private let jpeg = Places.fixture("jpeg/chelsea-420.jpg")

    private func logged() throws -> [UInt8] { try Data.bytes(at: place.path("log")) }

    /// Shows P111.
    @Test(.needs("socat"), arguments: RecordedStream.all)
    func `the bytes that arrived give the same frames and errors if socat sends them again`(
        stream: RecordedStream
    ) async throws {
        let arguments = ["receive", place.socket, "--json"]
        let (taken, _) = try await place.take(arguments + ["--wire-log", place.path("log")]) {
            try await place.peer("send_stream", stream.path).ended()
        }
        let bytes = try logged()
        if stream.cut == nil {
            #expect(bytes == stream.bytes)
        } else {
            // What follows the fault need not be read.
            #expect(stream.bytes.starts(with: bytes) && bytes.count >= min(stream.bytes.count, stream.cut?.count ?? 0))
        }
        let (again, _) = try await place.take(arguments) {
            try await place.shell("socat -u OPEN:$D/log UNIX-CONNECT:$S").ended()
        }
        let kinds: Set = ["frame", "error"]
        #expect(
            try again.events.filter { kinds.contains($0.name ?? "") }
                == taken.events.filter { kinds.contains($0.name ?? "") }
        )
    }

    @Test func `of several connections, the first that sends anything is logged`() async throws {
        let receiver = try await place.receiver("--json", "--count", "3", "--wire-log", place.path("log"))
        let silent = try PeerSocket.connected(to: place.socket)
        let first = try PeerSocket.connected(to: place.socket)
        let second = try PeerSocket.connected(to: place.socket)
        let frames = (0..<3).map { message(body($0, count: 300)) }
        try await first.write(frames[0])
        try await receiver.printed(#""event":"frame""#)
        try await second.write(frames[1])
        try await first.write(frames[2])
        await receiver.ended(0)
        #expect(try logged() == frames[0] + frames[2])
        for peer in [silent, first, second] { peer.close() }
    }

    @Test func `tokens are not logged`() async throws {
        let token = try place.secret("token", Array("a secret of sixteen bytes or more".utf8))
        let arguments = [
            "receive", place.socket, "--json", "--wire-log", place.path("log"), "--token-file", token,
        ]
        _ = try await place.take(arguments) {
            try await place.send(jpeg, "--token-file", token, "--passthrough", "--quiet")
        }
        #expect(try logged().starts(with: Array("HTTP/1.1 200".utf8)))
    }
}
