import FrameSocket
import JPEGStreams
import Locking
import PNGReading

/// The files that a command names.
enum InputFiles {
    /// The file name extensions that are picked from a directory.
    private static let extensions = [".jpg", ".jpeg", ".jpe", ".jfif", ".png"]

    static func unreadable(_ path: String, _ failure: CommandFailure) -> CommandFailure {
        failure.systemError == ENOENT ? CommandFailure(.noInput, "\(path): no such file") : failure
    }

    /// Returns the files that `paths` name: files themselves, and the images in directories, in the order of ``FilePath``.
    ///
    /// Of a directory, hidden files are left out, such as those in which macOS keeps what other systems cannot, and what is
    /// not a file: other directories and pipes. Of several paths, one that cannot be read is returned as a file, which fails
    /// when it is its turn.
    static func expand(_ paths: [String]) throws(CommandFailure) -> [FilePath] {
        var files: [FilePath] = []
        for path in paths {
            do throws(CommandFailure) {
                guard Files.isDirectory(path) else {
                    try Files.checkExists(path)
                    files.append(FilePath(path))
                    continue
                }
                let entries = try Files.entries(in: path).filter { entry in
                    !entry.text.hasPrefix(".") && extensions.contains { entry.text.lowercased().hasSuffix($0) }
                }
                files += entries.map { FilePath(path).appending($0) }.filter(Files.mayBeRegular)
            } catch {
                guard paths.count > 1 else { throw unreadable(path, error) }
                files.append(FilePath(path))
            }
        }
        guard !files.isEmpty else {
            throw CommandFailure(.noInput, "no images in \(paths.joined(separator: ", "))")
        }
        return files
    }
}

/// An image to send.
struct InputImage: Sendable {
    /// The image as it was read.
    enum Content: Sendable {
        case jpeg([UInt8])
        case pixels(PixelBuffer)
    }

    /// Images behind the first of a file.
    struct Omission: Sendable {
        /// Where the next one begins.
        let offset: Int
        /// What sends all of them.
        let command: String
    }

    /// Where it comes from.
    private enum Origin {
        case file(String)
        /// The stream, with its number there.
        case stream(Int)
    }

    private let origin: Origin
    private(set) var content: Content
    /// Whether a JPEG of a stream had its end marker.
    private(set) var isComplete = true
    /// Whether zeros followed a JPEG of a stream without its end marker, of which the first may belong to it.
    private var isBeforeZeros = false
    /// The version of the image's file; nil for one of a stream or a pipe.
    private(set) var version: Files.Version?
    /// What is not sent of the image's file.
    private(set) var omission: Omission?

    /// An image of raw video.
    init(frame: Int, _ pixels: PixelBuffer) {
        (origin, content) = (.stream(frame), .pixels(pixels))
    }

    /// Its name in error messages.
    var name: String {
        switch origin {
        case .file(let path): path
        case .stream(let index): "frame \(index)"
        }
    }

