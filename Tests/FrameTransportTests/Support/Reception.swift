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
        let (peer, connection) = try await server.connectedPeer()
        return (server, peer, connection)
    }
}

extension FrameServer {
    /// A peer that has connected, and the connection to it, if nobody else connects.
    func connectedPeer() async throws -> (peer: PeerSocket, connection: FrameConnection) {
        let peer = try PeerSocket.connected(to: path)
        return (peer, try #require(try await firstConnection(of: self)))
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
