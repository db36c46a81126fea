/// A socket that listens at a path, and the claim to that path.
///
/// A lock file beside the socket (`PATH.lock`) says that a server of this package is alive: a refused connection alone
/// does not prove a socket dead, as one that is bound and not listening yet refuses too. When the claim ends the socket's
/// file goes, if it is still the one that was made here, and the lock file after it.
struct ListeningSocket: ~Copyable {
    private let address: SocketAddress
    private let socket: OwnedDescriptor
    private let lock: PathLock
    private let entry: Syscalls.Entry

    var rawValue: Int32 { socket.rawValue }

    /// Binds and listens.
    ///
    /// A dead socket at the path is replaced; whatever else stands there is left alone.
    init(claiming address: SocketAddress, backlog: Int) throws(TransportError) {
        let lock = try Self.takeLock(of: address)
        try Self.removeDeadSocket(at: address)
        let socket = try Self.makeSocket(at: address)
        let entry = try Self.listen(on: socket.rawValue, at: address, backlog: backlog)
        self.address = address
        self.socket = socket
        self.lock = lock
        self.entry = entry
    }

    deinit {
        if (try? Syscalls.entry(at: address.path)) == entry {
            try? Syscalls.removeEntry(address.path)
        }
    }

    private static func takeLock(of address: SocketAddress) throws(TransportError) -> PathLock {
        do {
            if let lock = try PathLock(beside: address.path) { return lock }
        } catch {
            throw failure(error, at: address)
        }
        throw inUse(address)
    }

    private static func makeSocket(at address: SocketAddress) throws(TransportError) -> OwnedDescriptor {
        do {
            return try Syscalls.makeSocket()
        } catch {
            throw failure(error, at: address)
        }
    }

    private static func listen(
        on socket: Int32,
        at address: SocketAddress,
        backlog: Int
    ) throws(TransportError) -> Syscalls.Entry {
        do {
            // Before it is bound, so that there is no moment at which others may connect, whatever the umask.
            try Syscalls.setMode(of: socket, 0o600)
            try Syscalls.bindSocket(socket, to: address)
            let entry = try Syscalls.entry(at: address.path)
            // Where the descriptor's mode does not pass to the file, and under a umask that takes from 0600.
            try Syscalls.setMode(at: address.path, 0o600)
            try Syscalls.startListening(on: socket, backlog: Int32(clamping: backlog))
            return entry
        } catch {
            throw failure(error, at: address)
        }
    }

    // MARK: What stands at the path

    private static func removeDeadSocket(at address: SocketAddress) throws(TransportError) {
        do {
            guard try Syscalls.entry(at: address.path).isSocket else {
                throw TransportError(
                    .notASocket,
                    path: address.path,
                    "something that is not a socket stands here; remove it, or choose another path"
                )
            }
            if try isAnswered(address) { throw inUse(address) }
            try Syscalls.removeEntry(address.path)
        } catch let error as TransportError {
            throw error
        } catch let error as Errno where error == .noEntry {
            return
        } catch let error as Errno {
            throw failure(error, at: address)
        } catch {
            throw TransportError(.system, path: address.path, "\(error)")
        }
    }

    /// Whether somebody listens at the path: it answers, or has more waiting than it takes.
    private static func isAnswered(_ address: SocketAddress) throws(Errno) -> Bool {
        let probe = try Syscalls.makeSocket()
        do {
            try Syscalls.connectSocket(probe.rawValue, to: address)
            return true
        } catch .again {
            return true
        } catch .refused {
            return false
        }
    }

    private static func inUse(_ address: SocketAddress) -> TransportError {
        TransportError(
            .addressInUse,
            path: address.path,
            "another server listens here; stop it, or choose another path"
        )
    }

    private static func failure(_ error: Errno, at address: SocketAddress) -> TransportError {
        switch error {
        case .addressInUse: inUse(address)
        case .noEntry:
            TransportError(
                .cannotCreate,
                path: address.path,
                systemError: error,
                "the directory does not exist; make it first"
            )
        case .accessDenied, .notPermitted:
            TransportError(
                .cannotCreate,
                path: address.path,
                systemError: error,
                "this user may not make a socket here"
            )
        case .symlinkLoop:
            TransportError(
                .cannotCreate,
                path: address.path,
                systemError: error,
                "the lock file beside the socket is a symbolic link; remove it"
            )
        default:
            TransportError(.cannotCreate, path: address.path, systemError: error, "the socket cannot be made")
        }
    }
}