    /// Reads a file: JPEG or PNG, detected from its first bytes and not from its name.
    ///
    /// Its pixels, if any, are in memory of `pool`, and those of a PNG over a background, or with their alpha.
    init(
        file path: FilePath,
        over background: PNGBackground?,
        pool: PixelBuffer.Pool
    ) throws(CommandFailure) {
        let name = path.text
        origin = .file(name)
        version = Files.Version(of: path)
        let kind: FileKind
        let bytes: [UInt8]
        do throws(CommandFailure) {
            let file = try InputFile(path)
            kind = FileKind(try file.peek(FileKind.byteCount))
            // A film may be larger than the memory, and a pipe endless; what else is no image may be a stream of JPEGs.
            let limit =
                switch kind {
                case .jpeg, .png: Files.maximumByteCount
                case .unknown: JPEGStreamReader.maximumImageByteCount
                case .empty, .foreign: 0
                }
            bytes = try Files.contents(of: file, atMost: limit)
        } catch {
            throw InputFiles.unreadable(name, error)
        }
        switch kind {
        case .jpeg, .png: break
        case .empty: throw CommandFailure(.badData, "\(name): the file is empty")
        case .foreign(let format):
            let reason =
                kind.video(in: name).map { "no image file, but \($0)" }
                ?? "\(format) files are not supported; convert it to JPEG or PNG"
            throw CommandFailure(.badData, "\(name): \(reason)")
        case .unknown:
            // A stream of them, such as multipart/x-mixed-replace.
            let remedy =
                FurtherImage.hasJPEG(bytes)
                ? ", but a stream of JPEGs; send it with \(kind.commandForAll(in: name))" : ""
            throw CommandFailure(.badData, "\(name): not a JPEG or PNG file\(remedy)")
        }
        let slice = bytes[...]
        let end: Int?
        do throws(TurboJPEGError) {
            if case .png = kind {
                content = .pixels(try PixelBuffer(png: slice.span, over: background, pool: pool))
                end = FurtherImage.endOfPNG(bytes) ?? bytes.count
            } else {
                // Checked here, so that an image that is sent unchanged has at least a size.
                _ = try JPEGHeader.size(of: slice.span)
                content = .jpeg(bytes)
                end = JPEGHeader.endOfImage(in: slice.span)
            }
        } catch {
            // libpng's own message says more.
            let detail = error.libraryMessage.map { "\(error.message) (libpng: \($0))" } ?? error.message
            throw CommandFailure(ExitCode(error), "\(name): \(kind.isPNG ? detail : "\(error)")")
        }
        omission = FurtherImage.offset(in: bytes, kind, behind: end).map { offset in
            Omission(offset: offset, command: kind.commandForAll(in: path.text))
        }
    }

    /// The image of a stream.
    init(frame: Int, _ image: JPEGStreamImage) {
        (origin, content) = (.stream(frame), .jpeg(image.bytes))
        (isComplete, isBeforeZeros) = (image.isComplete, image.isBeforeZeros)
    }

    /// The failure of a command that was to send video and read none, which looks as if all were well to whoever does not check how
    /// the program in front of it ended.
    static func missing(_ reason: String) -> CommandFailure {
        CommandFailure(.badData, "no image on standard input: \(reason); did the program that writes it fail?")
    }

    /// The pixels; those of a JPEG, which may deviate from the format if `isLenient`, are decoded into memory of `pool`.
    ///
    /// From then on, the content of a JPEG without an end marker is what could be decoded.
    mutating func pixels(_ pool: PixelBuffer.Pool, isLenient: Bool) throws(CommandFailure) -> PixelBuffer {
        switch content {
        case .pixels(let pixels): return pixels
        case .jpeg(let jpeg):
            var decoder = JPEGDecoder(pool: pool)
            decoder.limits = .ownFiles
            decoder.limits.acceptsDeviations = isLenient
            let bytes = jpeg[...]
            do {
                return try decoder.decode(bytes.span, as: .bgrx)
            } catch {
                let failure = CommandFailure(.badData, "\(name): \(error.advice)")
                guard isBeforeZeros else { throw failure }
                let whole = Array(bytes.dropLast(2) + [0] + bytes.suffix(2))
                let again = whole[...]
                guard let pixels = try? decoder.decode(again.span, as: .bgrx) else { throw failure }
                content = .jpeg(whole)
                return pixels
            }
        }
    }
}

/// The kind of a file, detected from its first bytes.
enum FileKind {
    case jpeg
    case png
    case empty
    /// A format that is not supported, with its name.
    case foreign(String)
    case unknown

    var isPNG: Bool {
        if case .png = self { true } else { false }
    }

    /// The number of bytes that tell one kind from another.
    static let byteCount = 16

    init(_ bytes: some Sequence<UInt8>) {
        let start = Array(bytes.prefix(Self.byteCount))
        let format = Self.formats.first { format in
            let signature = format.signature.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
            return start.dropFirst(format.offset).starts(with: signature)
        }
        self =
            switch format?.name {
            case "JPEG": .jpeg
            case "PNG": .png
            case let name?: .foreign(name)
            case nil: start.isEmpty ? .empty : .unknown
            }
    }

    /// What a stream on standard input is, and what to do with it, if it is no stream of JPEGs; nil if it may be one.
    var isNoStream: String? {
        switch self {
        case .jpeg, .empty, .unknown: nil
        case .png: "PNG images; convert them with ffmpeg -f image2pipe -c:v png -i - -c:v mjpeg -q:v 2 -f mjpeg -"
        case .foreign where video(in: "-") != nil: video(in: "-")
        case .foreign(let name): "\(name), which is not supported; convert it to JPEG"
        }
    }

