#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension Files {
    /// Why a file that is there is not written.
    static func refusal(_ path: String) -> String {
        "\(path): the file is there already; --overwrite replaces it"
    }

    /// Makes a file that holds `bytes`, whole or not at all.
    ///
    /// They are written to `PATH.tmp`, which then takes the file's name: whoever reads the file sees what it was or what it
    /// is, and a full disk leaves no part of it. Nothing that stands at either name is written to or followed.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - bytes: what it is to hold.
    ///   - overwrites: whether the file takes the place of one that is there; otherwise that fails.
    /// - Throws: what the system says.
    static func create(_ path: String, _ bytes: Span<UInt8>, overwrites: Bool) throws(Failure) {
        let temporary = path + ".tmp"
        // What an earlier process has left.
        unsafe unlink(temporary)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = unsafe open(temporary, flags, 0o666)
        guard descriptor >= 0 else { throw Failure(temporary) }
        do {
            defer { close(descriptor) }
            try write(bytes, to: descriptor, name: path)
        } catch {
            unsafe unlink(temporary)
            throw error
        }
        // A link fails if the name is taken, where a rename would not.
        let result = unsafe overwrites ? rename(temporary, path) : link(temporary, path)
        let failure = result == 0 ? nil : Failure(path)
        if !overwrites || failure != nil { unsafe unlink(temporary) }
        if let failure { throw failure }
    }

    /// Opens a file to be written from its beginning, which is emptied if it is there.
    ///
    /// A symbolic link is followed only if it belongs to this user or to root: others may plant one in a directory that
    /// everybody may write to.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - overwrites: whether it may be there already.
    /// - Returns: the descriptor, which the caller closes.
    /// - Throws: what the system says; `ELOOP` for a link that is not followed.
    static func openForWriting(_ path: String, overwrites: Bool) throws(Failure) -> Int32 {
        var status = stat()
        let isLink = unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
        let isTrusted = isLink && (status.st_uid == geteuid() || status.st_uid == 0)
        guard isTrusted || !isLink else { throw Failure(path, ELOOP) }
        var flags = O_WRONLY | O_CREAT | O_CLOEXEC | (overwrites ? O_TRUNC : O_EXCL)
        // One that is planted from now on is not followed either.
        if !isTrusted { flags |= O_NOFOLLOW }
        let descriptor = unsafe open(path, flags, 0o666)
        guard descriptor >= 0 else { throw Failure(path) }
        return descriptor
    }
}
