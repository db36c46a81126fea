import FrameSocket

/// Writes a WAVE file of 16-bit PCM whose header is valid after every block, so that it plays however the program ends.
///
/// The first block decides on rate and channels; blocks of another form are left out.
final class WAVWriter {
    private let output: OutputFile
    private var format: (rate: Int, channels: Int)?
    private var byteCount: UInt32 = 0

    /// Creates a writer of a file that was just created or emptied.
    init(_ output: OutputFile) {
        self.output = output
    }

    /// Appends the samples of a message.
    func append(_ message: AudioMessage) throws(Files.Failure) {
        if format == nil { format = (message.sampleRate, message.channels) }
        guard let format, format == (message.sampleRate, message.channels),
            let total = UInt32(exactly: Int(byteCount) + message.samples.count)
        else { return }
        // The samples first: if they cannot be written, the header still describes what precedes them.
        if byteCount == 0 { try output.write(header(format).span) }
        try message.samples.withBytes { bytes throws(Files.Failure) in try output.write(bytes) }
        byteCount = total
        try output.write(header(format).span, at: 0)
    }

    private func header(_ format: (rate: Int, channels: Int)) -> [UInt8] {
        let bytesPerFrame = format.channels * 2
        return Array("RIFF".utf8) + Self.bytes(byteCount &+ 36) + Array("WAVEfmt ".utf8) + Self.bytes(16 as UInt32)
            + Self.bytes(1 as UInt16) + Self.bytes(UInt16(truncatingIfNeeded: format.channels))
            + Self.bytes(UInt32(truncatingIfNeeded: format.rate))
            + Self.bytes(UInt32(truncatingIfNeeded: format.rate * bytesPerFrame))
            + Self.bytes(UInt16(truncatingIfNeeded: bytesPerFrame)) + Self.bytes(16 as UInt16)
            + Array("data".utf8) + Self.bytes(byteCount)
    }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
