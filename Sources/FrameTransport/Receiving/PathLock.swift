/// The lock file beside a socket, `PATH.lock`, held while a server of this package lives and gone with it.
struct PathLock: ~Copyable {
    /// Where both files are.
    let directory: SocketDirectory

    private let descriptor: OwnedDescriptor
    private let entry: Syscalls.Entry

    /// Takes the lock of the directory's socket.
    ///
    /// - Throws: `addressInUse` if another server has it, and `unsafePath` if something else than a plain file of this
    ///   user's stands in its place.
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

    /// Whether it is a plain file of this user's.
    ///
    /// One with a second name is a file of this user's that somebody has linked here.
    static func isUsable(_ entry: Syscalls.Entry) -> Bool {
        entry.kind == .file && entry.owner == Syscalls.effectiveUserID && entry.links <= 1
    }

    private static func lock(in directory: borrowing SocketDirectory) throws(TransportError) -> OwnedDescriptor {
        let name = name(in: directory)
        // Whoever held the lock may remove its file between our opening and our locking it; what we have locked then is
        // nobody's, and the next one to come would lock another file. A few rounds are plenty.
        for _ in 0..<16 {
            // Before it is opened too, which alone does something to a device or a pipe.
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

    /// Opens the file; nil if a symbolic link has just taken its place, which the next look at it reports.
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
                "what stands at \(directory.path.text).lock is no lock file of this user's, but of user \(entry.owner), "
                    + "or no plain file; remove it, or choose another path"
            )
        }
    }
}
