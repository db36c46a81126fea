/// A server's claim to the path of its socket: the socket's file, and the lock file beside it.
///
/// A dead socket at the path is replaced; any other file is left alone. When the claim ends, the socket's file is removed,
/// if it is still the one created under this claim, and then the lock file.
///
/// The claim ends before its socket is closed: while the socket is open its inode is not reused, so the inode number
/// proves that a file is ours.
struct PathClaim: ~Copyable {
    private static let mode: UInt32 = 0o600

    private let lock: PathLock
    private let entry: Syscalls.Entry

    /// Binds `socket` to `path`.
    init(binding socket: Int32, to path: SocketPath) throws(TransportError) {
        let directory = try SocketDirectory(of: path)
        if let entry = try directory.entry(named: path.name) { try Self.checkReplaceable(entry, path) }
        let lock = try PathLock(in: directory)
        try Self.removeDeadSocket(in: lock.directory)
        entry = try Self.bind(socket, in: lock.directory)
        self.lock = lock
    }

    deinit {
        lock.directory.remove(entry, named: lock.directory.path.name)
    }

    /// Whether the file at the path is another one by now, or there is none.
    var isLost: Bool {
        do throws(Errno) {
            return try !Syscalls.entry(named: lock.directory.path.name, in: lock.directory.rawValue).isSame(as: entry)
        } catch {
            // Any other failure says nothing about the file.
            return error == .noEntry
        }
    }

    private static func bind(
        _ socket: Int32,
        in directory: borrowing SocketDirectory
    ) throws(TransportError) -> Syscalls.Entry {
        let path = directory.path
        try path.attempt { () throws(Errno) in
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
            let text = "cannot keep others from a socket here: its mode stays \(String(present.mode, radix: 8))"
            throw TransportError(.cannotCreate, path: path.text, text)
        }
        return present
    }

    private static func isOurs(_ entry: Syscalls.Entry) -> Bool {
        entry.kind == .socket && entry.owner == Syscalls.effectiveUserID
    }

    private static func removeDeadSocket(in directory: borrowing SocketDirectory) throws(TransportError) {
        let path = directory.path
        // Held while the socket is probed, so that its inode is not reused meanwhile.
        let hold = Syscalls.holdEntry(named: path.name, in: directory.rawValue)
        guard let entry = try directory.entry(named: path.name) else { return }
        let held = (try? Syscalls.entry(of: hold.rawValue)) ?? entry
        try checkReplaceable(entry, path)
        guard try !isAnswered(in: directory) else { throw .inUse(path.text) }
        // A server without a lock may have replaced the dead socket meanwhile.
        guard let present = try directory.entry(named: path.name) else { return }
        guard present.isSame(as: entry), present.isSame(as: held) else { throw .inUse(path.text) }
        try path.attempt { () throws(Errno) in
            // The system refuses this too, but not for every kind of mount.
            guard !Syscalls.isMount(named: path.name, in: directory.rawValue) else { throw .busy }
            try Syscalls.removeEntry(named: path.name, in: directory.rawValue)
        }
    }

    /// Checks that a file is a socket of this user's.
    private static func checkReplaceable(_ entry: Syscalls.Entry, _ path: SocketPath) throws(TransportError) {
        guard entry.kind == .socket else {
            let text =
                switch entry.kind {
                case .directory: "this is a directory; append the socket's name"
                case .link: "this is a symbolic link, which a server does not replace; choose another path"
                default: "the file at this path is not a socket; choose another path, or move the file out of the way"
                }
            throw TransportError(.notASocket, path: path.text, text)
        }
        guard isOurs(entry) else {
            let text = "the socket at this path belongs to user \(entry.owner)"
            throw .unsafePath(path, text + "; choose a path in a directory that only you can write to")
        }
    }

    /// Returns whether a socket is in use: it answers, its backlog is full, or it is of another type.
    private static func isAnswered(in directory: borrowing SocketDirectory) throws(TransportError) -> Bool {
        let address = SocketAddress.path(directory.path)
        return try directory.path.attempt { () throws(Errno) in
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

    private static func replaced(_ path: SocketPath) -> TransportError {
        .unsafePath(
            path,
            "the socket or its directory was replaced while it was being created; what is there now is left alone"
        )
    }
}

/// The lock file beside a socket, `PATH.lock`, held while a server of this package is alive and removed with it.
///
/// A refused connection alone does not prove a socket dead, because one that is bound but not yet listening refuses too.
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
        let entry = try directory.path.attempt { () throws(Errno) in try Syscalls.entry(of: descriptor.rawValue) }
        self.directory = directory
        self.descriptor = descriptor
        self.entry = entry
    }