    /// What a file of video is, and how to send it, or standard input (`-`); nil for other kinds.
    func video(in path: String) -> String? {
        let word = path.shellWord
        let (file, sending) = path == "-" ? ("", "") : (" PATH \(word)", " | framesocket send PATH -")
        switch self {
        case .foreign("Y4M"): return "Y4M video; send it with framesocket send PATH -\(path == "-" ? "" : " < \(word)")"
        case .foreign("Matroska"):
            return
                "a Matroska file; send it with framesocket replay\(file), or convert it with ffmpeg -i \(word) -c:v mjpeg "
                + "-q:v 2 -f mjpeg -\(sending)"
        case .foreign(let name) where Self.containers.contains(name):
            return
                "\(name); if its video is Motion JPEG, take it out with ffmpeg -i \(word) -c:v copy -f mjpeg -\(sending)"
        case .jpeg, .png, .empty, .foreign, .unknown: return nil
        }
    }

    /// The command that sends every image of a file that holds several of this kind.
    func commandForAll(in path: String) -> String {
        guard isPNG else { return "framesocket send PATH - < \(path.shellWord)" }
        return
            "ffmpeg -f image2pipe -c:v png -i \(path.shellWord) -c:v mjpeg -q:v 2 -f mjpeg - | framesocket send PATH -"
    }

    private static let containers = ["AVI", "MP4", "QuickTime", "FLV", "Ogg"]

    /// What files begin with, a byte for each character.
    private static let formats: [(signature: String, offset: Int, name: String)] =
        [
            ("\u{FF}\u{D8}", 0, "JPEG"), ("\u{89}PNG\r\n\u{1A}\n", 0, "PNG"), ("YUV4MPEG2", 0, "Y4M"),
            ("GIF8", 0, "GIF"), ("WEBP", 8, "WebP"), ("BM", 0, "BMP"), ("%PDF", 0, "PDF"), ("qoif", 0, "QOI"),
            ("ftypavif", 4, "AVIF"), ("ftyphei", 4, "HEIF"), ("ftypmif1", 4, "HEIF"), ("ftypqt", 4, "QuickTime"),
            ("ftyp", 4, "MP4"), ("moov", 4, "QuickTime"), ("mdat", 4, "QuickTime"), ("wide", 4, "QuickTime"),
            ("AVI ", 8, "AVI"), ("FLV\u{1}", 0, "FLV"), ("OggS", 0, "Ogg"), ("<svg", 0, "SVG"), ("<?xml", 0, "XML"),
            ("JXL ", 4, "JPEG XL"), ("II*\0", 0, "TIFF"), ("MM\0*", 0, "TIFF"), ("\u{1A}E\u{DF}\u{A3}", 0, "Matroska"),
        ] + (1...7).map { ("P\($0)", 0, "PNM") }
}

/// An image behind the first of a file, which `send` does not send: programs write several into one file, and cameras append
/// previews that nobody wants to see as a frame.
enum FurtherImage {
    /// The offset of an image that begins at or behind `end`, where the first one ends.
    ///
    /// Images that a JPEG lists itself (multi-picture format) belong to it, as on standard input.
    ///
    /// - Parameters:
    ///   - bytes: The file.
    ///   - kind: The kind of its first image.
    ///   - end: Where the first image ends; nil if only the search can tell.
    /// - Returns: The offset; nil if there is no other image.
    static func offset(in bytes: [UInt8], _ kind: FileKind, behind end: Int?) -> Int? {
        guard end.map({ $0 < bytes.count }) ?? true else { return nil }
        if let end, let offset = nextPNG(in: bytes, from: end) { return offset }
        guard case .jpeg = kind else { return nil }
        return firstJPEG(in: bytes, from: end ?? 1)
    }

    /// Whether there is a JPEG somewhere.
    static func hasJPEG(_ bytes: [UInt8]) -> Bool { firstJPEG(in: bytes, from: 0) != nil }

