/// The bytes of a file or a pipe of audio, which libsndfile reads at places of its choice.
///
/// A pipe is read once and in order. Its beginning is kept, so that what was read while the format was being recognized can be read
/// again. Of a file, only what was asked for explicitly is kept.
final class AudioInput {
    /// The length of a pipe, as it is told to libsndfile, which requires one.
    ///
    /// Samples of 48 kHz stereo take ten weeks to reach it, and half as many bytes of a compressed block still count its blocks in 32 bits.
    static let unknownLength = 1 << 40

    /// The maximum number of bytes at the beginning that can be read again, or that may precede the samples.
    static let maximumHeadLength = 16 << 20

    /// The path, or what stands for it in messages.
    let path: String
    private let descriptor: Int32
    /// Whether any place can be read at any time.
    let isSeekable: Bool
    /// The beginning, as far as it is kept.
    private var head: [UInt8] = []
    /// The number of bytes that were taken from a pipe.
    private var taken = 0
    /// Where libsndfile reads next.
    private(set) var position = 0
    /// Where the input ends for libsndfile.
    var length: Int
    /// Whether the beginning is still kept, and may be skipped.
    var isOpening = true
    /// Whether fewer bytes came than ``length`` states.
    private(set) var isCut = false
    /// Whether libsndfile has asked for more when there was nothing left.
    private(set) var isExhausted = false
    /// Why reading failed.
    private(set) var failure: Files.Failure?

    /// Opens a file or a pipe; `-` is standard input.
    init(_ path: String) throws(CommandFailure) {
        self.path = path == "-" ? "standard input" : path
        descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandFailure(.noInput, Files.Failure(path).message) }
        var status = stat()
        let isKnown = unsafe fstat(descriptor, &status) == 0
        isSeekable = isKnown && status.st_mode & S_IFMT == S_IFREG
        length = isSeekable ? Int(status.st_size) : Self.unknownLength
    }

    deinit {
        if descriptor > STDIN_FILENO { close(descriptor) }
    }

    func failure(_ reason: String) -> CommandFailure { CommandFailure(.badData, "\(path): \(reason)") }

    /// The first bytes, fewer if the input ends.
    func prefix(_ count: Int) throws(CommandFailure) -> ArraySlice<UInt8> {
        while head.count < count, try fill(atMost: count - head.count) {}
        return head.prefix(count)
    }

    /// Changes bytes at the beginning, which were read before.
    func replace(_ offset: Int, with bytes: [UInt8]) {
        guard head.count >= offset + bytes.count else { return }
        head.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    /// Reads more of the beginning; returns false at the end.
    private func fill(atMost count: Int) throws(CommandFailure) -> Bool {
        var room = [UInt8](repeating: 0, count: min(count, Files.pipeCapacity))
        let found = unsafe room.withUnsafeMutableBytes { unsafe transfer(into: $0, at: head.count) }
        if let failure { throw CommandFailure(.noInput, failure.message) }
        head += room[..<found]
        return found > 0
    }

    // MARK: What libsndfile calls

    /// Moves to a place; returns it, or -1 if there is no such place.
    func seek(to offset: Int, from origin: Int) -> Int {
        let (place, overflow) = origin.addingReportingOverflow(offset)
        guard !overflow, place >= 0 else { return -1 }
        position = place
        return place
    }

    /// Reads until the buffer is full, or the input ends; returns the number of bytes.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let wanted = max(0, min(buffer.count, length - position))
        var done = 0
        defer { position += done }
        if position < head.count {
            done = min(wanted, head.count - position)
            unsafe buffer.copyBytes(from: head[position..<position + done])
        }
        // What was not kept of a pipe is gone, and what is far ahead would have to be kept.
        guard done < wanted, isSeekable || reach(position + done) else { return done }
        while done < wanted {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done..<wanted])
            let count = unsafe transfer(into: rest, at: position + done)
            if count == 0 { break }
            if isOpening, !isSeekable, head.count < Self.maximumHeadLength { unsafe head += rest[..<count] }
            done += count
        }
        isCut = isCut || done < wanted
        isExhausted = isExhausted || done == 0
        return done
    }

    /// Whether a pipe can be read at a place; what precedes it is read and kept.
    private func reach(_ place: Int) -> Bool {
        if place == taken { return true }
        guard isOpening, place > taken, place <= Self.maximumHeadLength else { return false }
        return ((try? prefix(place).count) ?? 0) == place
    }

    /// Reads once; returns 0 at the end, and after a failure.
    private func transfer(into buffer: UnsafeMutableRawBufferPointer, at place: Int) -> Int {
        while failure == nil, unsafe !buffer.isEmpty {
            let count =
                unsafe isSeekable
                ? pread(descriptor, buffer.baseAddress, buffer.count, off_t(place))
                : systemRead(descriptor, buffer)
            if count >= 0 {
                if !isSeekable { taken += count }
                return count
            }
            if errno != EINTR { failure = Files.Failure(path) }
        }
        return 0
    }
}
