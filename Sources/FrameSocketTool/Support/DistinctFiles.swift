import FrameSocket

/// The files that a command names, each of which serves one purpose.
///
/// They are compared by what they are: links and different paths are names of one file. Devices are not compared, since
/// `/dev/null` may serve any number of purposes.
struct DistinctFiles {
    /// The purposes, by the identity of the file.
    private var purposes: [String: String] = [:]

    /// Adds a file; nil and `-`, which is a standard stream, are ignored.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - purpose: The option or the operand that names it.
    /// - Throws: A usage error if the file serves another purpose already.
    mutating func add(_ path: String?, as purpose: String) throws(UsageError) {
        guard let path, path != "-", let identity = Self.identity(of: path) else { return }
        if let other = purposes[identity] {
            throw UsageError(message: "\(other) and \(purpose) name the same file; choose another for \(purpose)")
        }
        purposes[identity] = purpose
    }

    /// Adds the socket of a server and its lock.
    mutating func add(_ endpoint: SocketEndpoint) throws(UsageError) {
        guard case .path(let path) = endpoint else { return }
        try add(path, as: "PATH")
        try add(path + ".lock", as: "PATH.lock")
    }

    /// Adds the files with tokens, which may be one file.
    mutating func add(_ tokens: HandshakeTokenFiles?) throws(UsageError) {
        guard let tokens else { return }
        try add(tokens.own, as: "--token-file")
        guard Self.identity(of: tokens.peer) != Self.identity(of: tokens.own) else { return }
        try add(tokens.peer, as: "--peer-token-file")
    }

    /// Returns what a path names; nil for a device.
    ///
    /// A file is known by its device and inode, one that does not exist yet by those of its directory and its name.
    private static func identity(of path: String) -> String? {
        if let status = Files.status(of: path) {
            return status.kind == S_IFCHR ? nil : "\(status.st_dev) \(status.st_ino)"
        }
        // A link to a file that does not exist yet is followed by hand.
        let path = Files.chain(of: path).last ?? path
        let (directory, name) = Files.split(path)
        guard let status = Files.status(of: directory) else { return path }
        return "\(status.st_dev) \(status.st_ino) \(name)"
    }
}
