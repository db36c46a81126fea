import Foundation
package import FrameSocketTesting

extension PeerSocket {
    /// Returns a socket that is connected to a server, once one listens at the path and has room for another client.
    package static func connectedWhenListening(at path: String) async throws -> PeerSocket {
        let start = ContinuousClock.now
        while true {
            do throws(PeerError) {
                return try connected(to: path)
            } catch {
                let mayListenSoon = error.underlyingErrno.map { [ENOENT, ECONNREFUSED, EAGAIN].contains($0) } ?? false
                guard mayListenSoon, ContinuousClock.now - start < patience.get() else { throw error }
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}
