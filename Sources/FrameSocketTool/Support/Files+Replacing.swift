#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension Files {
    /// Puts `bytes` in place of what a file holds, so that whoever reads it sees the one or the other whole.
    ///
    /// They are written to `PATH.tmp`, which then takes the file's name.
    static func replace(_ path: String, with bytes: Span<UInt8>) throws(Failure) {
        let temporary = path + ".tmp"
        // What an earlier process has left; nothing that stands there is written to.
        unsafe unlink(temporary)
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Failure(temporary) }
        do {
            defer { close(descriptor) }
            try write(bytes, to: descriptor, name: temporary)
        } catch {
            unsafe unlink(temporary)
            throw error
        }
        guard unsafe rename(temporary, path) == 0 else {
            let failure = Failure(path)
            unsafe unlink(temporary)
            throw failure
        }
    }
}
