/// A file that is read from beginning to end, or standard input.
final class InputFile {
    let name: String
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var position = 0
    /// The place of the buffer's first byte in the file.
    private var base: UInt64 = 0

    /// The place of the next byte.
    var offset: UInt64 { base + UInt64(position) }

    /// Whether its bytes are still there once they have been read, unlike those of a pipe.
    var isRepeatable: Bool {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return true }
        return status.kind == S_IFREG || status.kind == S_IFBLK
    }

    /// Opens a file; `-` is standard input.
    init(_ path: String) throws(Files.Failure) {
        guard path != "-" else {
            (name, descriptor) = ("standard input", STDIN_FILENO)
            return
        }
        name = path
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Files.Failure(path) }
    }

    /// Reads bytes that are in memory, as a file of that name.
    init(_ bytes: [UInt8], name: String) {
        (self.name, descriptor) = (name, -1)
        buffer = bytes
    }

    deinit {
        if descriptor > STDIN_FILENO { close(descriptor) }
    }

    /// The next bytes, without consuming them; fewer if the file ends.
    func peek(_ count: Int) throws(Files.Failure) -> ArraySlice<UInt8> {
        while buffer.count - position < count, try fill() {}
        return buffer[position...].prefix(max(0, count))
    }

    /// The next `count` bytes; nil if there are not that many.
    ///
    /// No more memory is allocated than there are bytes, whatever `count` claims.
    func bytes(_ count: Int) throws(Files.Failure) -> [UInt8]? {
        let found = try peek(count)
        guard count >= 0, found.count == count else { return nil }
        position += count
        return Array(found)
    }

    /// Skips the next `count` bytes; returns false if there are not that many.
    func skip(_ count: UInt64) throws(Files.Failure) -> Bool {
        var left = count
        while left > 0 {
            if position == buffer.count, try !fill() { return false }
            let step = min(left, UInt64(buffer.count - position))
            position += Int(step)
            left -= step
        }
        return true
    }

    /// Reads once; returns false at the end.
    private func fill() throws(Files.Failure) -> Bool {
        guard descriptor >= 0 else { return false }
        // Moving the rest costs less than was consumed since the last time.
        if position > 0, position >= buffer.count / 2 {
            buffer.removeFirst(position)
            base += UInt64(position)
            position = 0
        }
        return try Files.read(from: descriptor, into: &buffer, name: name)
    }
}
