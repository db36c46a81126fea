/// The directory of a server's socket, opened once and found safe.
///
/// Files are examined, created and removed by way of the directory's descriptor, so that a later replacement of the
/// directory, or a change of the process's working directory, has no effect.
struct SocketDirectory: ~Copyable {
    /// The socket's path.
    let path: SocketPath

    private let descriptor: OwnedDescriptor

    var rawValue: Int32 { descriptor.rawValue }

    /// - Throws: `unsafePath` if users other than this one and root could replace files in it.
    init(of path: SocketPath) throws(TransportError) {
        let descriptor = try Self.attempt(path) { () throws(Errno) in try Syscalls.openDirectory(path.directory) }
        let entry = try Self.attempt(path) { () throws(Errno) in try Syscalls.entry(of: descriptor.rawValue) }
        try Self.check(entry, path)
        self.path = path
        self.descriptor = descriptor
    }

    private static func check(_ entry: Syscalls.Entry, _ path: SocketPath) throws(TransportError) {
        let user = Syscalls.effectiveUserID
        guard entry.owner == user || entry.owner == 0 else {
            throw TransportError(
                .unsafePath,
                path: path.text,
                "the directory \(path.directory) belongs to user \(entry.owner), who could replace the socket; "
                    + "choose one owned by you (user \(user))"
            )
        }
        guard !entry.isOpenToOthers else {
            throw TransportError(
                .unsafePath,
                path: path.text,
                "the directory \(path.directory) of user \(entry.owner) has mode \(String(entry.mode, radix: 8)), "
                    + "which lets others replace the socket; run: chmod go-w \(path.directory)"
            )
        }
    }

    /// Returns the file at a name, without following a link; nil if there is none.
    func entry(named name: String) throws(TransportError) -> Syscalls.Entry? {
        try attempt { () throws(Errno) in
            do throws(Errno) {
                return try Syscalls.entry(named: name, in: rawValue)
            } catch .noEntry {
                return nil
            }
        }
    }

    /// Removes the file at a name if it is still the same file.
    ///
    /// The caller must keep the file's inode from being reused, with a bound socket or an open file.
    func remove(_ entry: Syscalls.Entry, named name: String) {
        guard let present = try? Syscalls.entry(named: name, in: rawValue), present.isSame(as: entry) else { return }
        try? Syscalls.removeEntry(named: name, in: rawValue)
    }

    /// Makes a system call, whose failure is reported with the socket's path.
    func attempt<Value: ~Copyable>(_ call: () throws(Errno) -> Value) throws(TransportError) -> Value {
        try Self.attempt(path, call)
    }

    private static func attempt<Value: ~Copyable>(
        _ path: SocketPath,
        _ call: () throws(Errno) -> Value
    ) throws(TransportError) -> Value {
        do {
            return try call()
        } catch {
            throw PathClaim.failure(error, at: path.text)
        }
    }
}