    deinit {
        // While it is still locked.
        directory.remove(entry, named: Self.name(for: directory.path))
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
        let path = directory.path
        let name = name(for: path)
        // The previous holder may remove the file between our opening and our locking it; we would then hold a lock on
        // a removed file, and the next server would lock another one. A few rounds are plenty.
        for _ in 0..<16 {
            // Also checked before it is opened, because opening a device or a pipe has side effects.
            if let entry = try directory.entry(named: name) { try check(entry, path) }
            guard let descriptor = try open(name, in: directory) else { continue }
            let held = try path.attempt { () throws(Errno) in try Syscalls.entry(of: descriptor.rawValue) }
            try check(held, path)
            do throws(Errno) {
                try Syscalls.lock(descriptor.rawValue)
            } catch .again {
                guard try directory.entry(named: path.name) == nil else { throw TransportError.inUse(path.text) }
                let text =
                    "a server that has just started, or whose socket's file was removed, holds \(path.text).lock; "
                    + "try again in a second"
                throw TransportError(.addressInUse, path: path.text, text)
            } catch {
                throw .cannotListen(at: path.text, error)
            }
            guard let entry = try directory.entry(named: name), entry.isSame(as: held) else { continue }
            if held.mode != 0o600 {
                try path.attempt { () throws(Errno) in try Syscalls.setMode(of: descriptor.rawValue, 0o600) }
            }
            return descriptor
        }
        throw .inUse(path.text)
    }

    /// Opens the file; nil if a symbolic link has just taken its place, which the next check reports.
    private static func open(
        _ name: String,
        in directory: borrowing SocketDirectory
    ) throws(TransportError) -> OwnedDescriptor? {
        try directory.path.attempt { () throws(Errno) in
            do throws(Errno) {
                return try Syscalls.openLockFile(named: name, in: directory.rawValue)
            } catch .symlinkLoop {
                return nil
            }
        }
    }

    private static func check(_ entry: Syscalls.Entry, _ path: SocketPath) throws(TransportError) {
        if isUsable(entry) { return }
        throw .unsafePath(
            path,
            "\(path.text).lock, which a server locks, is not an empty, singly linked file owned by you (it belongs to "
                + "user \(entry.owner)); move it out of the way, or choose another path"
        )
    }
}

// MARK: - Failures

extension TransportError {
    /// A live server listens at a path or port.
    fileprivate static func inUse(_ path: String) -> TransportError {
        TransportError(.addressInUse, path: path, "another server listens here; stop it, or choose another path")
    }

    /// Another user could take over the path, or has a file there.
    static func unsafePath(_ path: SocketPath, _ message: String) -> TransportError {
        TransportError(.unsafePath, path: path.text, message)
    }

    /// The system did not let a server listen at a path or port.
    static func cannotListen(at path: String, _ error: Errno) -> TransportError {
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

extension SocketPath {
    /// Makes a system call, whose failure is reported with the path.
    func attempt<Value: ~Copyable>(_ call: () throws(Errno) -> Value) throws(TransportError) -> Value {
        do {
            return try call()
        } catch {
            throw .cannotListen(at: text, error)
        }
    }
}

/// Why the system creates no socket at a path, or removes none: the same words from a server and from the diagnosis.
struct PathObstacle {
    let code: PathDiagnosis.Finding.Code
    let message: String
    let remedy: String

    /// Explains an error of binding a socket in a directory, or of removing a file there.
    ///
    /// nil if the error itself says all that is known.
    init?(_ error: Errno, in directory: String) {
        switch error {
        case .notSupported, .noSystemCall, .inputOutput:
            code = .directoryWithoutSockets
            message = "the file system of \(directory) creates no sockets"
            remedy =
                "choose a directory on another file system, such as /run, /tmp or a named volume; mounts of FUSE, FAT and network "
                + "shares, and of Windows and macOS folders in WSL and Docker, have none"
        case .readOnlyFileSystem:
            code = .readOnlyFileSystem
            message = "the file system of \(directory) is mounted read-only"
            remedy = "choose another directory, or mount it with write access (in Docker: without :ro)"
        case .noSpace:
            code = .fullFileSystem
            message = "the file system of \(directory) has no space or no inodes left"
            remedy = "remove files; to see which it is: df -h and df -i"
        case .overQuota:
            code = .fullFileSystem
            message = "your quota on the file system of \(directory) is used up"
            remedy = "remove files; to see it: quota -s"
        case .busy:
            code = .mountedSocket
            message = "a socket at which nobody listens is mounted here, and cannot be replaced"
            remedy = "mount the directory of the socket in its place, so that both sides see a new server's socket"
        default:
            return nil
        }
    }

    /// The message, and the remedy.
    var text: String { "\(message); \(remedy)" }
}
