import FrameSocket
import Locking

/// Files and streams, by direct system calls: Foundation would cost a sending process more memory than its image.
enum Files {
    /// The maximum size of a file that is read into memory.
    static let maximumByteCount = 1 << 30

    static func write(_ bytes: [UInt8], to descriptor: Int32, name: String) throws(CommandFailure) {
        let bytes = bytes[...]
        try write(bytes.span, to: descriptor, name: name)
    }

    static func write(_ bytes: Span<UInt8>, to descriptor: Int32, name: String) throws(CommandFailure) {
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes.extracting(offset...).withUnsafeBytes { rest in
                blocking(on: name, isOpening: false) { unsafe systemWrite(descriptor, rest) }
            }
            guard count >= 0 else { throw CommandFailure(on: name) }
            offset += count
        }
    }

    /// A call that lasts for as long as another program likes: writing to a pipe whose reader does not read, opening a named pipe
    /// that nobody opens.
    struct Blockage {
        let id: Int
        /// Of the file.
        let name: String
        let isOpening: Bool
    }

    private static let calls = Locked((last: 0, blockages: [Int: Blockage]()))

    /// What a thread has been waiting for longest; nil if none waits.
    static var blockage: Blockage? { calls.withLock { $0.blockages.min { $0.key < $1.key }?.value } }

    static func blocking<Result>(on name: String, isOpening: Bool = true, _ call: () -> Result) -> Result {
        let id = calls.withLock { calls in
            calls.last += 1
            calls.blockages[calls.last] = Blockage(id: calls.last, name: name, isOpening: isOpening)
            return calls.last
        }
        let result = call()
        // Taking the lock may change it.
        let error = errno
        calls.withLock { $0.blockages[id] = nil }
        errno = error
        return result
    }

    /// Whether a descriptor takes bytes without waiting, within so many milliseconds.
    static func takes(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&state, 1, milliseconds) != 0
    }

    /// Reads a whole file, or the beginning of a longer one.
    static func contents(of file: InputFile, atMost limit: Int = maximumByteCount) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit, try file.read(into: &bytes) {}
        return bytes
    }

    /// Reads a file that nobody else may read, as ssh reads a key.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - limit: The maximum number of bytes to read.
    /// - Returns: Its first bytes.
    /// - Throws: The system's error, or a failure if others can read the file.
    static func secret(in path: String, limit: Int) throws(CommandFailure) -> [UInt8] {
        let file = try InputFile(FilePath(path))
        // A pipe or a device has no contents of its own.
        guard let status = file.status else { throw CommandFailure(.noInput, on: path) }
        if status.kind == S_IFREG, status.st_mode & 0o077 != 0 {
            throw CommandFailure(
                .noInput,
                "\(path): other users can read this token; run: chmod 600 \(path.shellWord)"
            )
        }
        var bytes: [UInt8] = []
        while bytes.count < limit, try file.read(into: &bytes) {}
        return Array(bytes.prefix(limit))
    }

    /// What the system says of a path; nil if nothing can be seen there.
    static func status(of path: String, followsLinks: Bool = true) -> stat? {
        var status = stat()
        return unsafe (followsLinks ? stat(path, &status) : lstat(path, &status)) == 0 ? status : nil
    }

    private static func status(of path: FilePath) -> stat? {
        var status = stat()
        return unsafe path.withCString { unsafe stat($0, &status) } == 0 ? status : nil
    }

    static func isDirectory(_ path: String) -> Bool { status(of: path)?.kind == S_IFDIR }

    static func isRegular(_ path: String) -> Bool { status(of: path)?.kind == S_IFREG }

    static func isSocket(_ path: String) -> Bool { status(of: path)?.kind == S_IFSOCK }

    static func checkExists(_ path: String) throws(CommandFailure) {
        guard unsafe access(path, F_OK) == 0 else { throw CommandFailure(.noInput, on: path) }
    }

    /// Whether a path names a regular file, or one of which that cannot be told, such as a link to nothing.
    static func mayBeRegular(_ path: FilePath) -> Bool {
        status(of: path).map { $0.kind == S_IFREG } ?? true
    }

    /// What tells the content of a regular file from what it was before, without reading it.
    struct Version: Equatable {
        private let facts: [Int64]

        /// nil for what is not a regular file, or cannot be seen.
        init?(of path: FilePath) {
            guard let status = Files.status(of: path), status.kind == S_IFREG else { return nil }
            #if canImport(Darwin)
                let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
            #else
                let (modified, changed) = (status.st_mtim, status.st_ctim)
            #endif
            facts = [
                Int64(status.st_dev), Int64(truncatingIfNeeded: status.st_ino), Int64(status.st_size),
                Int64(modified.tv_sec), Int64(modified.tv_nsec), Int64(changed.tv_sec), Int64(changed.tv_nsec),
            ]
        }
    }

    /// The names in a directory, in the order of ``FilePath``.
    static func entries(in directory: String) throws(CommandFailure) -> [FilePath] {
        guard let stream = unsafe opendir(directory) else { throw CommandFailure(.noInput, on: directory) }
        defer { unsafe closedir(stream) }
        var names: [FilePath] = []
        while let entry = unsafe readdir(stream) {
            names.append(unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe FilePath($0) })
        }
        return names.sorted()
    }

    /// Creates a directory, and its parents, if they do not exist.
    static func makeDirectory(_ path: String) throws(CommandFailure) {
        // By bytes: to Swift, a slash before a combining mark is another character.
        var soFar = path.utf8.first == UInt8(ascii: "/") ? "/" : ""
        for part in path.utf8.split(separator: UInt8(ascii: "/")) {
            soFar += (["", "/"].contains(soFar) ? "" : "/") + String(Substring(part))
            if isDirectory(soFar) { continue }
            if unsafe mkdir(soFar, 0o777) == 0 { continue }
            let error = errno
            if error == EEXIST, isDirectory(soFar) { continue }
            throw CommandFailure(on: soFar, error == EEXIST ? ENOTDIR : error)
        }
    }

    /// Removes a file, unless somebody else has removed it.
    static func remove(_ path: String) throws(CommandFailure) {
        guard unsafe unlink(path) != 0, errno != ENOENT else { return }
        throw CommandFailure(on: path, errno == EISDIR ? ENOTSUP : errno)
    }
}

