internal import CFrameTransport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// File calls, always by name in an open directory, and never through a symbolic link.
extension Syscalls {
    /// A file at a name, without following a link.
    struct Entry {
        enum Kind {
            case file, directory, socket, link, device, other
        }

        let device: UInt64
        let inode: UInt64
        let kind: Kind
        /// The permission bits, including the sticky bit and similar ones.
        let mode: UInt32
        let owner: UInt32
        /// The number of names (hard links).
        let links: UInt64
        let byteCount: Int

        fileprivate init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(truncatingIfNeeded: status.st_ino)
            kind =
                switch status.st_mode & S_IFMT {
                case S_IFREG: .file
                case S_IFDIR: .directory
                case S_IFSOCK: .socket
                case S_IFLNK: .link
                case S_IFCHR, S_IFBLK: .device
                default: .other
                }
            mode = UInt32(status.st_mode & ~S_IFMT)
            owner = status.st_uid
            links = UInt64(truncatingIfNeeded: status.st_nlink)
            byteCount = Int(clamping: status.st_size)
        }

        /// Returns whether both are the same file, whatever has changed about it.
        func isSame(as other: Entry) -> Bool {
            device == other.device && inode == other.inode
        }

        /// The mode as `chmod` takes it.
        var octalMode: String { String(mode, radix: 8) }

        /// Whether users other than the owner and root may write to it, or remove files from it.
        var isOpenToOthers: Bool { mode & 0o022 != 0 && mode & UInt32(S_ISVTX) == 0 }
    }

    /// Returns the file at a name; nil if there is none.
    static func entry(named name: String, in directory: Int32) throws(Errno) -> Entry? {
        var status = stat()
        do {
            _ = try retrying { unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) }
        } catch .noEntry {
            return nil
        }
        return Entry(status)
    }

    static func entry(of descriptor: Int32) throws(Errno) -> Entry {
        var status = stat()
        _ = try retrying { unsafe fstat(descriptor, &status) }
        return Entry(status)
    }

    /// Opens a directory, to name files in it.
    static func openDirectory(_ path: String) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(try retrying { unsafe open(path, frame_directory_flags) })
    }

    /// The absolute path of the process's working directory; nil if it was removed.
    static var workingDirectory: String? {
        guard let path = unsafe getcwd(nil, 0) else { return nil }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// Keeps the inode number of the file at a name from being reused; no descriptor if the system cannot open sockets,
    /// or there is no file.
    static func holdEntry(named name: String, in directory: Int32) -> OwnedDescriptor {
        OwnedDescriptor((try? retrying { unsafe openat(directory, name, frame_hold_flags) }) ?? -1)
    }

    /// The directory in which the system shows the descriptors of this process, if it does.
    static let descriptorFolder = "/proc/self/fd"

    static var hasDescriptorFolder: Bool {
        unsafe access(descriptorFolder, X_OK) == 0
    }

    /// Sets the mode of an open file; on Linux, the mode of an unbound socket passes to the file that `bind` creates.
    static func setMode(of descriptor: Int32, _ mode: UInt32) throws(Errno) {
        _ = try retrying { fchmod(descriptor, mode_t(mode)) }
    }

    static func setMode(named name: String, in directory: Int32, _ mode: UInt32) throws(Errno) {
        _ = try retrying { unsafe fchmodat(directory, name, mode_t(mode), AT_SYMLINK_NOFOLLOW) }
    }

    static func removeEntry(named name: String, in directory: Int32) throws(Errno) {
        _ = try retrying { unsafe unlinkat(directory, name, 0) }
    }

    /// Returns whether the file at a name is mounted there.
    static func isMount(named name: String, in directory: Int32) -> Bool {
        unsafe frame_is_mount(directory, name)
    }

    /// Opens a file to lock it, or creates it with mode 0600.
    ///
    /// - Throws: `.symlinkLoop` if the file is a symbolic link.
    static func openLockFile(named name: String, in directory: Int32) throws(Errno) -> OwnedDescriptor {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        return OwnedDescriptor(try retrying { unsafe openat(directory, name, flags, 0o600) })
    }

    /// Locks an open file, or throws `.again` if another process or descriptor holds the lock.
    static func lock(_ descriptor: Int32) throws(Errno) {
        _ = try retrying { flock(descriptor, LOCK_EX | LOCK_NB) }
    }

    /// Returns whether another process holds the lock of a file, which is neither created nor changed.
    static func isLocked(named name: String, in directory: Int32) -> Bool {
        let flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        guard let raw = try? retrying({ unsafe openat(directory, name, flags, 0) }) else { return false }
        let descriptor = OwnedDescriptor(raw)
        // A shared lock, held briefly: several observers do not block each other.
        return flock(descriptor.rawValue, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
}

/// The sockets and variables that a process inherits.
extension Syscalls {
    /// The properties of an inherited socket.
    struct Listener {
        enum Address {
            case path(String)
            case loopback(port: UInt16)
            case other
        }

        let address: Address
        let isStream: Bool
        let isListening: Bool
    }

    /// The first descriptor that a service manager passes: `SD_LISTEN_FDS_START`.
    static let firstPassed: Int32 = 3

    /// The maximum number of descriptors accepted; systemd passes far fewer.
    static let maximumPassed: Int32 = 1 << 16

    static var processID: Int32 { getpid() }

    static func environment(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    static func setCloseOnExec(_ descriptor: Int32) throws(Errno) {
        _ = try retrying { fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }

    /// Prepares an inherited listening socket for the I/O thread.
    static func adoptListener(_ descriptor: Int32) throws(Errno) {
        _ = try retrying { frame_listener_adopt(descriptor) }
    }

    static func listener(_ descriptor: Int32) throws(Errno) -> Listener {
        var found = frame_listener()
        let path = try unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text throws(Errno) in
            _ = try retrying { unsafe frame_listener_inspect(descriptor, &found, text.baseAddress, text.count) }
            return unsafe text.baseAddress.map { unsafe String(cString: $0) } ?? ""
        }
        let address: Listener.Address =
            switch found.family {
            case AF_UNIX: .path(path)
            case AF_INET where found.is_loopback: .loopback(port: found.port)
            default: .other
            }
        return Listener(address: address, isStream: found.is_stream, isListening: found.is_listening)
    }
}
