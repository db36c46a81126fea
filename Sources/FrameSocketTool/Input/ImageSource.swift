import FrameSocket
import JPEGStreams
import PNGReading

/// Produces the images of one command, one after another.
///
/// Reading blocks, so it happens on a thread of the command's own and never on Swift's pool.
protocol ImageSource {
    /// Returns the next image; nil at the end.
    ///
    /// - Parameter makeRoom: Called when there is another image, and before memory is taken for it.
    /// - Returns: The image, or nil.
    /// - Throws: A failure if the image cannot be read.
    mutating func next(_ makeRoom: () -> Void) throws(CommandFailure) -> InputImage?

    /// How many images there are; nil if that is unknown.
    var count: Int? { get }

    /// Skips the latest image from now on, because it cannot be read or sent; returns false if there can be no other.
    mutating func skipLast() -> Bool
}

extension ImageSource {
    var count: Int? { nil }

    mutating func skipLast() -> Bool { false }
}

/// The images of files, as many times as requested; a file that has changed since is read again.
struct FileSource: ImageSource {
    /// The files, without those found to be unusable.
    private var paths: [FilePath]
    private let hasSeveral: Bool
    private let background: PNGBackground
    private var loopsLeft: Int
    let count: Int?
    private var index = 0
    /// Memory for images, reused from one to the next.
    private let pool = PixelBuffer.Pool(maximumIdleImages: 1)
    /// The image read last, kept for a file that is sent many times.
    private var last: InputImage?
    private var lastPath: FilePath?

    /// Creates a source; transparent pixels are shown over `background`.
    init(_ paths: [FilePath], loops: Int, over background: PNGBackground) {
        self.paths = paths
        self.background = background
        hasSeveral = paths.count > 1
        loopsLeft = loops
        let (count, isEndless) = paths.count.multipliedReportingOverflow(by: loops)
        self.count = isEndless || loops == .max ? nil : count
    }

    mutating func skipLast() -> Bool {
        guard hasSeveral, index > 0 else { return false }
        index -= 1
        paths.remove(at: index)
        last = nil
        return true
    }

    mutating func next(_ makeRoom: () -> Void) throws(CommandFailure) -> InputImage? {
        if index == paths.endIndex {
            index = 0
            loopsLeft -= 1
        }
        guard loopsLeft > 0, !paths.isEmpty else { return nil }
        defer { index += 1 }
        if let last, lastPath == paths[index], last.version == Files.Version(of: paths[index]) { return last }
        last = nil
        makeRoom()
        let image = try InputImage(file: paths[index], over: background, pool: pool)
        (last, lastPath) = (image, paths[index])
        return image
    }
}

/// A stream on standard input that identifies itself: JPEGs, or YUV4MPEG2.
struct StreamSource: ImageSource {
    private let options: RawVideoOptions
    private let isPassthrough: Bool
    private var source: (any ImageSource)?

    init(_ options: RawVideoOptions, isPassthrough: Bool) {
        (self.options, self.isPassthrough) = (options, isPassthrough)
    }

    mutating func skipLast() -> Bool { source?.skipLast() ?? false }

    mutating func next(_ makeRoom: () -> Void) throws(CommandFailure) -> InputImage? {
        if source == nil { source = try begin() }
        guard var source else { return nil }
        defer { self.source = source }
        return try source.next(makeRoom)
    }

    /// Detects the format from the first bytes.
    private func begin() throws(CommandFailure) -> any ImageSource {
        let (input, magic) = (try InputFile("-"), Y4MHeader.magic.utf8)
        guard try input.peek(magic.count).elementsEqual(magic) else {
            if let other = FileKind(try input.peek(FileKind.byteCount)).isNoStream {
                throw CommandFailure(.badData, "standard input has \(other)")
            }
            guard !options.isGiven else {
                throw CommandFailure(
                    .usage,
                    "--range and --matrix require raw video or Y4M, and standard input has neither"
                )
            }
            return MJPEGSource(input)
        }
        guard !isPassthrough else {
            throw CommandFailure(.usage, "--passthrough sends JPEGs unchanged, and standard input has Y4M")
        }
        _ = try input.skip(UInt64(magic.count))
        return try VideoSource(y4m: input, options)
    }
}

/// JPEGs on standard input, one after another, and whatever stands between them.
///
/// Each run of bytes that belongs to none is an error of its own, after which the stream goes on.
struct MJPEGSource: ImageSource {
    private let input: InputFile
    private var reader = JPEGStreamReader()
    private var index = 0
    private var isAtEnd = false
    /// Whether nothing follows the last error.
    private var isOver = false

    init(_ input: InputFile) {
        self.input = input
    }

    mutating func skipLast() -> Bool { !isOver }

    mutating func next(_ makeRoom: () -> Void) throws(CommandFailure) -> InputImage? {
        while true {
            guard let part = reader.next() else {
                guard !isAtEnd, try read() else { break }
                continue
            }
            switch part.content {
            case .image(let image):
                defer { index += 1 }
                makeRoom()
                return InputImage(frame: index, image)
            case .damage:
                let bytes = Format.count(part.byteCount, "byte")
                let verb = part.byteCount == 1 ? "is" : "are"
                throw CommandFailure(
                    .badData,
                    "standard input: \(bytes) at offset \(part.offset) \(verb) part of no JPEG"
                )
            case .padding: continue
            }
        }
        isOver = true
        guard index > 0 else {
            guard reader.byteCount > 0 else { throw InputImage.missing("it is empty") }
            throw CommandFailure(
                .badData,
                "no image on standard input: no JPEG in \(Format.count(reader.byteCount, "byte")); raw video requires "
                    + "--size and --format"
            )
        }
        return nil
    }

    /// Reads once; false if the stream had ended before.
    private mutating func read() throws(CommandFailure) -> Bool {
        do {
            let isMore = try reader.fill { bytes throws(CommandFailure) in try input.read(into: &bytes) }
            if !isMore {
                isAtEnd = true
                reader.finish()
            }
            return true
        } catch {
            isOver = true
            throw error
        }
    }
}
