internal import CSndFile
import FrameSocket

/// The bytes of a file or a pipe of audio, which libsndfile reads at places of its choice.
///
/// A pipe is read once and in order. Its beginning is kept, so that what was read while the format was being recognized can be read
/// again.
final class AudioInput {
    /// The length of what states its own length or none, as it is told to libsndfile, which requires one.
    ///
    /// Samples of 48 kHz stereo take ten weeks to reach it, and half as many bytes of a compressed block still count its blocks in 32 bits.
    static let unknownLength = 1 << 40

    /// The maximum number of bytes that may precede the samples of a pipe.
    static let maximumHeadLength = 16 << 20

    private let file: InputFile
    /// Whether any place can be read at any time.
    private let isSeekable: Bool
    /// How far a pipe has been read.
    private var reached = 0
    /// The place that is libsndfile's 0.
    private var origin = 0
    /// Where libsndfile reads next.
    private var position = 0
    /// Where the input ends for libsndfile.
    private var length: Int
    /// How often libsndfile has read where there was nothing.
    private var emptyReads = 0
    /// Whether the beginning of a pipe is kept, since any of it may be read again.
    var isOpening = true
    /// Whether libsndfile has asked for more samples when there was nothing left.
    private(set) var isExhausted = false
    /// Why reading failed.
    private(set) var failure: CommandFailure?

    /// The path, or what stands for it in messages.
    var path: String { file.name }

    /// Opens a file or a pipe; `-` is standard input.
    init(_ path: String) throws(CommandFailure) {
        file = try InputFile(path)
        var status = stat()
        isSeekable = unsafe fstat(file.descriptor, &status) == 0 && status.kind == S_IFREG
        length = isSeekable ? Int(status.st_size) : Self.unknownLength
        let start = try file.peek(4)
        guard !start.isEmpty else { throw failure("the file is empty") }
        // libsndfile would cut what these state before their samples to what is there, and hide that something is missing.
        let kinds = ["RIFF", "RIFX", "RF64", ".snd", "FORM", "caff"]
        if kinds.contains(where: { start.elementsEqual($0.utf8) }) { length = Self.unknownLength }
    }

    func failure(_ reason: String) -> CommandFailure { CommandFailure(.badData, "\(path): \(reason)") }

    /// Makes the place where libsndfile would read next the beginning of an input without an end.
    func beginHere() {
        origin = position
        length = Self.unknownLength
    }

    /// Begins again with a length that libsndfile can express in samples of any kind; returns false if it has that already.
    ///
    /// It counts the compressed samples of WAVE in 32 bits, and refuses more, although there are only the stated ones.
    func shorten() -> Bool {
        guard length == Self.unknownLength, failure == nil else { return false }
        (length, position, emptyReads) = (1 << 30, 0, 0)
        return true
    }

    // MARK: What libsndfile calls

    /// Functions whose context is an input.
    static let functions = unsafe SF_VIRTUAL_IO(
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
        if done == 0 {
            emptyReads += 1
            isExhausted = isExhausted || !isOpening
        }
        return done
    }

    private func readFile(into room: UnsafeMutableRawBufferPointer) throws(CommandFailure) -> Int {
        var done = 0
        while done < room.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[done...])
            let count = unsafe pread(file.descriptor, rest.baseAddress, rest.count, off_t(position + done))
            if count == 0 { break }
            if count < 0, errno != EINTR { throw CommandFailure(.noInput, on: path) }
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
struct AudioFile: ~Copyable {
    /// The number of frames in a block, except the last.
    static let framesPerBlock = 1_024

    /// The sample rate and the number of channels.
    let format: AudioBlock.Format

    private let input: AudioInput
    private let decoder: AudioDecoder
    /// The number of frames that the file states; nil if they go on until its end.
    private let statedFrames: Int?
    private var framesRead = 0
    private var samples: [Float]

    /// Opens a file or a pipe, and reads up to the samples.
    init(_ path: String) throws(CommandFailure) {
        let input = try AudioInput(path)
        var decoder = try AudioDecoder(input)
        let format: AudioBlock.Format
        do {
            format = try AudioBlock.Format(sampleRate: decoder.sampleRate, channels: decoder.channels)
        } catch {
            throw input.failure("\(error.message); convert it: ffmpeg -i \(path.shellWord) -ac 2 -ar 48000 audio.wav")
        }
        let statedFrames = decoder.statedFrames
        if decoder.isWAVE, decoder.bytesPerFrame > 0, statedFrames == nil {
            // libsndfile would end where the placeholder says.
            input.beginHere()
            decoder = try AudioDecoder(input, samplesOf: decoder.info)
        }
        input.isOpening = false
        self.format = format
        self.input = input
        self.decoder = decoder
        self.statedFrames = statedFrames
        samples = [Float](repeating: 0, count: Self.framesPerBlock * format.channels)
    }

