import FrameSocket

/// Reads images of one size and format from standard input.
struct RawReader {
    private let input: InputFile
    private let width: Int
    private let height: Int
    private let format: PixelFormat
    private let color: PixelBuffer.Color
    /// The padding bytes after each row, by plane.
    private let padding: [Int]
    /// How many planes are read; the others are gray.
    private let planeCount: Int
    private let byteCount: Int
    /// The memory of the last image, which its sender has released when the next one is read, unless that image could not
    /// be sent yet.
    private let pool = PixelBuffer.Pool(maximumIdleImages: 1)
    private let converted = PixelBuffer.Pool(maximumIdleImages: 1)

    init(
        _ input: InputFile,
        width: Int,
        height: Int,
        format: PixelFormat,
        color: PixelBuffer.Color,
        _ strides: [Int]? = nil,
        isMono: Bool = false
    ) throws(CommandFailure) {
        (self.input, self.width, self.height, self.format, self.color) = (input, width, height, format, color)
        let sample: PixelBuffer
        do {
            sample = try pool.buffer(width: width, height: height, format: format)
        } catch {
            throw CommandFailure(error.code == .allocationFailed ? .systemError : .usage, "\(error)")
        }
        if let strides { try sample.check(strides) }
        let planes = (0..<(isMono ? 1 : sample.planeCount)).map { sample.plane($0) }
        let rows = strides ?? planes.map(\.visibleBytesPerRow)
        padding = zip(rows, planes).map { $0 - $1.visibleBytesPerRow }
        planeCount = planes.count
        byteCount = zip(rows, planes).reduce(0) { $0 + $1.0 * $1.1.height }
    }

    /// Reads the next image.
    ///
    /// - Parameters:
    ///   - index: The image's number.
    ///   - advice: A question to the user whose input ends within the image.
    ///   - makeRoom: Called when the image begins to arrive, before it is read into memory.
    /// - Returns: The image; nil at the end of the input.
    /// - Throws: A failure if the image cannot be read.
    func read(_ index: Int, advice: String, _ makeRoom: () -> Void) throws(CommandFailure) -> PixelBuffer? {
        do {
            input.wait()
            makeRoom()
            var pixels = try pool.buffer(width: width, height: height, format: format)
            for plane in planeCount..<pixels.planeCount {
                try pixels.withMutablePlane(plane) { bytes in
                    for position in bytes.indices { bytes[position] = 128 }
                }
            }
            let start = input.offset
            try fill(&pixels)
            let count = Int(input.offset - start)
            guard count > 0 else { return nil }
            guard count == byteCount else {
                throw CommandFailure(
                    .badData,
                    "standard input ends in frame \(index) after \(count) of \(byteCount) bytes; \(advice)"
                )
            }
            return try pixels.converted(from: color, pool: converted)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(.badData, "\(error)")
        }
    }

    /// Reads one image, as far as there is one.
    private func fill(_ pixels: inout PixelBuffer) throws {
        for index in 0..<planeCount {
            let plane = pixels.plane(index)
            // In one go if neither side has padding between the rows.
            let isWhole = plane.bytesPerRow == plane.visibleBytesPerRow && padding[index] == 0
            for row in 0..<(isWhole ? 1 : plane.height) {
                let fill = { (bytes: inout MutableSpan<UInt8>) in
                    Result { () throws(CommandFailure) in try input.fill(&bytes) }
                }
                let piece =
                    isWhole
                    ? try pixels.withMutablePlane(index, fill) : try pixels.withMutableRow(row, ofPlane: index, fill)
                guard try piece.get(), try input.skip(UInt64(padding[index])) else { return }
            }
        }
    }
}

/// The first line of a YUV4MPEG2 stream, which states size, rate, subsampling and range of the video.
///
/// The format is that of the mjpegtools (`yuv4mpeg(5)`); the range is in the extension that ffmpeg reads and writes. Some programs
/// state the subsampling in an extension of the mjpegtools only (`XYSCSS`).
struct Y4MHeader: Sendable, Equatable {
    static let magic = "YUV4MPEG2"
    /// The maximum length of the line, without its end.
    static let maximumByteCount = 1024

