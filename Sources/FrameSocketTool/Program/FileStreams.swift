import FrameSocket
import Locking

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
    init(_ path: String, overwrites: Bool) throws(CommandFailure) {
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

    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        let bytes = bytes[...]
        try write(bytes.span)
    }

    func write(_ bytes: Span<UInt8>) throws(CommandFailure) {
        try checkExists()
        try Files.write(bytes, to: descriptor, name: name)
    }

    /// Checks that nobody has removed the file: the system goes on to write one that has no name.
    func checkExists() throws(CommandFailure) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.kind == S_IFREG, status.st_nlink == 0 else { return }
        throw CommandFailure(on: name, ESTALE)
    }

    /// Writes a few bytes at a place in a seekable file, without moving the position for later writes.
    func write(_ bytes: [UInt8], at offset: UInt64) throws(CommandFailure) {
        guard let offset = off_t(exactly: offset) else { return }
        let count = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, offset) }
        guard count >= 0 else { throw CommandFailure(on: name) }
        // Only a file that cannot grow takes a part.
        guard count == bytes.count else { throw CommandFailure(on: name, ENOSPC) }
    }
}

/// A file that is read from beginning to end, or standard input.
final class InputFile {
    let name: String
    let descriptor: Int32
    private var buffer: [UInt8] = []
    private var position = 0
    /// The place of the buffer's first byte in the file.
    private var base: UInt64 = 0

    /// The place of the next byte.
    var offset: UInt64 { base + UInt64(position) }

    /// What the system says of it.
    var status: stat? {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? status : nil
    }

    /// Whether its bytes are still there once they have been read, unlike those of a pipe.
    var isRepeatable: Bool { status.map { $0.kind == S_IFREG || $0.kind == S_IFBLK } ?? true }

    /// Opens a file; `-` is standard input.
    convenience init(_ path: String) throws(CommandFailure) {
        if path == "-" { self.init(STDIN_FILENO, name: "standard input") } else { try self.init(FilePath(path)) }
    }

    /// Opens a file.
    convenience init(_ path: FilePath) throws(CommandFailure) {
        let descriptor = Files.blocking(on: path.text) {
            unsafe path.withCString { unsafe open($0, O_RDONLY | O_CLOEXEC) } ?? -1
        }
        guard descriptor >= 0 else { throw CommandFailure(.noInput, on: path.text) }
        self.init(descriptor, name: path.text)
    }

    private init(_ descriptor: Int32, name: String) {
        (self.descriptor, self.name) = (descriptor, name)
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
    func peek(_ count: Int) throws(CommandFailure) -> ArraySlice<UInt8> {
        while buffer.count - position < count, try fill() {}
        return buffer[position...].prefix(max(0, count))
    }

    /// The next `count` bytes; nil if there are not that many.
    ///
    /// No more memory is allocated than there are bytes, whatever `count` claims.
    func bytes(_ count: Int) throws(CommandFailure) -> [UInt8]? {
        let found = try peek(count)
        guard count >= 0, found.count == count else { return nil }
        position += count
        return Array(found)
    }

    /// Skips the next `count` bytes; returns false if there are not that many.
    func skip(_ count: UInt64) throws(CommandFailure) -> Bool {
        var left = count
        while left > 0 {
            if position == buffer.count, try !fill() { return false }
            let step = min(left, UInt64(buffer.count - position))
            position += Int(step)
            left -= step
        }
        return true
    }

    /// Appends what there is, after waiting for it if need be; returns false at the end.
    func read(into bytes: inout [UInt8]) throws(CommandFailure) -> Bool {
        if position == buffer.count, try !fill() { return false }
        bytes += buffer[position...]
        position = buffer.count
        return true
    }

    /// Reads up to the end of a line, but at most one byte more than `count`.
    func line(atMost count: Int) throws(CommandFailure) -> ArraySlice<UInt8> {
        var line: ArraySlice<UInt8> = []
        repeat {
            let next = try peek(line.count + 1)
            if next.count == line.count { break }
            line = next
        } while line.last != UInt8(ascii: "\n") && line.count <= count
        position += line.count
        return line
    }

    /// Waits until there is something to read, or the input has ended.
    func wait() {
        if position == buffer.count { systemWait(on: descriptor) }
    }

    /// Reads until `bytes` is full or the input ends; returns whether it is full.
    func fill(_ bytes: inout MutableSpan<UInt8>) throws(CommandFailure) -> Bool {
        let first = buffer[position...].prefix(bytes.count)
        for (index, byte) in first.enumerated() { bytes[index] = byte }
        position += first.count
        var filled = first.count
        // The rest is read to where it belongs.
        while filled < bytes.count {
            let count = try unsafe bytes.withUnsafeMutableBytes { bytes throws(CommandFailure) in
                try unsafe read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[filled...]))
            }
            if count == 0 { return false }
            filled += count
            base += UInt64(count)
        }
        return true
    }

    /// The maximum capacity of a pipe, and so of one read of it.
    private static let pipeCapacity = 1 << 16

    /// Reads once into the buffer; returns false at the end.
    private func fill() throws(CommandFailure) -> Bool {
        guard descriptor >= 0 else { return false }
        // Moving the rest costs less than was consumed since the last time.
        if position > 0, position >= buffer.count / 2 {
            buffer.removeFirst(position)
            base += UInt64(position)
            position = 0
        }
        return try unsafe withUnsafeTemporaryAllocation(byteCount: Self.pipeCapacity, alignment: 16) {
            room throws(CommandFailure) in
            let count = try unsafe read(into: room)
            unsafe buffer.append(contentsOf: room[..<count])
            return count > 0
        }
    }

    /// Reads once; returns 0 at the end.
    private func read(into room: UnsafeMutableRawBufferPointer) throws(CommandFailure) -> Int {
        let count = unsafe systemRead(descriptor, room)
        guard count >= 0 else { throw CommandFailure(.noInput, on: name) }
        return count
    }
}

