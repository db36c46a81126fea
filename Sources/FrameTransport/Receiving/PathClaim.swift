/// A server's claim to the path of its socket.
///
/// A lock file beside the socket (`PATH.lock`) says that a server of this package is alive: a refused connection alone
/// does not prove a socket dead, as one that is bound and not listening yet refuses too. When the claim ends the socket's
/// file goes, if it is still the one that was made under this claim, and the lock file after it.
///
/// The claim ends before its socket is closed: while that is open its inode is not used anew, so that the number proves
/// that a file is ours.
struct PathClaim: ~Copyable {
    private static let mode: UInt32 = 0o600

    private let lock: PathLock
    private let entry: Syscalls.Entry

    /// Binds `socket` to `path`.
    ///
    /// A dead socket at the path is replaced; whatever else stands there is left alone.
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
            // Before it is bound, so that there is no moment at which others may connect, whatever the umask.
            try Syscalls.setMode(of: socket, mode)
            try Syscalls.bindSocket(socket, to: .path(path), in: directory.rawValue)
        }
        guard let entry = try directory.entry(named: path.name), isOurs(entry) else { throw replaced(path) }
        if entry.mode == mode { return entry }

        // Where the descriptor's mode does not pass to the file, and under a umask that takes from 0600.
        try? Syscalls.setMode(named: path.name, in: directory.rawValue, mode)
        guard let present = try directory.entry(named: path.name), present.isSame(as: entry) else {
            throw replaced(path)
        }
        guard present.mode == mode else {
            directory.remove(entry, named: path.name)
            throw TransportError(
                .cannotCreate,
                path: path.text,
                "others cannot be kept from a socket here, whose mode stays \(String(present.mode, radix: 8))"
            )
        }
        return present
    }

    private static func isOurs(_ entry: Syscalls.Entry) -> Bool {
        entry.kind == .socket && entry.owner == Syscalls.effectiveUserID
    }

    // MARK: What stands at the path

    private static func removeDeadSocket(in directory: borrowing SocketDirectory) throws(TransportError) {
        let path = directory.path
        // Held while it is asked whether it lives, so that its inode is not used anew meanwhile.
        let hold = Syscalls.holdEntry(named: path.name, in: directory.rawValue)
        guard let entry = try directory.entry(named: path.name) else { return }
        let held = (try? Syscalls.entry(of: hold.rawValue)) ?? entry
        guard entry.kind == .socket else {
            throw TransportError(
                .notASocket,
                path: path.text,
                "something that is not a socket stands here; remove it, or choose another path"
            )
        }
        guard isOurs(entry) else {
            throw TransportError(
                .unsafePath,
                path: path.text,
                "a socket of user \(entry.owner) stands here; choose a path in a directory of this user's alone"
            )
        }
        guard try !isAnswered(in: directory) else { throw inUse(path.text) }
        // Somebody who keeps no lock may have taken the dead one's place meanwhile.
        guard let present = try directory.entry(named: path.name) else { return }
        guard present.isSame(as: entry), present.isSame(as: held) else { throw inUse(path.text) }
        try directory.attempt { () throws(Errno) in
            try Syscalls.removeEntry(named: path.name, in: directory.rawValue)
        }
    }

    /// Whether somebody listens at the path: it answers, has more waiting than it takes, or is for messages of another kind.
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
            "something else took the socket's place, or its directory's, as it was made; it is left alone"
        )
    }

    static func failure(_ error: Errno, at path: String) -> TransportError {
        let message: String
        switch error {
        case .addressInUse: return inUse(path)
        case .noEntry: message = "the directory does not exist; make it first"
        case .notDirectory: message = "a part of the path is no directory; choose another path"
        case .accessDenied, .notPermitted: message = "this user may not make a socket here"
        default: message = "the socket cannot be made"
        }
        return TransportError(.cannotCreate, path: path, systemError: error, message)
    }
}