    var size: BufferSize
    /// The frames per second; nil if the stream does not state them.
    var framesPerSecond: Double?
    /// The range of the samples: limited unless stated otherwise.
    var range: PixelBuffer.Color.Range
    /// Whether there is only luma.
    var isMono = false

    init(size: BufferSize, framesPerSecond: Double?, range: PixelBuffer.Color.Range) {
        (self.size, self.framesPerSecond, self.range) = (size, framesPerSecond, range)
    }

    /// The header as written, with the end of the line.
    var text: String {
        let rate = framesPerSecond.map { " F\(Int(($0 * 1000).rounded())):1000" } ?? ""
        let range = range == .full ? "FULL" : "LIMITED"
        return
            "\(Self.magic) W\(size.width) H\(size.height)\(rate) Ip A1:1 C420jpeg XYSCSS=420JPEG XCOLORRANGE=\(range)\n"
    }

    /// Parses a header, with or without its magic, and without the end of the line.
    ///
    /// - Throws: A failure that says what is not supported.
    init(parsing line: String) throws(CommandFailure) {
        var (width, height) = (0, 0)
        range = .limited
        size = BufferSize(width: 1, height: 1)
        var subsampling: String?
        var extensionSubsampling: String?
        for field in line.split(separator: " ") {
            let value = field.dropFirst()
            switch field.first {
            case "W": width = Int(value) ?? 0
            case "H": height = Int(value) ?? 0
            case "F": framesPerSecond = Self.rate(value)
            case "C": subsampling = String(value)
            case "I" where !["p", "?"].contains(value):
                throw CommandFailure(.badData, "the Y4M video is interlaced (I\(value)); deinterlace it first")
            case "X" where value.hasPrefix("YSCSS="): extensionSubsampling = value.dropFirst(6).lowercased()
            case "X" where value == "COLORRANGE=FULL": range = .full
            case "X" where value == "COLORRANGE=LIMITED": range = .limited
            default: break
            }
        }
        isMono = try Self.isMono(subsampling ?? extensionSubsampling ?? "420")
        guard 1...65_500 ~= width, 1...65_500 ~= height else {
            throw CommandFailure(.badData, "the Y4M header states no size from 1x1 to 65500x65500: \"\(line)\"")
        }
        size = BufferSize(width: width, height: height)
    }

    /// The rest of a line of the stream, without its end; nil if the input has ended before it.
    ///
    /// - Throws: `badData` if the line is too long, or has no end.
    static func line(of input: InputFile) throws(CommandFailure) -> String? {
        let bytes = try input.line(atMost: maximumByteCount)
        let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        guard bytes.last != UInt8(ascii: "\n") else { return line }
        if bytes.isEmpty { return nil }
        guard bytes.count <= maximumByteCount else {
            throw CommandFailure(
                .badData,
                "a line of the Y4M stream on standard input has more than \(maximumByteCount) bytes"
            )
        }
        throw CommandFailure(.badData, "standard input ends within a line of the Y4M stream: \"\(line)\"")
    }

    private static func rate(_ text: Substring) -> Double? {
        let parts = text.split(separator: ":").compactMap { Double($0) }
        guard parts.count == 2, parts[0] > 0, parts[1] > 0 else { return nil }
        return parts[0] / parts[1]
    }

    /// Checks whether there is no chroma; subsamplings that differ from 4:2:0 in more than sample positions are
    /// rejected.
    private static func isMono(_ name: String) throws(CommandFailure) -> Bool {
        if name == "mono" { return true }
        guard ["420", "420jpeg", "420mpeg2", "420paldv"].contains(name) else {
            throw CommandFailure(
                .badData,
                "Y4M format C\(name) is not supported; convert it to 8-bit 4:2:0 (-pix_fmt yuv420p)"
            )
        }
        return false
    }
}
