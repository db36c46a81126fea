internal import CSndFile
import FrameSocket

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
    private let startTime: UInt64
    private var framesRead = 0
    private var samples: [Float]

    /// Opens a file or a pipe, and reads up to the samples; the first one is at `startTime`, in nanoseconds.
    init(_ path: String, startTime: UInt64 = 0) throws(CommandFailure) {
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
        self.startTime = startTime
        samples = [Float](repeating: 0, count: Self.framesPerBlock * format.channels)
    }

    /// The next block, with the time of its first frame; nil at the end.
    mutating func next() throws(CommandFailure) -> AudioBlock? {
        // At the end of a pipe, libsndfile decodes the last compressed block of a WAVE file again and again.
        let count = decoder.isWAVE && input.isExhausted ? 0 : decoder.read(into: &samples)
        if let failure = input.failure { throw CommandFailure(.noInput, failure.message) }
        // What precedes an error is returned first.
        guard count > 0 else {
            if let message = decoder.message { throw input.failure("after \(framesRead) frames: \(message)") }
            guard framesRead >= statedFrames ?? 0 else {
                throw input.failure("it ends within its samples, after \(framesRead) frames")
            }
            guard framesRead > 0 else { throw input.failure("it has no samples") }
            return nil
        }
        let (time, overflow) = startTime.addingReportingOverflow(format.nanoseconds(inFrames: framesRead))
        framesRead += count
        let part = samples.prefix(count * format.channels).map(Self.pcm)
        do {
            return try AudioBlock(format: format, timestamp: overflow ? nil : time, samples: part)
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
            if let failure = input.failure { throw CommandFailure(.noInput, failure.message) }
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
