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
    private let isWAVE: Bool
    private let startTime: UInt64
    private var framesRead = 0
    private var samples: [Float]

    /// Opens a file or a pipe, and reads up to the samples; the first one is at `startTime`, in nanoseconds.
    init(_ path: String, startTime: UInt64 = 0) throws(CommandFailure) {
        let input = try AudioInput(path)
        guard try !input.prefix(1).isEmpty else { throw input.failure("the file is empty") }
        let header = try WAVEHeader(of: input)
        if let header {
            input.length = header.byteCount.map { header.offset + $0 } ?? AudioInput.unknownLength
        } else if try Self.statesLengthFirst(input) {
            // libsndfile would cut what is stated to what is there, and hide that something is missing.
            input.length = AudioInput.unknownLength
        }
        let decoder = try AudioDecoder(input)
        do {
            format = try AudioBlock.Format(sampleRate: decoder.sampleRate, channels: decoder.channels)
        } catch {
            throw input.failure("\(error.message); convert it: ffmpeg -i \(path.shellWord) -ac 2 -ar 48000 audio.wav")
        }
        self.input = input
        self.startTime = startTime
        isWAVE = header != nil
        statedFrames = header == nil ? Self.statedFrames(decoder) : nil
        samples = [Float](repeating: 0, count: Self.framesPerBlock * format.channels)
        self.decoder = decoder
        input.isOpening = false
    }

    /// The next block, with the time of its first frame; nil at the end.
    mutating func next() throws(CommandFailure) -> AudioBlock? {
        // At the end of a pipe, libsndfile decodes the last compressed block of a WAVE file again and again.
        let count = isWAVE && input.isExhausted ? 0 : decoder.read(into: &samples)
        if let failure = input.failure { throw CommandFailure(.noInput, failure.message) }
        // What precedes an error is returned first.
        guard count > 0 else {
            try checkEnd()
            return nil
        }
        let (time, overflow) = startTime.addingReportingOverflow(format.nanoseconds(inFrames: framesRead))
        framesRead += count
        let part = samples.prefix(count * format.channels).map(Self.pcm)
        return AudioBlock(format: format, timestamp: overflow ? nil : time, wholeFrames: part)
    }

    /// Throws if the input ended too early.
    private func checkEnd() throws(CommandFailure) {
        if let message = decoder.message { throw input.failure("after \(framesRead) frames: \(message)") }
        let isCut = statedFrames.map { framesRead < $0 } ?? (input.isCut && input.length < AudioInput.unknownLength)
        guard !isCut else { throw input.failure("it ends within its samples, after \(framesRead) frames") }
        guard framesRead > 0 else { throw input.failure("it has no samples") }
    }

    /// The nearest 16-bit sample; one of 16 bits is itself.
    private static func pcm(_ sample: Float) -> Int16 {
        let scaled = (sample * 32_768).rounded()
        // Not a number compares as false.
        guard scaled > -32_768 else { return scaled <= -32_768 ? .min : 0 }
        return scaled < 32_767 ? Int16(scaled) : .max
    }

    // MARK: Opening

    /// Whether the format, not being WAVE, states the length of its samples before them: AU, AIFF or CAF.
    private static func statesLengthFirst(_ input: AudioInput) throws(CommandFailure) -> Bool {
        let start = try input.prefix(4)
        return [".snd", "FORM", "caff"].contains { start.elementsEqual($0.utf8) }
    }

    /// The number of frames that a format other than WAVE states; nil if that is a placeholder.
    private static func statedFrames(_ decoder: borrowing AudioDecoder) -> Int? {
        let frames = decoder.statedFrames
        let isUnknown =
            frames > AudioInput.unknownLength >> 5 || WAVEHeader.isPlaceholder(frames * decoder.bytesPerFrame)
        return isUnknown ? nil : frames
    }
}
