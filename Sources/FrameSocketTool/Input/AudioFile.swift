internal import CSndFile
import FrameSocket

/// The bytes of a file or a pipe of audio, which libsndfile reads at places of its choice.
///
/// A pipe is read once and in order. Its beginning is kept, so that what was read while the format was being recognized can be read
/// again.
private final class AudioInput {
    /// The length of what states its own length or none, as it is told to libsndfile, which requires one.
    ///
    /// Samples of 48 kHz stereo take ten weeks to reach it, and half as many bytes of a compressed block still count its blocks in 32 bits.
    static let unknownLength = 1 << 40

    /// The maximum number of bytes that may precede the samples of a pipe.
    private static let maximumHeadLength = 16 << 20

    private let file: InputFile
    /// Whether any place can be read at any time.
    private let isSeekable: Bool
    /// The lengths with which libsndfile tries to open the input, one after the other.
    private var lengths: [Int]
    /// How far a pipe has been read.
    private var reached = 0
    /// The place that is libsndfile's 0.
    private var origin = 0
    /// Where libsndfile reads next.
    private var position = 0
    /// Where the input ends for libsndfile.
    private var length = 0
    /// How often libsndfile has read where there was nothing, since it began to open the input, or to ask for samples.
    private var emptyReads = 0
    /// Whether the beginning of a pipe is kept, since any of it may be read again.
    var isOpening = true { didSet { emptyReads = 0 } }
    /// Whether libsndfile has asked for more samples when there was nothing left.
    var isExhausted: Bool { emptyReads > 0 }
    /// Why reading failed.
    private(set) var failure: CommandFailure?

    /// Opens a file or a pipe; `-` is standard input.
    init(_ path: String) throws(CommandFailure) {
        file = try InputFile(path)
        let size = file.status.flatMap { $0.kind == S_IFREG ? Int($0.st_size) : nil }
        isSeekable = size != nil
        let start = try file.peek(4)
        // libsndfile would cut what these state before their samples to what is there, and hide that something is missing.
        let kinds = ["RIFF", "RIFX", "RF64", ".snd", "FORM", "caff"]
        let statesLength = kinds.contains { start.elementsEqual($0.utf8) }
        // It counts the compressed samples of WAVE in 32 bits, and refuses more, although there are only the stated ones.
        lengths = if let size, !statesLength { [size] } else { [Self.unknownLength, 1 << 30] }
        guard !start.isEmpty else { throw failure("the file is empty") }
    }

    func failure(_ reason: String) -> CommandFailure { CommandFailure(.badData, "\(file.name): \(reason)") }

    /// Lets libsndfile recognize the format; or, with the values of a format that was recognized, opens the samples from where it
    /// would read next to the end, without a header.
    func open(_ library: UnsafePointer<sndfile>, _ info: inout SF_INFO) throws(CommandFailure) -> OpaquePointer {
        if info.format != 0 {
            info.format = info.format & Int32(SF_FORMAT_SUBMASK | SF_FORMAT_ENDMASK) | Int32(SF_FORMAT_RAW)
            (origin, lengths) = (position, [Self.unknownLength])
        }
        var functions = Self.functions
        for length in lengths where failure == nil {
            (self.length, position, emptyReads) = (length, origin, 0)
            let context = unsafe Unmanaged.passUnretained(self).toOpaque()
            let file = unsafe library.pointee.open_virtual(&functions, Int32(SFM_READ), &info, context)
            if let file = unsafe file { return unsafe file }
        }
        if let failure { throw failure }
        let message = unsafe library.pointee.strerror(nil).map { unsafe String(cString: $0) } ?? "unknown format"
        throw failure("not audio that libsndfile reads: \(message)")
    }

    // MARK: What libsndfile calls

