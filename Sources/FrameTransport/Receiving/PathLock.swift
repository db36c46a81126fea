/// The lock file beside a socket, `PATH.lock`, held while a server of this package lives and gone with it.
struct PathLock: ~Copyable {
    private let path: String
    private let descriptor: OwnedDescriptor

    /// Takes the lock of `path`; nil where another server has it.
    init?(beside path: String) throws(Errno) {
        let path = path + ".lock"
        guard let descriptor = try Self.lockedDescriptor(path) else { return nil }
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        // Removed while it is still locked, and only where it is still the file at the path.
        guard let held = try? Syscalls.entry(of: descriptor.rawValue), held == (try? Syscalls.entry(at: path)) else {
            return
        }
        try? Syscalls.removeEntry(path)
    }

    private static func lockedDescriptor(_ path: String) throws(Errno) -> OwnedDescriptor? {
        // Whoever held the lock may remove its file between our opening and our locking it; what we have locked then is
        // nobody's, and the next one to come would lock another file. A few rounds are plenty.
        for _ in 0..<16 {
            let descriptor = try Syscalls.openLockFile(path)
            do {
                try Syscalls.lock(descriptor.rawValue)
                if try Syscalls.entry(of: descriptor.rawValue) == Syscalls.entry(at: path) { return descriptor }
            } catch .again {
                return nil
            } catch .noEntry {
                continue
            }
        }
        return nil
    }
}