extension stat {
    /// Whether it is a file, a directory, a link, a device, a pipe or a socket.
    var kind: mode_t { st_mode & S_IFMT }
}

extension Files {
    /// Creates a file that holds `bytes`, completely or not at all.
    ///
    /// They are written to a hidden file in the same directory, which is then renamed: readers see the file as it was
    /// or as it is, and a full disk leaves no part of it. Whatever exists at either name is neither written to nor
    /// followed; only files are replaced, and links to files or to nothing, not devices, pipes, sockets or directories,
    /// nor links to them or to what a process has open.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - bytes: Its contents.
    ///   - overwrites: Whether the file replaces an existing one; otherwise that is an error.
    /// - Throws: The system's error.
    static func create(_ path: String, _ bytes: Span<UInt8>, overwrites: Bool) throws(CommandFailure) {
        try checkReplaceable(path)
        let temporary = temporaryName(of: path)
        // Left behind by an earlier process.
        unsafe unlink(temporary)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = unsafe open(temporary, flags, 0o666)
        guard descriptor >= 0 else { throw CommandFailure(on: path) }
        do {
            defer { close(descriptor) }
            try write(bytes, to: descriptor, name: path)
        } catch {
            unsafe unlink(temporary)
            throw error
        }
        // A link fails if the name is taken; a rename would not.
        var result = unsafe overwrites ? rename(temporary, path) : link(temporary, path)
        // Some file systems have no links, such as those of memory cards.
        if result != 0, errno != EEXIST, !overwrites, status(of: path, followsLinks: false) == nil {
            result = unsafe rename(temporary, path)
        }
        let failure = result == 0 ? nil : CommandFailure(on: path)
        if !overwrites || failure != nil { unsafe unlink(temporary) }
        if let failure { throw failure }
    }

