/// The lock file beside a socket, `PATH.lock`, held while a server of this package is alive and removed with it.
struct PathLock: ~Copyable {
    /// The directory of both files.
    let directory: SocketDirectory

    private let descriptor: OwnedDescriptor
    private let entry: Syscalls.Entry

    /// Takes the lock of the directory's socket.
    ///
    /// - Throws: `addressInUse` if another server holds it, and `unsafePath` if its place is taken by anything other
    ///   than an empty, regular, singly linked file owned by this user.
    init(in directory: consuming SocketDirectory) throws(TransportError) {
        let descriptor = try Self.lock(in: directory)
        let entry = try directory.attempt { () throws(Errno) in try Syscalls.entry(of: descriptor.rawValue) }
        self.directory = directory
        self.descriptor = descriptor
        self.entry = entry
    }

    deinit {
        // While it is still locked.
        directory.remove(entry, named: Self.name(in: directory))
    }

    private static func name(in directory: borrowing SocketDirectory) -> String {
        name(for: directory.path)
    }

    /// The name of the file, beside the socket.
    static func name(for path: SocketPath) -> String { path.name + ".lock" }

    /// Returns whether it is an empty, regular file owned by this user, with one name.
    ///
    /// A file with a second name is one of this user's files that somebody has linked here, and one with bytes is no lock
    /// of a server: it would be lost when this server ends.
    static func isUsable(_ entry: Syscalls.Entry) -> Bool {
        entry.kind == .file && entry.byteCount == 0 && entry.owner == Syscalls.effectiveUserID && entry.links <= 1
    }

    private static func lock(in directory: borrowing SocketDirectory) throws(TransportError) -> OwnedDescriptor {
        let name = name(in: directory)
        // The previous holder may remove the file between our opening and our locking it; we would then hold a lock on
        // a removed file, and the next server would lock another one. A few rounds are plenty.
        for _ in 0..<16 {
            // Also checked before it is opened, because opening a device or a pipe has side effects.
            if let entry = try directory.entry(named: name) { try check(entry, in: directory) }
            guard let descriptor = try open(name, in: directory) else { continue }
            let held = try directory.attempt { () throws(Errno) in try Syscalls.entry(of: descriptor.rawValue) }
            try check(held, in: directory)
            guard try isLocked(descriptor.rawValue, in: directory) else { break }
            guard let entry = try directory.entry(named: name), entry.isSame(as: held) else { continue }
            if held.mode != 0o600 {
                try directory.attempt { () throws(Errno) in try Syscalls.setMode(of: descriptor.rawValue, 0o600) }
            }
            return descriptor
        }
        throw PathClaim.inUse(directory.path.text)
    }

    /// Opens the file; nil if a symbolic link has just taken its place, which the next check reports.
    private static func open(
        _ name: String,
        in directory: borrowing SocketDirectory
    ) throws(TransportError) -> OwnedDescriptor? {
        try directory.attempt { () throws(Errno) in
            do throws(Errno) {
                return try Syscalls.openLockFile(named: name, in: directory.rawValue)
            } catch .symlinkLoop {
                return nil
            }
        }
    }

    private static func isLocked(
        _ descriptor: Int32,
        in directory: borrowing SocketDirectory
    ) throws(TransportError) -> Bool {
        try directory.attempt { () throws(Errno) in
            do throws(Errno) {
                try Syscalls.lock(descriptor)
                return true
            } catch .again {
                return false
            }
        }
    }

    private static func check(_ entry: Syscalls.Entry, in directory: borrowing SocketDirectory) throws(TransportError) {
        guard isUsable(entry) else {
            throw TransportError(
                .unsafePath,
                path: directory.path.text,
                "\(directory.path.text).lock, which a server locks, is not an empty, singly linked file owned by you (it belongs "
                    + "to user \(entry.owner)); move it out of the way, or choose another path"
            )
        }
    }
}
