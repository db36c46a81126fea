/// A server's claim to the path of its socket: the socket's file, and the lock file beside it, `PATH.lock`.
///
/// A dead socket at the path is replaced; any other file is left alone. When the claim ends, the socket's file is removed,
/// if it is still the one created under this claim, and then the lock file. The lock is held while a server of this package
/// is alive: a refused connection alone does not prove a socket dead, because one that is bound but not yet listening refuses
/// too.
///
/// The claim ends before its socket is closed: while the socket is open its inode is not reused, so the inode number
/// proves that a file is ours.
struct PathClaim: ~Copyable {
    private static let mode: UInt32 = 0o600

    /// The directory of both files.
    private let directory: SocketDirectory
    private let lock: OwnedDescriptor
    private let lockEntry: Syscalls.Entry
    /// The socket's file; nil until it is bound.
    private var entry: Syscalls.Entry?

    /// Returns the claim to `path`, to which `socket` is bound.
    ///
    /// - Throws: `addressInUse` if another server listens there or holds the lock, and `unsafePath` if the lock's place is
    ///   taken by anything other than an empty, regular, singly linked file owned by this user.
    static func binding(_ socket: Int32, to path: SocketPath) throws(TransportError) -> PathClaim {
        let directory = try SocketDirectory(of: path)
        try directory.checkReplaceable(try directory.entry(named: path.name))
        let lock = try lock(in: directory)
        let entry = try directory.attempt { () throws(Errno) in try Syscalls.entry(of: lock.rawValue) }
        // From here on, a failure ends the claim.
        var claim = PathClaim(directory: directory, lock: lock, lockEntry: entry)
        try claim.removeDeadSocket()
        claim.entry = try claim.bind(socket)
        return claim
    }

    private init(directory: consuming SocketDirectory, lock: consuming OwnedDescriptor, lockEntry: Syscalls.Entry) {
        self.directory = directory
        self.lock = lock
        self.lockEntry = lockEntry
        entry = nil
    }

    deinit {
        if let entry { directory.remove(entry, named: directory.path.name) }
        // While it is still locked.
        directory.remove(lockEntry, named: Self.lockName(for: directory.path))
    }

    /// Whether the file at the path is another one by now, or there is none; false if the system does not tell.
    var isLost: Bool {
        do throws(Errno) {
            let present = try Syscalls.entry(named: directory.path.name, in: directory.rawValue)
            return entry.map { present?.isSame(as: $0) != true } ?? false
        } catch {
            return false
        }
    }

    private func bind(_ socket: Int32) throws(TransportError) -> Syscalls.Entry {
        let path = directory.path
        // Before it is bound, so that others can never connect, whatever the umask. On Apple systems a socket has no mode.
        try? Syscalls.setMode(of: socket, Self.mode)
        try directory.attempt { () throws(Errno) in
            try Syscalls.bindSocket(socket, to: .path(path), in: directory.rawValue)
        }
        guard let entry = try directory.entry(named: path.name), entry.isOwnSocket else { throw replaced }
        if entry.mode == Self.mode { return entry }

        // For systems on which the file does not get the descriptor's mode, and for a umask that masks bits of 0600.
        try? Syscalls.setMode(named: path.name, in: directory.rawValue, Self.mode)
        guard let present = try directory.entry(named: path.name), present.isSame(as: entry) else {
            throw replaced
        }
        guard present.mode == Self.mode else {
            directory.remove(entry, named: path.name)
            let problem = "cannot keep others from a socket here: its mode stays \(present.octalMode)"
            throw TransportError(.cannotCreate, path: path.text, problem, remedy: "choose another directory")
        }
        return present
    }

    private func removeDeadSocket() throws(TransportError) {
        let path = directory.path
        // Held while the socket is probed, so that its inode is not reused meanwhile.
        let hold = Syscalls.holdEntry(named: path.name, in: directory.rawValue)
        guard let entry = try directory.entry(named: path.name) else { return }
        let held = (try? Syscalls.entry(of: hold.rawValue)) ?? entry
        try directory.checkReplaceable(entry)
        guard try !isAnswered() else { throw .inUse(path) }
        // A server without a lock may have replaced the dead socket meanwhile.
        guard let present = try directory.entry(named: path.name) else { return }
        guard present.isSame(as: entry), present.isSame(as: held) else { throw .inUse(path) }
        // The system refuses this too, but not for every kind of mount.
        try directory.checkNotMounted()
        try directory.attempt { () throws(Errno) in
            try Syscalls.removeEntry(named: path.name, in: directory.rawValue)
        }
    }

