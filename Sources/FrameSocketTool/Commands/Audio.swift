import FrameSocket
import Locking

/// Sends the audio of a file at its own pace, to a receiver that asks for it.
final class SoundSender: Sendable {
    private let file: Locked<AudioFile>
    private let state = Locked((hasBegun: false, isCut: false))
    private let report: @Sendable (CommandFailure) -> Void

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - report: Called if the rest of the file cannot be read.
    /// - Throws: The failure to open the file, or to read its beginning.
    init(_ path: String, report: @escaping @Sendable (CommandFailure) -> Void) throws(CommandFailure) {
        file = Locked(try AudioFile(path))
        self.report = report
    }

    /// Whether the receiver has asked for audio.
    var isWanted: Bool { state.withLock { $0.hasBegun } }

    /// Whether the connection ended before the file did.
    var isCut: Bool { state.withLock { $0.isCut } }

    /// Waits until the receiver has asked for audio, or has said that it wants none; at most half a second for a receiver
    /// that says nothing, as many do.
    func waitToBeAsked(over connection: SocketConnection) async {
        let end = ContinuousClock.now + .milliseconds(500)
        while !isWanted, connection.isOpen {
            let isSilent = connection.receiver.hello == nil
            guard isSilent ? ContinuousClock.now < end : connection.receiver.wants.contains(.audio) else { return }
            guard (try? await Task.sleep(for: .milliseconds(2))) != nil else { return }
        }
    }

    /// Sends the file once the receiver asks for it, until the file or the connection ends, or the task is cancelled, on a
    /// thread that may block.
    func send(over connection: SocketConnection) async {
        guard await isAsked(over: connection) else { return }
        state.withLock { $0 = (true, false) }
        let clock = ContinuousClock()
        let begin = (clock.now, MonotonicClock.now())
        var sequence: UInt64 = 0
        while !Task.isCancelled, var block = nextBlock() {
            guard connection.closeReason == nil else { return state.withLock { $0.isCut = true } }
            let offset = block.timestamp ?? 0
            let due = begin.0 + .nanoseconds(Int64(clamping: offset))
            guard (try? await clock.sleep(until: due)) != nil else { return }
            block.timestamp = begin.1 &+ offset
            block.sequence = sequence
            _ = try? connection.send(block)
            sequence += 1
        }
    }

    /// Waits until the receiver asks; returns false if it never does.
    private func isAsked(over connection: SocketConnection) async -> Bool {
        if connection.receiver.wants.contains(.audio) { return true }
        for await request in connection.requests {
            if case .hello(let hello) = request, hello.wants.contains(.audio) { return true }
        }
        return false
    }

    private func nextBlock() -> AudioBlock? {
        file.withLock { file in
            do throws(CommandFailure) {
                return try file.next()
            } catch {
                report(error)
                return nil
            }
        }
    }
}

/// Writes a WAVE file of 16-bit PCM whose header is valid after every block, so that it plays however the program ends.
///
/// The first block decides on rate and channels. A pipe gets the length that means: up to the end.
final class WAVWriter {
    /// The maximum number of bytes of samples: the length of the whole file, less 8 bytes, is a number of 32 bits.
    static let maximumByteCount = UInt32.max - 36

    private let output: OutputFile
    private let limit: UInt32
    private var format: AudioBlock.Format?
    private var byteCount: UInt32 = 0

    /// Creates a writer of a file that was just created or emptied.
    init(_ output: OutputFile, limit: UInt32 = maximumByteCount) {
        self.output = output
        self.limit = limit
    }

    /// The rate and the number of channels of the file, for a person; nil before the first block.
    var formatDescription: String? { format.map(Self.description) }

    /// A rate and a number of channels, for a person.
    static func description(of format: AudioBlock.Format) -> String {
        "\(format.sampleRate) Hz and \(Format.count(format.channels, "channel"))"
    }

    /// Appends a block.
    ///
    /// - Returns: false if they have another rate or number of channels than the file, and are left out.
    /// - Throws: The system's error; `EFBIG` if the file has its maximum length.
    func append(_ block: AudioBlock) throws(CommandFailure) -> Bool {
        let isFirst = format == nil
        let format = format ?? block.format
        guard format == block.format else { return false }
        guard let total = UInt32(exactly: Int(byteCount) + block.bytes.count), total <= limit else {
            throw CommandFailure(on: output.name, EFBIG)
        }
        self.format = format
        if isFirst { try output.write(header(format, output.isSeekable ? 0 : nil)) }
        // The samples first: if they cannot be written, the header still describes what precedes them.
        try block.bytes.withSpan { samples throws(CommandFailure) in try output.write(samples) }
        byteCount = total
        if output.isSeekable { try output.write(header(format, total), at: 0) }
        return true
    }

    /// Checks that nobody has removed the file.
    func checkFile() throws(CommandFailure) {
        try output.checkExists()
    }

    /// The header of a file with `byteCount` bytes of samples; nil if nobody knows how many follow.
    private func header(_ format: AudioBlock.Format, _ byteCount: UInt32?) -> [UInt8] {
        let bytesPerFrame = format.channels * 2
        return Array("RIFF".utf8) + Self.bytes(byteCount.map { $0 + 36 } ?? .max) + Array("WAVEfmt ".utf8)
            + Self.bytes(16 as UInt32)
            + Self.bytes(1 as UInt16) + Self.bytes(UInt16(truncatingIfNeeded: format.channels))
            + Self.bytes(UInt32(truncatingIfNeeded: format.sampleRate))
            + Self.bytes(UInt32(truncatingIfNeeded: format.sampleRate * bytesPerFrame))
            + Self.bytes(UInt16(truncatingIfNeeded: bytesPerFrame)) + Self.bytes(16 as UInt16)
            + Array("data".utf8) + Self.bytes(byteCount ?? .max)
    }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
