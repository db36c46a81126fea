import FrameTransport
import TestSupport

/// A directory with a path for a socket, and what several suites make there.
struct Place {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    var path: String { directory.path }
    var socket: String { directory.socket }

    /// A sender that does not connect again.
    var once: SocketConnection.Configuration {
        var configuration = SocketConnection.Configuration()
        configuration.reopens = false
        return configuration
    }
}
