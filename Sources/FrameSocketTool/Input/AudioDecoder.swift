internal import CSndFile

/// An input that libsndfile has recognized.
@safe struct AudioDecoder: ~Copyable {
    /// What the functions below are called with, and so outlives the file.
    private let input: AudioInput
    private let file: OpaquePointer
    private let info: SF_INFO

    /// Recognizes the format.
    init(_ input: AudioInput) throws(CommandFailure) {
        if let failure = unsafe sndfile_load() {
            let reason = unsafe String(cString: failure)
            throw CommandFailure(
                .unavailable,
                "--audio requires libsndfile (\(reason)); \(Self.installation)"
            )
        }
        var info = SF_INFO()
        let file = unsafe sndfile_open(
            { context in unsafe sf_count_t(AudioDecoder.input(context)?.length ?? 0) },
            { offset, whence, context in
                guard let input = unsafe AudioDecoder.input(context) else { return -1 }
                let origin = whence == SEEK_CUR ? input.position : whence == SEEK_END ? input.length : 0
                return sf_count_t(input.seek(to: Int(offset), from: origin))
            },
            { buffer, count, context in
                let room = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: max(0, Int(count)))
                return unsafe sf_count_t(AudioDecoder.input(context)?.read(into: room) ?? 0)
            },
            { context in unsafe sf_count_t(AudioDecoder.input(context)?.position ?? 0) },
            Unmanaged.passUnretained(input).toOpaque(),
            &info
        )
        guard let file = unsafe file else {
            if let failure = input.failure { throw CommandFailure(.noInput, failure.message) }
            let message = unsafe sndfile_message(nil).map { unsafe String(cString: $0) } ?? "unknown format"
            throw input.failure("not audio that libsndfile reads: \(message)")
        }
        unsafe self.file = unsafe file
        self.input = input
        self.info = info
    }

    deinit {
        unsafe sndfile_close(file)
    }

    var sampleRate: Int { Int(info.samplerate) }

    var channels: Int { Int(info.channels) }

    /// The number of frames that the input states.
    var statedFrames: Int { Int(info.frames) }

    /// The bytes of a frame in the input; 0 if it is compressed.
    var bytesPerFrame: Int {
        unsafe withUnsafePointer(to: info) { unsafe Int(sndfile_bytes_per_sample($0)) } * channels
    }

    /// The library's message about the last error; nil if there is none.
    var message: String? { unsafe sndfile_message(file).map { unsafe String(cString: $0) } }

    /// Reads as many whole frames as fit, fewer at the end, as numbers from -1 to 1; returns how many.
    func read(into samples: inout [Float]) -> Int {
        let frames = samples.count / max(1, channels)
        return unsafe samples.withUnsafeMutableBufferPointer { samples in
            guard let start = samples.baseAddress else { return 0 }
            return unsafe max(0, Int(sndfile_read(file, start, sf_count_t(frames))))
        }
    }

    private static var installation: String {
        #if os(Linux)
            "install it: apt-get install libsndfile1"
        #else
            "install it: brew install libsndfile"
        #endif
    }

    /// What libsndfile hands back to the functions.
    private static func input(_ context: UnsafeMutableRawPointer?) -> AudioInput? {
        unsafe context.map { unsafe Unmanaged<AudioInput>.fromOpaque($0).takeUnretainedValue() }
    }
}