    private static func firstJPEG(in bytes: [UInt8], from end: Int) -> Int? {
        var reader = JPEGStreamReader()
        // Without a copy.
        reader.fill { $0 = bytes }
        reader.finish()
        while let part = reader.next() {
            if case .image = part.content, part.offset >= end { return part.offset }
        }
        return nil
    }

    /// Where a PNG ends; nil if its chunks do not lead to an end.
    static func endOfPNG(_ bytes: [UInt8]) -> Int? {
        var offset = 8
        while offset + 12 <= bytes.count {
            let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
            let isLast = bytes[offset + 4..<offset + 8].elementsEqual("IEND".utf8)
            offset += 12 + length
            if isLast { return offset }
        }
        return nil
    }

    /// The offset of a PNG that nothing but padding separates from the first image.
    private static func nextPNG(in bytes: [UInt8], from end: Int) -> Int? {
        let rest = bytes[end...].drop { $0 == 0 || $0 == 0x20 || (0x09...0x0D).contains($0) }
        guard FileKind(rest).isPNG else { return nil }
        return rest.startIndex
    }
}

/// Checks JPEGs that are to be sent unchanged, as a receiver with the default limits does, or with lenient ones.
final class PassthroughCheck: Sendable {
    /// The versions of files that passed: each is decoded once, however often it is sent.
    private let good = Locked<[String: Files.Version?]>([:])
    private let decoder: JPEGDecoder

    init(isLenient: Bool) {
        // A receiver's limits, and no more pixels than are needed to show that the JPEG can be decoded.
        var decoder = JPEGDecoder(pool: PixelBuffer.Pool(maximumIdleImages: 1))
        decoder.limits.acceptsDeviations = isLenient
        self.decoder = decoder
    }

    /// Returns the JPEG up to its end: receivers reject what cameras append, and padding beyond the size of a short body.
    static func trimmed(_ jpeg: [UInt8]) -> [UInt8] {
        let bytes = jpeg[...]
        guard let end = JPEGHeader.endOfImage(in: bytes.span), end < jpeg.count else { return jpeg }
        return Array(jpeg[..<end])
    }

    /// Checks that receivers accept the JPEG.
    ///
    /// - Throws: a failure that names the file and the reason.
    func check(_ jpeg: [UInt8], of image: InputImage) throws(CommandFailure) {
        let (name, version) = (image.name, image.version)
        if good.withLock({ $0[name] == .some(version) }) { return }
        if let complaint = FrameMessageDecoder.Limits().complaint(byteCount: jpeg.count) {
            throw CommandFailure(.badData, "\(name): \(complaint)")
        }
        do {
            let bytes = jpeg[...]
            _ = try decoder.decode(bytes.span, as: .gray)
        } catch {
            throw CommandFailure(
                .badData,
                "\(name): \(error.advice); receivers reject it, use --force to send it anyway"
            )
        }
        good.withLock { $0[name] = .some(version) }
    }
}

extension FrameMessageDecoder.Limits {
    /// Why receivers with these limits reject an image of that size; nil if they accept it.
    func complaint(width: Int, height: Int) -> String? {
        let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
        guard max(width, height) > maximumDimension || overflow || pixels > maximumPixels else { return nil }
        return
            "\(width)x\(height) pixels; receivers accept at most \(maximumPixels) pixels and \(maximumDimension) per side"
    }

    /// Why receivers with these limits reject a JPEG of so many bytes; nil if they accept it.
    func complaint(byteCount: Int) -> String? {
        guard byteCount > maximumContentLength else { return nil }
        return "\(byteCount) bytes; receivers accept at most \(maximumContentLength)"
    }
    /// The size that a JPEG states, if receivers with these limits accept it.
    func size(of jpeg: [UInt8], named name: String, _ advice: String = "") throws(CommandFailure) -> BufferSize {
        let size: (width: Int, height: Int)
        do {
            let bytes = jpeg[...]
            size = try JPEGHeader.size(of: bytes.span)
        } catch {
            throw CommandFailure(.badData, "\(name): \(error)")
        }
        if let complaint = complaint(width: size.width, height: size.height) ?? complaint(byteCount: jpeg.count) {
            throw CommandFailure(.badData, "\(name): \(complaint)\(advice)")
        }
        return BufferSize(width: size.width, height: size.height)
    }
}
