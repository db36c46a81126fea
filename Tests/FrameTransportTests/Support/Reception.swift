import FrameSocketTesting
import FrameTransport
import TestSupport
import Testing

extension TemporaryDirectory {
    /// A server, a peer that has connected to it, and the connection to that.
    func openReception(
        _ change: (inout FrameServer.Configuration) -> Void = { _ in }
    ) async throws -> (server: FrameServer, peer: PeerSocket, connection: FrameConnection) {
        let server = try server(change)
        let peer = try PeerSocket.connected(to: socket)
        return (server, peer, try #require(try await firstConnection(of: server)))
    }
}

extension FrameConnection {
    /// Takes the next frame, and returns its bytes; nil at the end.
    func nextBytes() async throws(TransportError) -> [UInt8]? {
        var frames = frames.makeAsyncIterator()
        return try await frames.next()?.bytes
    }
}

/// The error with which a server at a path fails to start, which names the path; nil if it starts.
func failure(at path: String) -> TransportError? {
    do throws(TransportError) {
        _ = try FrameServer(at: path)
        return nil
    } catch {
        #expect(error.path == path && error.description.hasPrefix(path))
        return error
    }
}
