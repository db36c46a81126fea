internal import CFrameTransport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Files, always by their name in an open directory, and never through a symbolic link.
extension Syscalls {
    /// What stands at a name, itself and not what it may link to.
    struct Entry {
        enum Kind {
            case file, directory, socket, link, other
        }

        let device: UInt64
        let inode: UInt64
        let kind: Kind
        /// The permission bits, with the sticky bit and the like.
        let mode: UInt32
        let owner: UInt32
        /// How many names it has.
        let links: UInt64

        fileprivate init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(truncatingIfNeeded: status.st_ino)
            kind =
                switch status.st_mode & S_IFMT {
                case S_IFREG: .file
                case S_IFDIR: .directory
                case S_IFSOCK: .socket
                case S_IFLNK: .link
                default: .other
                }
            mode = UInt32(status.st_mode & ~S_IFMT)
            owner = status.st_uid
            links = UInt64(truncatingIfNeeded: status.st_nlink)
        }

        /// Whether both are one file, whatever may have been changed about it.
        func isSame(as other: Entry) -> Bool {
            device == other.device && inode == other.inode
        }

        /// Whether users beside the owner and root may write to it, or take things out of it.
        var isOpenToOthers: Bool { mode & 0o022 != 0 && mode & UInt32(S_ISVTX) == 0 }
    }

    /// - Throws: `.noEntry` if nothing stands there.
    static func entry(named name: String, in directory: Int32) throws(Errno) -> Entry {
        var status = stat()
        _ = try retrying { unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) }
        return Entry(status)
    }

    static func entry(of descriptor: Int32) throws(Errno) -> Entry {
        var status = stat()
        _ = try retrying { unsafe fstat(descriptor, &status) }
        return Entry(status)
    }

    /// Opens a directory, to name what is in it.
    static func openDirectory(_ path: String) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(try retrying { unsafe open(path, frame_directory_flags) })
    }

    /// Keeps what stands at a name from being taken for a later file of the same number; no descriptor if the system
    /// opens no sockets, or nothing stands there.
    static func holdEntry(named name: String, in directory: Int32) -> OwnedDescriptor {
        OwnedDescriptor((try? retrying { unsafe openat(directory, name, frame_hold_flags) }) ?? -1)
    }

    /// Where the system shows the descriptors of this process as files, it does so here.
    static let descriptorFolder = "/proc/self/fd"

    static var hasDescriptorFolder: Bool {
        unsafe access(descriptorFolder, X_OK) == 0
    }

    /// Sets the mode of an open file; that of a socket which is not bound yet Linux gives to the file that `bind` makes.
    static func setMode(of descriptor: Int32, _ mode: UInt32) throws(Errno) {
        _ = try retrying { fchmod(descriptor, mode_t(mode)) }
    }

    static func setMode(named name: String, in directory: Int32, _ mode: UInt32) throws(Errno) {
        _ = try retrying { unsafe fchmodat(directory, name, mode_t(mode), AT_SYMLINK_NOFOLLOW) }
    }

    static func removeEntry(named name: String, in directory: Int32) throws(Errno) {
        _ = try retrying { unsafe unlinkat(directory, name, 0) }
    }

    /// Opens a file to lock it, or makes it with mode 0600.
    ///
    /// - Throws: `.symlinkLoop` if a symbolic link stands there.
    static func openLockFile(named name: String, in directory: Int32) throws(Errno) -> OwnedDescriptor {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        return OwnedDescriptor(try retrying { unsafe openat(directory, name, flags, 0o600) })
    }

    /// Takes the lock of an open file, or throws `.again` if another process or descriptor has it.
    static func lock(_ descriptor: Int32) throws(Errno) {
        _ = try retrying { flock(descriptor, LOCK_EX | LOCK_NB) }
    }
}
