import Foundation

/// A directory of a test's own, gone when the test lets go of it.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        // The system finds a name that is free, and lets nobody else in whatever the umask: a server refuses a directory that is
        // open to others.
        var name = Array("/tmp/fs-XXXXXX".utf8CString)
        guard let made = unsafe mkdtemp(&name) else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        path = unsafe String(cString: made)
    }

    deinit {
        // A server that is closing takes its own files away at the same time, and a removal that misses one gives up.
        for _ in 0..<100 where FileManager.default.fileExists(atPath: path) {
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    /// A path for a socket in it.
    package var socket: String { path + "/rtc_SSFD" }

    /// The names of what is in it.
    package var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
}
