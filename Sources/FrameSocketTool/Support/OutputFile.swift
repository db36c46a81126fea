/// A file that is written piece by piece, or standard output.
final class OutputFile: Sendable {
    let name: String
    private let descriptor: Int32

    /// Whether it is a file in which places can be overwritten.
    let isSeekable: Bool

    /// Creates a file; `-` is standard output.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - overwrites: Whether an existing one may be emptied; otherwise that is an error.
    /// - Throws: The system's error.
    init(_ path: String, overwrites: Bool) throws(Files.Failure) {
        guard path != "-" else {
            (name, descriptor, isSeekable) = ("standard output", STDOUT_FILENO, false)
            return
        }
        let opened = try Files.openForWriting(path, overwrites: overwrites)
        (name, descriptor, isSeekable) = (path, opened, lseek(opened, 0, SEEK_CUR) >= 0)
    }

    deinit {
        if descriptor != STDOUT_FILENO { close(descriptor) }
    }

    func write(_ bytes: [UInt8]) throws(Files.Failure) {
        let bytes = bytes[...]
        try write(bytes.span)
    }

    func write(_ bytes: Span<UInt8>) throws(Files.Failure) {
        try checkExists()
        try Files.write(bytes, to: descriptor, name: name)
    }

    /// Checks that nobody has removed the file: the system goes on to write one that has no name.
    func checkExists() throws(Files.Failure) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.kind == S_IFREG, status.st_nlink == 0 else { return }
        throw Files.Failure(name, ESTALE)
    }

    /// Writes a few bytes at a place in a seekable file, without moving the position for later writes.
    func write(_ bytes: [UInt8], at offset: UInt64) throws(Files.Failure) {
        guard let offset = off_t(exactly: offset) else { return }
        let count = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, offset) }
        guard count >= 0 else { throw Files.Failure(name) }
        // Only a file that cannot grow takes a part.
        guard count == bytes.count else { throw Files.Failure(name, ENOSPC) }
    }
}