    /// Returns whether a socket is in use: it answers, its backlog is full, or it is of another type.
    private func isAnswered() throws(TransportError) -> Bool {
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

    private var replaced: TransportError {
        let problem = "the socket or its directory was replaced while it was being created"
        return .unsafePath(directory.path, problem + ", and what is there now is left alone", remedy: "try again")
    }

    // MARK: The lock

    /// Checks that no server holds the lock of the directory's socket, and that one could take it.
    static func checkLockFree(in directory: borrowing SocketDirectory) throws(TransportError) {
        let name = lockName(for: directory.path)
        guard let entry = try directory.entry(named: name) else { return }
        try check(entry, directory.path)
        if Syscalls.isLocked(named: name, in: directory.rawValue) { throw .held(directory.path) }
    }

    /// The name of the lock file, beside the socket.
    private static func lockName(for path: SocketPath) -> String { path.name + ".lock" }

    private static func lock(in directory: borrowing SocketDirectory) throws(TransportError) -> OwnedDescriptor {
        let path = directory.path
        let name = lockName(for: path)
        // The previous holder may remove the file between our opening and our locking it; we would then hold a lock on
        // a removed file, and the next server would lock another one. A few rounds are plenty.
        for _ in 0..<16 {
            // Also checked before it is opened, because opening a device or a pipe has side effects.
            if let entry = try directory.entry(named: name) { try check(entry, path) }
            let opened = try directory.attempt { () throws(Errno) -> OwnedDescriptor? in
                do throws(Errno) {
                    return try Syscalls.openLockFile(named: name, in: directory.rawValue)
                } catch .symlinkLoop {
                    // It has just taken the file's place, which the next check reports.
                    return nil
                }
            }
            guard let descriptor = opened else { continue }
            let held = try directory.attempt { () throws(Errno) in try Syscalls.entry(of: descriptor.rawValue) }
            try check(held, path)
            do throws(Errno) {
                try Syscalls.lock(descriptor.rawValue)
            } catch .again {
                throw try directory.entry(named: path.name) == nil ? .held(path) : .inUse(path)
            } catch {
                throw directory.failure(error)
            }
            guard let entry = try directory.entry(named: name), entry.isSame(as: held) else { continue }
            if held.mode != 0o600 {
                try directory.attempt { () throws(Errno) in try Syscalls.setMode(of: descriptor.rawValue, 0o600) }
            }
            return descriptor
        }
        throw .inUse(path)
    }

    /// Checks that a file is an empty, regular file owned by this user, with one name.
    ///
    /// A file with a second name is one of this user's files that somebody has linked here, and one with bytes is no lock
    /// of a server: it would be lost when this server ends.
    private static func check(_ entry: Syscalls.Entry, _ path: SocketPath) throws(TransportError) {
        let isOwn = entry.owner == Syscalls.effectiveUserID
        if entry.kind == .file, entry.byteCount == 0, isOwn, entry.links <= 1 { return }
        let lock = path.text + ".lock"
        throw .unsafePath(
            path,
            "\(lock), which a server locks, is not an empty, singly linked file owned by you (it belongs to "
                + "user \(entry.owner))",
            remedy: .aside(lock)
        )
    }
}

/// The directory of a server's socket, opened once and found safe.
///
/// Files are examined, created and removed by way of the directory's descriptor, so that a later replacement of the
/// directory, or a change of the process's working directory, has no effect.
struct SocketDirectory: ~Copyable {
    /// The socket's path.
    let path: SocketPath

    private let descriptor: OwnedDescriptor
    private let facts: Syscalls.Entry

    var rawValue: Int32 { descriptor.rawValue }

    /// - Throws: `unsafePath` if users other than this one and root could replace files in it.
    init(of path: SocketPath) throws(TransportError) {
        let descriptor = try path.attempt { () throws(Errno) in try Syscalls.openDirectory(path.directory) }
        let facts = try path.attempt { () throws(Errno) in try Syscalls.entry(of: descriptor.rawValue) }
        // Who may not reach the files at all has to know that first.
        _ = try path.attempt(in: facts) { () throws(Errno) in
            try Syscalls.entry(named: path.name, in: descriptor.rawValue)
        }
        let (name, user) = (path.directory, Syscalls.effectiveUserID)
        guard facts.owner == user || facts.owner == 0 else {
            throw .unsafePath(
                path,
                "the directory \(name) belongs to user \(facts.owner), who could replace the socket",
                remedy: "choose one owned by you (user \(user)) or by root"
            )
        }
        guard !facts.isOpenToOthers else {
            throw .unsafePath(
                path,
                "the directory \(name) of user \(facts.owner) has mode \(facts.octalMode), which lets others replace the "
                    + "socket",
                remedy: "run: chmod go-w -- \(name.shellWord)"
            )
        }
        (self.path, self.facts) = (path, facts)
        self.descriptor = descriptor
    }