/// A file's path as the system sees it: bytes, which need not be UTF-8.
///
/// A `String` would replace bytes that are not UTF-8 by other characters, and so name another file.
struct FilePath: Sendable, Hashable {
    private let bytes: [UInt8]

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// The bytes up to the first NUL.
    init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes.prefix { $0 != 0 })
    }

    /// The path for display: bytes that are not UTF-8 are shown as `\xFF`, so only a path without any opens the same
    /// file.
    var text: String { Self.text(of: bytes) }

    /// The path as a `String`; nil if it has bytes that are not UTF-8.
    var exactText: String? { String(validating: bytes, as: UTF8.self) }

    /// The last component.
    var name: String { Self.text(of: bytes.split(separator: UInt8(ascii: "/")).last ?? []) }

    /// Returns the path of an entry of this directory.
    func appending(_ entry: FilePath) -> FilePath {
        let slash = bytes.last == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]
        return FilePath(bytes + slash + entry.bytes)
    }

    /// Calls `body` with the path as a C string.
    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result? {
        let text = bytes.map { CChar(bitPattern: $0) } + [0]
        return unsafe text.withUnsafeBufferPointer { text in
            guard let base = text.baseAddress else { return nil }
            return unsafe body(base)
        }
    }

    private static func text(of bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = ""
        var rest = Array(bytes)[...]
        while let first = rest.first {
            // The one to four bytes of a character that begins here, or a single byte.
            let whole = (1...4).lazy.compactMap { String(validating: rest.prefix($0), as: UTF8.self) }.first
            text += whole ?? "\\x" + (first < 16 ? "0" : "") + String(first, radix: 16, uppercase: true)
            rest = rest.dropFirst(whole?.utf8.count ?? 1)
        }
        return text
    }
}

extension FilePath: Comparable {
    /// Orders paths as people number files: by their bytes, but runs of digits by their value, so that `frame-2` comes
    /// before `frame-10`.
    static func < (first: FilePath, second: FilePath) -> Bool {
        var (left, right) = (first.bytes[...], second.bytes[...])
        while let one = left.first, let other = right.first {
            if isDigit(one), isDigit(other) {
                let (number, otherNumber) = (takeNumber(from: &left), takeNumber(from: &right))
                if number.count != otherNumber.count { return number.count < otherNumber.count }
                if number != otherNumber { return number.lexicographicallyPrecedes(otherNumber) }
            } else {
                if one != other { return one < other }
                left.removeFirst()
                right.removeFirst()
            }
        }
        if left.isEmpty != right.isEmpty { return left.isEmpty }
        // They differ in leading zeros at most.
        return first.bytes.lexicographicallyPrecedes(second.bytes)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Removes a run of digits; returns it without leading zeros.
    private static func takeNumber(from bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let digits = bytes.prefix(while: isDigit)
        bytes = bytes.dropFirst(digits.count)
        return digits.drop { $0 == UInt8(ascii: "0") }
    }
}
