/// A server's claim to the path of its socket.
///
/// A lock file beside the socket (`PATH.lock`) shows that a server of this package is alive: a refused connection alone
/// does not prove a socket dead, because one that is bound but not yet listening refuses too. When the claim ends, the
/// socket's file is removed, if it is still the one created under this claim, and then the lock file.
///
/// The claim ends before its socket is closed: while the socket is open its inode is not reused, so the inode number
/// proves that a file is ours.
struct PathClaim: ~Copyable {
    private static let mode: UInt32 = 0o600

    private let lock: PathLock
    private let entry: Syscalls.Entry

    /// Binds `socket` to `path`.
    ///
    /// A dead socket at the path is replaced; any other file is left alone.
    init(binding socket: Int32, to path: SocketPath) throws(TransportError) {
        let lock = try PathLock(in: SocketDirectory(of: path))
        try Self.removeDeadSocket(in: lock.directory)
        entry = try Self.bind(socket, in: lock.directory)
        self.lock = lock
    }

    deinit {
        lock.directory.remove(entry, named: lock.directory.path.name)
    }

    // MARK: Binding

    private static func bind(
        _ socket: Int32,
        in directory: borrowing SocketDirectory
    ) throws(TransportError) -> Syscalls.Entry {
        let path = directory.path
        try directory.attempt { () throws(Errno) in
            // Before it is bound, so that others can never connect, whatever the umask.
            try Syscalls.setMode(of: socket, mode)
            try Syscalls.bindSocket(socket, to: .path(path), in: directory.rawValue)
        }
        guard let entry = try directory.entry(named: path.name), isOurs(entry) else { throw replaced(path) }
        if entry.mode == mode { return entry }

        // For systems on which the file does not get the descriptor's mode, and for a umask that masks bits of 0600.
        try? Syscalls.setMode(named: path.name, in: directory.rawValue, mode)
        guard let present = try directory.entry(named: path.name), present.isSame(as: entry) else {
            throw replaced(path)
        }
        guard present.mode == mode else {
            directory.remove(entry, named: path.name)
            throw TransportError(
                .cannotCreate,
                path: path.text,
                "cannot keep others from a socket here: its mode stays \(String(present.mode, radix: 8))"
            )
        }
        return present
    }

    private static func isOurs(_ entry: Syscalls.Entry) -> Bool {
        entry.kind == .socket && entry.owner == Syscalls.effectiveUserID
    }

    // MARK: The file at the path

    private static func removeDeadSocket(in directory: borrowing SocketDirectory) throws(TransportError) {
        let path = directory.path
        // Held while the socket is probed, so that its inode is not reused meanwhile.
        let hold = Syscalls.holdEntry(named: path.name, in: directory.rawValue)
        guard let entry = try directory.entry(named: path.name) else { return }
        let held = (try? Syscalls.entry(of: hold.rawValue)) ?? entry
        guard entry.kind == .socket else {
            throw TransportError(
                .notASocket,
                path: path.text,
                "the file at this path is not a socket; remove it, or choose another path"
            )
        }
        guard isOurs(entry) else {
            throw TransportError(
                .unsafePath,
                path: path.text,
                "the socket at this path belongs to user \(entry.owner); choose a path in a directory that only you "
                    + "can write to"
            )
        }
        guard try !isAnswered(in: directory) else { throw inUse(path.text) }
        // A server without a lock may have replaced the dead socket meanwhile.
        guard let present = try directory.entry(named: path.name) else { return }
        guard present.isSame(as: entry), present.isSame(as: held) else { throw inUse(path.text) }
        try directory.attempt { () throws(Errno) in
            // The system refuses this too, but not for every kind of mount.
            guard !Syscalls.isMount(named: path.name, in: directory.rawValue) else { throw .busy }
            try Syscalls.removeEntry(named: path.name, in: directory.rawValue)
        }
    }

    /// Returns whether a socket is in use: it answers, its backlog is full, or it is of another type.
    private static func isAnswered(in directory: borrowing SocketDirectory) throws(TransportError) -> Bool {
        let address = SocketAddress.path(directory.path)
        return try directory.attempt { () throws(Errno) in
            let probe = try Syscalls.makeSocket(for: address)
            do throws(Errno) {
                try Syscalls.connectSocket(probe.rawValue, to: address, in: directory.rawValue)
                return true
            } catch {
                switch error {
                case .again, .wrongType: return true
                case .refused, .noEntry: return false
                default: throw error
                }
            }
        }
    }

    // MARK: Failures

    static func inUse(_ path: String) -> TransportError {
        TransportError(
            .addressInUse,
            path: path,
            "another server listens here; stop it, or choose another path"
        )
    }

    private static func replaced(_ path: SocketPath) -> TransportError {
        TransportError(
            .unsafePath,
            path: path.text,
            "the socket or its directory was replaced while it was being created; what is there now is left alone"
        )
    }

    static func failure(_ error: Errno, at path: String) -> TransportError {
        let message: String
        switch error {
        case .addressInUse: return inUse(path)
        case .noEntry: message = "the directory does not exist; create it first"
        case .notDirectory: message = "a component of the path is not a directory; choose another path"
        case .accessDenied: message = "you may not create a socket here; choose another directory"
        case .notPermitted:
            message = "you may not create a socket here, or the file system has none; choose another directory"
        default:
            let directory = (try? SocketPath(path))?.directory ?? path
            message = PathObstacle(error, in: directory)?.text ?? "cannot create the socket"
        }
        return TransportError(.cannotCreate, path: path, underlyingErrno: error.rawValue, message)
    }
}