    /// Makes a system call, whose failure is explained.
    func attempt<Value: ~Copyable>(_ call: () throws(Errno) -> Value) throws(TransportError) -> Value {
        try path.attempt(in: facts, call)
    }

    func failure(_ error: Errno) -> TransportError { .cannotListen(at: path, error, in: facts) }

    /// Returns the file at a name, without following a link; nil if there is none.
    func entry(named name: String) throws(TransportError) -> Syscalls.Entry? {
        try attempt { () throws(Errno) in try Syscalls.entry(named: name, in: rawValue) }
    }

    /// Removes the file at a name if it is still the same file.
    ///
    /// The caller must keep the file's inode from being reused, with a bound socket or an open file.
    func remove(_ entry: Syscalls.Entry, named name: String) {
        guard (try? Syscalls.entry(named: name, in: rawValue))?.isSame(as: entry) == true else { return }
        try? Syscalls.removeEntry(named: name, in: rawValue)
    }

    // MARK: What may be at the path

    /// Checks that the file at the path, if there is one, is a socket of this user's.
    func checkReplaceable(_ entry: Syscalls.Entry?) throws(TransportError) {
        guard let entry else { return }
        try checkIsSocket(entry)
        guard !entry.isOwnSocket else { return }
        let problem = "the socket at this path belongs to user \(entry.owner), and a server does not replace it"
        throw .unsafePath(path, problem, remedy: "choose a path in a directory that only you can write to")
    }

    /// Checks that the file at the path, if there is one, is a socket.
    func checkIsSocket(_ entry: Syscalls.Entry?) throws(TransportError) {
        guard let entry, entry.kind != .socket else { return }
        let text = path.text
        let aside = String.aside(text)
        let (problem, remedy) =
            switch entry.kind {
            case .directory: ("this is a directory", "append the socket's name: \((text + "/rtc_SSFD").shellWord)")
            case .link: ("this is a symbolic link, which a server does not replace", aside)
            // Other programs need it where it is.
            case .device: ("the file at this path is not a socket, but a device", "choose another path")
            case .file, .other, .socket: ("the file at this path is not a socket", aside)
            }
        throw TransportError(.notASocket, path: text, problem, remedy: remedy)
    }

    /// Checks that the file at the path is not mounted there.
    func checkNotMounted() throws(TransportError) {
        if Syscalls.isMount(named: path.name, in: rawValue) { throw failure(.busy) }
    }
}

extension SocketPath {
    /// Makes a system call, whose failure is explained by what is known of the directory once it is open.
    fileprivate func attempt<Value: ~Copyable>(
        in directory: Syscalls.Entry? = nil,
        _ call: () throws(Errno) -> Value
    ) throws(TransportError) -> Value {
        do {
            return try call()
        } catch {
            throw .cannotListen(at: self, error, in: directory)
        }
    }
}

extension String {
    /// The remedy for a file that is in the way.
    fileprivate static func aside(_ path: String) -> String {
        "choose another path, or move it out of the way: mv -- \(path.shellWord) \((path + ".old").shellWord)"
    }
}

extension Syscalls.Entry {
    /// Whether it is a socket of this user's.
    fileprivate var isOwnSocket: Bool { kind == .socket && owner == Syscalls.effectiveUserID }
}

// MARK: - Trying

extension FrameServer {
    /// Checks what a server checks before it looks whether another one listens: the path, its directory, and what kind of
    /// file is there.
    package static func checkPlace(at path: String) throws(TransportError) {
        let directory = try SocketDirectory(of: try SocketPath(path))
        try directory.checkIsSocket(try directory.entry(named: directory.path.name))
    }

    /// Checks that a server could listen at a path at which nobody does.
    ///
    /// What is at the path and beside it stays as it is, even a dead socket that the server would replace: another name in
    /// the directory is claimed, and given back at once.
    package static func tryClaim(at path: String) throws(TransportError) {
        let directory = try SocketDirectory(of: try SocketPath(path))
        try directory.checkReplaceable(try directory.entry(named: directory.path.name))
        try PathClaim.checkLockFree(in: directory)
        try directory.checkNotMounted()
        let trial = "\(directory.path.directory)/.framesocket-doctor-\(Syscalls.processID)"
        // On Apple systems there may be no room for the name.
        guard (try? SocketPath(trial)) != nil else { return }
        _ = try ListeningSocket(at: .path(trial), backlog: 1)
    }
}