    /// Functions whose context is an input.
    private static let functions = unsafe SF_VIRTUAL_IO(
        get_filelen: { context in unsafe AudioInput.at(context).map { sf_count_t($0.length - $0.origin) } ?? 0 },
        seek: { offset, whence, context in
            unsafe sf_count_t(AudioInput.at(context)?.seek(to: Int(offset), from: whence) ?? -1)
        },
        read: { buffer, count, context in
            let room = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: max(0, Int(count)))
            return unsafe sf_count_t(AudioInput.at(context)?.read(into: room) ?? 0)
        },
        write: nil,
        tell: { context in unsafe AudioInput.at(context).map { sf_count_t($0.place) } ?? 0 }
    )

    private static func at(_ context: UnsafeMutableRawPointer?) -> AudioInput? {
        unsafe context.map { unsafe Unmanaged<AudioInput>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Where libsndfile is: at the end, if it looks for chunks where there are none, as it would until the stated length.
    private var place: Int { (isOpening && emptyReads > 8 ? length : position) - origin }

    /// Moves to a place; returns it, or -1 if there is no such place.
    private func seek(to offset: Int, from whence: Int32) -> Int {
        let start = whence == SEEK_CUR ? position : whence == SEEK_END ? length : origin
        let (place, overflow) = start.addingReportingOverflow(offset)
        guard !overflow, place >= origin else { return -1 }
        position = place
        return place - origin
    }

    /// Reads until the buffer is full, or the input ends; returns the number of bytes.
    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard failure == nil else { return 0 }
        let wanted = max(0, min(buffer.count, length - position))
        let room = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
        var done = 0
        do throws(CommandFailure) {
            done = unsafe try isSeekable ? readFile(into: room) : readPipe(into: room)
        } catch {
            failure = error
        }
        position += done
        if done == 0 { emptyReads += 1 }
        return done
    }

    private func readFile(into room: UnsafeMutableRawBufferPointer) throws(CommandFailure) -> Int {
        var done = 0
        while done < room.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[done...])
            let count = unsafe pread(file.descriptor, rest.baseAddress, rest.count, off_t(position + done))
            if count == 0 { break }
            if count < 0, errno != EINTR { throw CommandFailure(.noInput, on: file.name) }
            done += max(0, count)
        }
        return done
    }

    private func readPipe(into room: UnsafeMutableRawBufferPointer) throws(CommandFailure) -> Int {
        // What has passed is gone.
        let start = position - Int(file.offset)
        guard start >= 0 else { return 0 }
        if isOpening {
            // What is far ahead would have to be kept. And behind the samples, libsndfile looks for more chunks of WAVE: a pipe
            // may take hours to get there.
            let isBehindSamples = try file.peek(reached).suffix(8).starts(with: "data".utf8) && position > reached
            guard position + room.count <= Self.maximumHeadLength, !isBehindSamples else { return 0 }
        }
        let bytes = try file.peek(start + room.count).dropFirst(start)
        unsafe room.copyBytes(from: bytes)
        reached = max(reached, position + bytes.count)
        if !isOpening { _ = try file.skip(UInt64(start + bytes.count)) }
        return bytes.count
    }
}

/// A file or a pipe of audio in any format that libsndfile reads, as blocks of 16-bit PCM: all of it would not fit into a sending
/// process.
@safe struct AudioFile: ~Copyable {
    /// The number of frames in a block, except the last.
    static let framesPerBlock = 1_024

    /// The sample rate and the number of channels.
    let format: AudioBlock.Format

    private let library: UnsafePointer<sndfile>
    private let file: OpaquePointer
    /// What the library reads, and so outlives the file.
    private let input: AudioInput
    private let isWAVE: Bool
    /// The number of frames that the file states; nil if they go on until its end.
    private let statedFrames: Int?
    private var framesRead: Int
    private var samples: [Float]