    /// The next block, with the time of its first frame since that of the file; nil at the end.
    mutating func next() throws(CommandFailure) -> AudioBlock? {
        // At the end of a pipe, libsndfile decodes the last compressed block of a WAVE file again and again.
        let count = decoder.isWAVE && input.isExhausted ? 0 : decoder.read(into: &samples)
        if let failure = input.failure { throw failure }
        // What precedes an error is returned first.
        guard count > 0 else {
            if let message = decoder.message { throw input.failure("after \(framesRead) frames: \(message)") }
            guard framesRead >= statedFrames ?? 0 else {
                throw input.failure("it ends within its samples, after \(framesRead) frames")
            }
            guard framesRead > 0 else { throw input.failure("it has no samples") }
            return nil
        }
        let time = format.nanoseconds(inFrames: framesRead)
        framesRead += count
        let part = samples.prefix(count * format.channels).map(Self.pcm)
        do {
            return try AudioBlock(format: format, timestamp: time, samples: part)
        } catch {
            throw input.failure(error.message)
        }
    }

    /// The nearest 16-bit sample; one of 16 bits is itself.
    private static func pcm(_ sample: Float) -> Int16 {
        let scaled = (sample * 32_768).rounded()
        // Not a number compares as false.
        guard scaled > -32_768 else { return scaled <= -32_768 ? .min : 0 }
        return scaled < 32_767 ? Int16(scaled) : .max
    }
}

/// An input that libsndfile has recognized.
@safe private struct AudioDecoder: ~Copyable {
    let info: SF_INFO

    private let library: UnsafePointer<sndfile>
    /// What the library reads, and so outlives the file.
    private let input: AudioInput
    private let file: OpaquePointer

    /// Recognizes the format; or, with the values of a format that was recognized, reads its samples from the beginning of the input.
    init(_ input: AudioInput, samplesOf known: SF_INFO? = nil) throws(CommandFailure) {
        guard let library = unsafe sndfile_load() else {
            let reason = unsafe dlerror().map { unsafe String(cString: $0) } ?? "no reason"
            throw CommandFailure(.unavailable, "--audio requires libsndfile (\(reason)); \(Self.installation)")
        }
        var info = known ?? SF_INFO()
        let samples = Int(info.format) & (SF_FORMAT_SUBMASK | SF_FORMAT_ENDMASK)
        if known != nil { info.format = Int32(SF_FORMAT_RAW | samples) }
        var functions = AudioInput.functions
        let context = unsafe Unmanaged.passUnretained(input).toOpaque()
        var file = unsafe library.pointee.open_virtual(&functions, Int32(SFM_READ), &info, context)
        if unsafe file == nil, known == nil, input.shorten() {
            unsafe file = unsafe library.pointee.open_virtual(&functions, Int32(SFM_READ), &info, context)
        }
        guard let file = unsafe file else {
            if let failure = input.failure { throw failure }
            let message = unsafe library.pointee.strerror(nil).map { unsafe String(cString: $0) } ?? "unknown format"
            throw input.failure("not audio that libsndfile reads: \(message)")
        }
        unsafe self.library = unsafe library
        unsafe self.file = unsafe file
        self.input = input
        self.info = info
    }

    deinit {
        _ = unsafe library.pointee.close(file)
    }

    var sampleRate: Int { Int(info.samplerate) }

    var channels: Int { Int(info.channels) }

    var isWAVE: Bool {
        [SF_FORMAT_WAV, SF_FORMAT_WAVEX, SF_FORMAT_RF64].contains(Int(info.format) & SF_FORMAT_TYPEMASK)
    }

    /// The bytes of a frame in the input; 0 if it is compressed.
    var bytesPerFrame: Int {
        let bytes = unsafe Int(library.pointee.current_byterate(file))
        return bytes > 0 && bytes.isMultiple(of: sampleRate * channels) ? bytes / sampleRate : 0
    }

    /// The number of frames that the input states; nil if that is a placeholder.
    ///
    /// A program that writes to a pipe has to state a size before it knows it, and programs differ: 0x7FFFF000 (sox), 0x80000000
    /// (arecord), 0xFFFFFFFF (ffmpeg) or 0, and some subtract the header.
    var statedFrames: Int? {
        let frames = Int(info.frames)
        guard frames <= AudioInput.unknownLength >> 5, frames > 0 || !isWAVE else { return nil }
        // Compressed, it is not known to the byte; this is four hours.
        if isWAVE, bytesPerFrame == 0, frames > 0x3000_0000 { return nil }
        let size = frames * bytesPerFrame
        let placeholders = [0x7F00_0000, 0x8000_0000, 0xFFFF_FFFF]
        return placeholders.contains { abs($0 - size) <= 0x1_0000 } ? nil : frames
    }

    /// The library's message about the last error; nil if there is none.
    var message: String? {
        guard unsafe Int(library.pointee.error(file)) != SF_ERR_NO_ERROR else { return nil }
        return unsafe library.pointee.strerror(file).map { unsafe String(cString: $0) }
    }

    /// Reads as many whole frames as fit, fewer at the end, as numbers from -1 to 1; returns how many.
    func read(into samples: inout [Float]) -> Int {
        let frames = sf_count_t(samples.count / max(1, channels))
        return unsafe samples.withUnsafeMutableBufferPointer {
            unsafe max(0, Int(library.pointee.readf_float(file, $0.baseAddress, frames)))
        }
    }

    private static var installation: String {
        #if os(Linux)
            "install it: apt-get install libsndfile1"
        #else
            "install it: brew install libsndfile"
        #endif
    }
}
