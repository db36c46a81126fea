import FrameSocketTesting
import FrameTransport
import FrameWire
import Locking
import TestSupport
import Testing

/// What a tap sees of a server's connections.
@Suite(.timeLimit(.minutes(5))) struct TapTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Shows P111.
    @Test func `every byte is seen once, in order, by connection, whatever happens to it`() async throws {
        let log = TapLog()
        let server = try directory.server { $0.tap = log }
        // One that is right, larger than what a first read takes; one that is not.
        let streams = [
            (0..<5).flatMap { message(body($0, count: 40_000 * $0 + 300)) },
            message(body(1, count: 300)) + Array("nonsense".utf8),
        ]
        for (index, stream) in streams.enumerated() {
            let socket = try PeerSocket.connected(to: directory.socket)
            // The server takes the frames only as they are consumed.
            async let written: Void = socket.write(stream)
            for try await connection in server.connections {
                var frames = 0
                do {
                    for try await _ in connection.frames {
                        frames += 1
                        if index == 0, frames == 5 { socket.close() }
                    }
                } catch {
                    #expect(index == 1)
                }
                #expect(frames == (index == 0 ? 5 : 1))
                break
            }
            try await written
            #expect(await becomesTrue { log.closed == index + 1 })
        }
        #expect(log.opened == [1, 2])
        #expect(log.bytes(of: 1) == streams[0])
        // What follows the first wrong byte may come in a read of its own, which is never made.
        let seen = log.bytes(of: 2)
        #expect(streams[1].starts(with: seen) && seen.count > streams[1].count - 8)
        withExtendedLifetime(server) {}
    }
}

/// Keeps what a tap is shown.
private final class TapLog: FrameServer.Tap {
    private let state = Locked((opened: [Int](), closed: 0, bytes: [Int: [UInt8]]()))

    var opened: [Int] { state.withLock { $0.opened } }
    var closed: Int { state.withLock { $0.closed } }
    func bytes(of id: Int) -> [UInt8] { state.withLock { $0.bytes[id] ?? [] } }

    func connectionDidOpen(_ id: Int) { state.withLock { $0.opened.append(id) } }

    func connection(_ id: Int, didRead bytes: Span<UInt8>) {
        let copy = bytes.indices.map { bytes[$0] }
        state.withLock { $0.bytes[id, default: []] += copy }
    }

    func connectionDidClose(_ id: Int) { state.withLock { $0.closed += 1 } }
}