    private static func checkReplaceable(_ path: String) throws(CommandFailure) {
        guard let kind = status(of: path, followsLinks: false)?.kind else { return }
        let isHarmlessLink = kind == S_IFLNK && mayBeRegular(FilePath(path)) && !isStream(path)
        guard kind == S_IFREG || isHarmlessLink else { throw CommandFailure(on: path, ENOTSUP) }
    }

    /// The maximum number of links that lead to a file, more than any system follows.
    private static let maximumLinkCount = 40

    /// Whether a path leads to an open file of a process, as `/dev/stdout` does.
    ///
    /// To root, that is a link like any other.
    private static func isStream(_ path: String) -> Bool {
        // A file behind such a link may be a regular one, and behind links to directories the link itself has any name.
        let system = status(of: "/proc/self/fd")?.st_dev
        var path = path
        for _ in 0...maximumLinkCount {
            let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
            if path.hasPrefix("/proc/") || (system != nil && status(of: directory)?.st_dev == system) { return true }
            guard let target = target(ofLink: path) else { return false }
            path = target.hasPrefix("/") ? target : directory + "/" + target
        }
        return false
    }

    /// The path that a symbolic link holds; nil if there is no link, or one that is not UTF-8.
    private static func target(ofLink path: String) -> String? {
        let capacity = Int(PATH_MAX)
        var target = [CChar](repeating: 0, count: capacity)
        let count = unsafe readlink(path, &target, capacity)
        guard count >= 0 else { return nil }
        return String(validating: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns a name beside a file that belongs to this program: what an earlier process has left there is deleted.
    static func temporaryName(of path: String) -> String {
        let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
        return path[..<start] + ".framesocket." + path[start...]
    }

    /// Opens a file to be written from its beginning, and empties it if it exists.
    ///
    /// It is locked until it is closed, so that two programs do not write one file at the same time.
    ///
    /// A symbolic link is followed only if it belongs to this user or to root: others may plant one in a directory that
    /// everybody may write to.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - overwrites: Whether a regular file may already exist.
    /// - Returns: The descriptor, which the caller closes.
    /// - Throws: The system's error; `ELOOP` for a link that is not followed, `EISDIR` for a directory, `EWOULDBLOCK` for a
    ///   file that another program writes.
    static func openForWriting(_ path: String, overwrites: Bool) throws(CommandFailure) -> Int32 {
        let status = status(of: path, followsLinks: false)
        let isLink = status?.kind == S_IFLNK
        let isTrusted = isLink && (status?.st_uid == geteuid() || status?.st_uid == 0)
        guard isTrusted || !isLink else { throw CommandFailure(on: path, ELOOP) }
        // That it exists would suggest to replace it.
        guard !isDirectory(path) else { throw CommandFailure(on: path, EISDIR) }
        // A pipe or a device has nothing to lose.
        let mayExist = overwrites || Self.status(of: path).map { $0.kind != S_IFREG } ?? false
        var flags = O_WRONLY | O_CREAT | O_CLOEXEC | (mayExist ? 0 : O_EXCL)
        // A link that is planted after the check is not followed either.
        if !isTrusted { flags |= O_NOFOLLOW }
        let descriptor = blocking(on: path) { unsafe open(path, flags, 0o666) }
        guard descriptor >= 0 else { throw CommandFailure(on: path) }
        do throws(CommandFailure) {
            try takeOver(descriptor, path)
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Locks a file, and then empties it; does nothing to what is not a regular file.
    private static func takeOver(_ descriptor: Int32, _ path: String) throws(CommandFailure) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.kind == S_IFREG else { return }
        // Some file systems have no locks.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else { throw CommandFailure(on: path) }
        guard ftruncate(descriptor, 0) == 0 else { throw CommandFailure(on: path) }
    }
}