    /// Opens a file or a pipe, and reads up to the samples.
    init(_ path: String) throws(CommandFailure) {
        let (input, library) = (try AudioInput(path), unsafe try Self.load())
        var info = SF_INFO()
        var file = unsafe try input.open(library, &info)
        let format: AudioBlock.Format
        do {
            format = try AudioBlock.Format(sampleRate: Int(info.samplerate), channels: Int(info.channels))
        } catch {
            _ = unsafe library.pointee.close(file)
            throw input.failure("\(error.message); convert it: ffmpeg -i \(path.shellWord) -ac 2 -ar 48000 audio.wav")
        }
        let kind = Int(info.format) & SF_FORMAT_TYPEMASK
        let isWAVE = [SF_FORMAT_WAV, SF_FORMAT_WAVEX, SF_FORMAT_RF64].contains(kind)
        let byteRate = unsafe Int(library.pointee.current_byterate(file))
        let isCompressed = byteRate <= 0 || !byteRate.isMultiple(of: format.sampleRate * format.channels)
        let bytesPerFrame = isCompressed ? 0 : byteRate / format.sampleRate
        let statedFrames = Self.stated(Int(info.frames), bytesPerFrame, isWAVE: isWAVE)
        if isWAVE, !isCompressed, statedFrames == nil {
            // libsndfile would end where the placeholder says.
            _ = unsafe library.pointee.close(file)
            unsafe file = unsafe try input.open(library, &info)
        }
        input.isOpening = false
        unsafe (self.input, self.library, self.file) = unsafe (input, library, file)
        (self.format, self.isWAVE, self.statedFrames, framesRead) = (format, isWAVE, statedFrames, 0)
        samples = [Float](repeating: 0, count: Self.framesPerBlock * format.channels)
    }

    deinit { _ = unsafe library.pointee.close(file) }

    private static func load() throws(CommandFailure) -> UnsafePointer<sndfile> {
        if let library = unsafe sndfile_load() { return unsafe library }
        let reason = unsafe dlerror().map { unsafe String(cString: $0) } ?? "no reason"
        #if os(Linux)
            let command = "apt-get install libsndfile1"
        #else
            let command = "brew install libsndfile"
        #endif
        throw CommandFailure(.unavailable, "--audio requires libsndfile (\(reason)); install it: \(command)")
    }

    /// The number of frames that a file states, of so many bytes each, or 0 if they are compressed; nil if that is a placeholder.
    ///
    /// A program that writes to a pipe has to state a size before it knows it, and programs differ: 0x7FFFF000 (sox), 0x80000000
    /// (arecord), 0xFFFFFFFF (ffmpeg) or 0, and some subtract the header.
    private static func stated(_ frames: Int, _ bytesPerFrame: Int, isWAVE: Bool) -> Int? {
        guard frames <= AudioInput.unknownLength >> 5, frames > 0 || !isWAVE else { return nil }
        // Compressed, it is not known to the byte; this is four hours.
        if isWAVE, bytesPerFrame == 0, frames > 0x3000_0000 { return nil }
        let placeholders = [0x7F00_0000, 0x8000_0000, 0xFFFF_FFFF]
        return placeholders.contains { abs($0 - frames * bytesPerFrame) <= 0x1_0000 } ? nil : frames
    }

    /// The next block, with the time of its first frame since that of the file; nil at the end.
    mutating func next() throws(CommandFailure) -> AudioBlock? {
        // At the end of a pipe, libsndfile decodes the last compressed block of a WAVE file again and again.
        let count = isWAVE && input.isExhausted ? 0 : read()
        if let failure = input.failure { throw failure }
        // What precedes an error is returned first.
        guard count > 0 else {
            if unsafe Int(library.pointee.error(file)) != SF_ERR_NO_ERROR {
                let message = unsafe library.pointee.strerror(file).map { unsafe String(cString: $0) }
                throw input.failure("after \(framesRead) frames: \(message ?? "unknown error")")
            }
            guard framesRead >= statedFrames ?? 0 else {
                throw input.failure("it ends within its samples, after \(framesRead) frames")
            }
            guard framesRead > 0 else { throw input.failure("it has no samples") }
            return nil
        }
        let time = format.nanoseconds(inFrames: framesRead)
        framesRead += count
        // The nearest of 16 bits; one of 16 bits is itself.
        let part = samples.prefix(count * format.channels).map { sample in
            sample.isNaN ? 0 : Int16(max(-32_768, min((sample * 32_768).rounded(), 32_767)))
        }
        do {
            return try AudioBlock(format: format, timestamp: time, samples: part)
        } catch {
            throw input.failure(error.message)
        }
    }

    /// Reads as many whole frames as fit, fewer at the end, as numbers from -1 to 1; returns how many.
    private mutating func read() -> Int {
        unsafe samples.withUnsafeMutableBufferPointer {
            unsafe max(0, Int(library.pointee.readf_float(file, $0.baseAddress, sf_count_t(Self.framesPerBlock))))
        }
    }
}
