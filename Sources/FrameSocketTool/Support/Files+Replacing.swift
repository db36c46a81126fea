extension Files {
    /// The failure if an existing file is not overwritten.
    static func refusal(_ path: String) -> String {
        "\(path): already exists; use --overwrite to replace it"
    }

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
    static func create(_ path: String, _ bytes: Span<UInt8>, overwrites: Bool) throws(Failure) {
        try checkReplaceable(path)
        let temporary = temporaryName(of: path)
        // Left behind by an earlier process.
        unsafe unlink(temporary)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = unsafe open(temporary, flags, 0o666)
        guard descriptor >= 0 else { throw Failure(path) }
        do {
            defer { close(descriptor) }
            try write(bytes, to: descriptor, name: path)
        } catch {
            unsafe unlink(temporary)
            throw error
        }
        // A link fails if the name is taken; a rename would not.
        let result = unsafe overwrites ? rename(temporary, path) : link(temporary, path)
        let failure = result == 0 ? nil : Failure(path)
        if !overwrites || failure != nil { unsafe unlink(temporary) }
        if let failure { throw failure }
    }

    private static func checkReplaceable(_ path: String) throws(Failure) {
        guard let kind = status(of: path, followsLinks: false)?.kind else { return }
        let isHarmlessLink = kind == S_IFLNK && mayBeRegular(FilePath(path)) && !isStream(path)
        guard kind == S_IFREG || isHarmlessLink else { throw Failure(path, ENOTSUP) }
    }

    /// Whether a path leads to an open file of a process, as `/dev/stdout` does.
    ///
    /// To root, that is a link like any other.
    private static func isStream(_ path: String) -> Bool {
        // A file behind such a link may be a regular one, and behind links to directories the link itself has any name.
        let system = status(of: "/proc/self/fd")?.st_dev
        return chain(of: path).contains { link in
            link.hasPrefix("/proc/") || (system != nil && status(of: split(link).directory)?.st_dev == system)
        }
    }

    /// Returns a name beside a file that belongs to this program: what an earlier process has left there is deleted.
    static func temporaryName(of path: String) -> String {
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
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
    ///   - overwrites: Whether it may already exist.
    /// - Returns: The descriptor, which the caller closes.
    /// - Throws: The system's error; `ELOOP` for a link that is not followed, `EISDIR` for a directory, `EWOULDBLOCK` for a
    ///   file that another program writes.
    static func openForWriting(_ path: String, overwrites: Bool) throws(Failure) -> Int32 {
        let status = status(of: path, followsLinks: false)
        let isLink = status?.kind == S_IFLNK
        let isTrusted = isLink && (status?.st_uid == geteuid() || status?.st_uid == 0)
        guard isTrusted || !isLink else { throw Failure(path, ELOOP) }
        // That it exists would suggest to replace it.
        guard !isDirectory(path) else { throw Failure(path, EISDIR) }
        var flags = O_WRONLY | O_CREAT | O_CLOEXEC | (overwrites ? 0 : O_EXCL)
        // A link that is planted after the check is not followed either.
        if !isTrusted { flags |= O_NOFOLLOW }
        let descriptor = BlockedCall.perform(on: nil) { unsafe open(path, flags, 0o666) }
        guard descriptor >= 0 else { throw Failure(path) }
        do throws(Failure) {
            try takeOver(descriptor, path)
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Locks a file, and then empties it; does nothing to what is not a regular file.
    private static func takeOver(_ descriptor: Int32, _ path: String) throws(Failure) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.kind == S_IFREG else { return }
        // Some file systems have no locks.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else { throw Failure(path) }
        guard ftruncate(descriptor, 0) == 0 else { throw Failure(path) }
    }
}
