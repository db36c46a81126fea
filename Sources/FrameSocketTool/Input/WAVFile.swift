import FrameSocket

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A WAVE file of 16-bit PCM, read block by block: the audio of a film would not fit into a sending process.
///
/// RIFF chunks that are not needed are skipped. The RIFF chunk's own size is ignored, since programs that write
/// to a pipe cannot know it; for the same reason a `data` chunk of 4,294,967,295 bytes goes on to the file's end.
struct WAVFile: ~Copyable {
    /// The number of frames in a block, except the last.
    static let framesPerBlock = 1_024

    /// The maximum number of chunks before the samples.
    static let maximumChunkCount = 256

    /// The sample rate and the number of channels.
    let format: AudioFormat

    private var input: Input
    /// The bytes of samples still to come; nil if only the end of the file tells.
    private var bytesLeft: Int?
    private var framesRead = 0
    private let startTime: UInt64

    /// Opens a file or a pipe, and reads up to the samples; the first one is at `startTime`, in nanoseconds.
    init(_ path: String, startTime: UInt64 = 0) throws(CommandFailure) {
        var input = try Input(path)
        let (format, byteCount) = try Self.readHead(&input)
        self.format = format
        self.input = input
        self.startTime = startTime
        bytesLeft = byteCount == UInt32.max ? nil : Int(byteCount)
    }

    /// The next block, with the time of its first frame; nil at the end.
    mutating func next() throws(CommandFailure) -> AudioBlock? {
        let frameByteCount = format.channels * 2
        let wanted = min(Self.framesPerBlock * frameByteCount, bytesLeft ?? .max)
        let bytes = try input.take(atMost: wanted)
        // The complete frames of a truncated file are returned first; the next call reports the truncation.
        let part = bytes.count % frameByteCount
        let whole = bytes.count - part
        input.putBack(part)
        guard whole > 0 else {
            if part == 0, wanted == 0 || bytesLeft == nil { return nil }
            throw input.failure("it ends within its samples, after \(framesRead) frames")
        }
        bytesLeft? -= whole
        do {
            let (time, overflow) = startTime.addingReportingOverflow(format.nanoseconds(inFrames: framesRead))
            framesRead += whole / frameByteCount
            return try AudioBlock(
                format: format,
                timestamp: overflow ? nil : time,
                littleEndian: bytes.span.extracting(first: whole)
            )
        } catch {
            throw input.failure("\(error)")
        }
    }

    /// Reads up to the first sample; returns the format, and the number of bytes of samples that the file states.
    private static func readHead(_ input: inout Input) throws(CommandFailure) -> (AudioFormat, UInt32) {
        let riff = try input.take(12, of: "the RIFF header")
        guard riff.starts(with: "RIFF".utf8), riff[8...].elementsEqual("WAVE".utf8) else {
            throw input.failure("it is not a WAVE file (RIFF)")
        }
        var format: AudioFormat?
        for _ in 0..<maximumChunkCount {
            let head = try input.take(8, of: "a chunk's header")
            let size = head.number(at: 4)
            switch String(decoding: head[..<4], as: UTF8.self) {
            case "fmt ":
                guard format == nil else { throw input.failure("it has two fmt chunks") }
                format = try readFormat(Int(size), &input)
            case "data":
                guard let format else { throw input.failure("its samples precede their format") }
                guard size == .max || Int(size).isMultiple(of: format.channels * 2) else {
                    throw input.failure("\(size) bytes of samples are not a whole number of frames")
                }
                return (format, size)
            default:
                try input.skip(Int(size) + Int(size % 2))
            }
        }
        throw input.failure("there are no samples in its first \(maximumChunkCount) chunks")
    }

    /// Reads a `fmt ` chunk: WAVEFORMATEX, or WAVEFORMATEXTENSIBLE with the subformat of PCM.
    private static func readFormat(_ size: Int, _ input: inout Input) throws(CommandFailure) -> AudioFormat {
        guard 16...1_024 ~= size else { throw input.failure("its fmt chunk has \(size) bytes") }
        let chunk = try input.take(size, of: "the fmt chunk")
        if size % 2 != 0 { try input.skip(1) }
        var tag = chunk.short(at: 0)
        if tag == 0xFFFE {
            guard size >= 40, chunk.short(at: 16) >= 22 else {
                throw input.failure("its extensible fmt chunk has only \(size) bytes")
            }
            guard chunk[26..<40].elementsEqual(subformatEnd) else {
                throw input.failure("its samples have an unknown subformat")
            }
            tag = chunk.short(at: 24)
        }
        let channels = Int(chunk.short(at: 2))
        let bits = chunk.short(at: 14)
        guard tag == 1, bits == 16 else {
            throw input.failure(
                "its samples have \(bits) bits in format \(tag); only 16-bit PCM (format 1) is supported"
            )
        }
        let frameByteCount = Int(chunk.short(at: 12))
        guard frameByteCount == channels * 2 else {
            throw input.failure("its frames of \(channels) channels have \(frameByteCount) bytes")
        }
        do {
            return try AudioFormat(sampleRate: Int(chunk.number(at: 4)), channels: channels)
        } catch {
            throw input.failure(error.message)
        }
    }

    /// What follows the format tag in the GUID of a subformat.
    private static let subformatEnd: [UInt8] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]
}

extension WAVFile {
    /// The file's bytes, read a pipe's capacity at a time.
    private struct Input: ~Copyable {
        private let path: String
        private let descriptor: Int32
        private var bytes: [UInt8] = []
        private var position = 0

        init(_ path: String) throws(CommandFailure) {
            self.path = path
            descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw CommandFailure(.noInput, Files.Failure(path).message) }
        }

        deinit {
            if descriptor >= 0 { close(descriptor) }
        }

        func failure(_ reason: String) -> CommandFailure {
            CommandFailure(.badData, "\(path): \(reason)")
        }

        /// Takes `count` bytes, or fewer at the end.
        mutating func take(atMost count: Int) throws(CommandFailure) -> [UInt8] {
            while bytes.count - position < count, try fill() {}
            let taken = Array(bytes[position...].prefix(count))
            position += taken.count
            return taken
        }

        /// Puts back the last bytes that were taken.
        mutating func putBack(_ count: Int) {
            position -= count
        }

        /// Takes `count` bytes, which must exist.
        mutating func take(_ count: Int, of part: String) throws(CommandFailure) -> [UInt8] {
            let taken = try take(atMost: count)
            guard taken.count == count else { throw failure("it ends within \(part)") }
            return taken
        }

        /// Skips `count` bytes, which must exist.
        mutating func skip(_ count: Int) throws(CommandFailure) {
            var left = count
            while left > 0 {
                if position == bytes.count, try !fill() { throw failure("it ends within a chunk") }
                let step = min(left, bytes.count - position)
                position += step
                left -= step
            }
        }

        /// Reads once; returns false at the end.
        private mutating func fill() throws(CommandFailure) -> Bool {
            bytes.removeFirst(position)
            position = 0
            do {
                return try Files.read(from: descriptor, into: &bytes, name: path)
            } catch {
                throw CommandFailure(.noInput, error.message)
            }
        }
    }
}

extension [UInt8] {
    /// The 16-bit little-endian number at an offset.
    fileprivate func short(at offset: Int) -> UInt16 {
        UInt16(self[offset]) | UInt16(self[offset + 1]) << 8
    }

    /// The 32-bit little-endian number at an offset.
    fileprivate func number(at offset: Int) -> UInt32 {
        UInt32(short(at: offset)) | UInt32(short(at: offset + 2)) << 16
    }
}
