/// A server's claim to the path of its socket.
///
/// A lock file beside the socket (`PATH.lock`) says that a server of this package is alive: a refused connection alone
/// does not prove a socket dead, as one that is bound and not listening yet refuses too. When the claim ends the socket's
/// file goes, if it is still the one that was made under this claim, and the lock file after it.
struct PathClaim: ~Copyable {
    private let path: String
    private let lock: PathLock
    private let entry: Syscalls.Entry

    /// Binds `socket` to `address`, whose path is `path`.
    ///
    /// A dead socket at the path is replaced; whatever else stands there is left alone.
    init(binding socket: Int32, to address: SocketAddress, path: String) throws(TransportError) {
        let lock = try Self.takeLock(of: path)
        try Self.removeDeadSocket(at: address, path: path)
        entry = try Self.bind(socket, to: address, path: path)
        self.path = path
        self.lock = lock
    }

    deinit {
        if (try? Syscalls.entry(at: path)) == entry {
            try? Syscalls.removeEntry(path)
        }
    }

    private static func takeLock(of path: String) throws(TransportError) -> PathLock {
        do {
            if let lock = try PathLock(beside: path) { return lock }
        } catch {
            throw failure(error, at: path)
        }
        throw inUse(path)
    }

    private static func bind(
        _ socket: Int32,
        to address: SocketAddress,
        path: String
    ) throws(TransportError) -> Syscalls.Entry {
        do {
            // Before it is bound, so that there is no moment at which others may connect, whatever the umask.
            try Syscalls.setMode(of: socket, 0o600)
            try Syscalls.bindSocket(socket, to: address)
            let entry = try Syscalls.entry(at: path)
            // Where the descriptor's mode does not pass to the file, and under a umask that takes from 0600.
            try Syscalls.setMode(at: path, 0o600)
            return entry
        } catch {
            throw failure(error, at: path)
        }
    }

    // MARK: What stands at the path

    private static func removeDeadSocket(at address: SocketAddress, path: String) throws(TransportError) {
        do {
            guard try Syscalls.entry(at: path).isSocket else {
                throw TransportError(
                    .notASocket,
                    path: path,
                    "something that is not a socket stands here; remove it, or choose another path"
                )
            }
            if try isAnswered(address) { throw inUse(path) }
            try Syscalls.removeEntry(path)
        } catch let error as TransportError {
            throw error
        } catch let error as Errno where error == .noEntry {
            return
        } catch let error as Errno {
            throw failure(error, at: path)
        } catch {
            throw TransportError(.system, path: path, "\(error)")
        }
    }

    /// Whether somebody listens at the path: it answers, or has more waiting than it takes.
    private static func isAnswered(_ address: SocketAddress) throws(Errno) -> Bool {
        let probe = try Syscalls.makeSocket(for: address)
        do {
            try Syscalls.connectSocket(probe.rawValue, to: address)
            return true
        } catch .again {
            return true
        } catch .refused {
            return false
        }
    }

    private static func inUse(_ path: String) -> TransportError {
        TransportError(
            .addressInUse,
            path: path,
            "another server listens here; stop it, or choose another path"
        )
    }

    static func failure(_ error: Errno, at path: String) -> TransportError {
        switch error {
        case .addressInUse: inUse(path)
        case .noEntry:
            TransportError(
                .cannotCreate,
                path: path,
                systemError: error,
                "the directory does not exist; make it first"
            )
        case .accessDenied, .notPermitted:
            TransportError(
                .cannotCreate,
                path: path,
                systemError: error,
                "this user may not make a socket here"
            )
        case .symlinkLoop:
            TransportError(
                .cannotCreate,
                path: path,
                systemError: error,
                "the lock file beside the socket is a symbolic link; remove it"
            )
        default:
            TransportError(.cannotCreate, path: path, systemError: error, "the socket cannot be made")
        }
    }
}
