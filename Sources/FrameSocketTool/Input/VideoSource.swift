import FrameSocket

/// Raw video on standard input, whose images follow each other at once, or YUV4MPEG2, which describes itself.
struct VideoSource: ImageSource {
    private let input: InputFile
    /// The first line of Y4M as it was read, without its magic and its end; nil for raw video.
    private let header: String?
    private let size: BufferSize
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
    private var index = 0

    /// Reads raw video of one size and format.
    init(width: Int, height: Int, format: PixelFormat, _ options: RawVideoOptions) throws(CommandFailure) {
        try self.init(
            InputFile("-"),
            size: BufferSize(width: width, height: height),
            format: format,
            color: options.color(orElse: .jpeg),
            strides: options.strides
        )
    }

    /// Continues a stream whose magic has been read.
    init(y4m input: InputFile, _ options: RawVideoOptions) throws(CommandFailure) {
        guard let line = try Y4MHeader.line(of: input) else {
            throw CommandFailure(.badData, "standard input ends within the first line of the Y4M stream")
        }
        let header = try Y4MHeader(parsing: line)
        let color = options.color(orElse: PixelBuffer.Color(range: header.range, matrix: .bt601))
        try self.init(input, line, size: header.size, format: .i420, color: color, isMono: header.isMono)
    }

    private init(
        _ input: InputFile,
        _ header: String? = nil,
        size: BufferSize,
        format: PixelFormat,
        color: PixelBuffer.Color,
        strides: [Int]? = nil,
        isMono: Bool = false
    ) throws(CommandFailure) {
        (self.input, self.header, self.size, self.format, self.color) = (input, header, size, format, color)
        let sample: PixelBuffer
        do {
            sample = try pool.buffer(width: size.width, height: size.height, format: format)
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

    mutating func next(_ makeRoom: () -> Void) throws(CommandFailure) -> InputImage? {
        if header != nil {
            guard let line = try Y4MHeader.line(of: input) else { return try end() }
            guard line == "FRAME" || line.hasPrefix("FRAME ") else {
                throw CommandFailure(.badData, "the Y4M stream has no frame header where frame \(index) should begin")
            }
        }
        do {
            input.wait()
            makeRoom()
            var pixels = try pool.buffer(width: size.width, height: size.height, format: format)
            for plane in planeCount..<pixels.planeCount {
                try pixels.withMutablePlane(plane) { bytes in
                    for position in bytes.indices { bytes[position] = 128 }
                }
            }
            let start = input.offset
            try fill(&pixels)
            let count = Int(input.offset - start)
            guard count > 0 else {
                if header == nil { return try end() }
                throw CommandFailure(.badData, "the Y4M stream ends within frame \(index)")
            }
            guard count == byteCount else {
                let advice = header == nil ? "are --size and --format right?" : "was the stream cut off?"
                throw CommandFailure(
                    .badData,
                    "standard input ends in frame \(index) after \(count) of \(byteCount) bytes; \(advice)"
                )
            }
            defer { index += 1 }
            return InputImage(frame: index, try pixels.converted(from: color, pool: converted))
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(.badData, "\(error)")
        }
    }

    /// The end of the stream, which has to have had an image.
    private func end() throws(CommandFailure) -> InputImage? {
        guard index == 0 else { return nil }
        throw InputImage.missing(
            header.map { "it ends behind the header \"\(Y4MHeader.magic)\($0)\"" } ?? "it is empty"
        )
    }

    /// Reads one image, as far as there is one.
    private func fill(_ pixels: inout PixelBuffer) throws {
        for index in 0..<planeCount {
            let plane = pixels.plane(index)
            // In one go if neither side has padding between the rows.
            let isWhole = plane.bytesPerRow == plane.visibleBytesPerRow && padding[index] == 0
            for row in 0..<(isWhole ? 1 : plane.height) {
                let fill = { [input] (bytes: inout MutableSpan<UInt8>) in
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

/// The first line of a YUV4MPEG2 stream, which states size, subsampling and range of the video, and a rate that means nothing here.
///
/// The format is that of the mjpegtools (`yuv4mpeg(5)`); the range is in the extension that ffmpeg reads and writes. Some programs
/// state the subsampling in an extension of the mjpegtools only (`XYSCSS`).
struct Y4MHeader {
    static let magic = "YUV4MPEG2"
    /// The maximum length of the line, without its end.
    static let maximumByteCount = 1024

    let size: BufferSize
    /// The range of the samples: limited unless stated otherwise.
    let range: PixelBuffer.Color.Range
    /// Whether there is only luma.
    let isMono: Bool

    /// The header of a stream, with the end of the line; its images come at any rate, and it states 30 a second.
    static func text(of size: BufferSize, _ range: PixelBuffer.Color.Range) -> String {
        let format = "Ip A1:1 C420jpeg XYSCSS=420JPEG XCOLORRANGE=\(range == .full ? "FULL" : "LIMITED")"
        return "\(magic) W\(size.width) H\(size.height) F30000:1000 \(format)\n"
    }

    /// Parses a header, with or without its magic, and without the end of the line.
    ///
    /// - Throws: A failure that says what is not supported.
    init(parsing line: String) throws(CommandFailure) {
        var (width, height, range) = (0, 0, PixelBuffer.Color.Range.limited)
        var subsampling: String?
        var extensionSubsampling: String?
        for field in line.split(separator: " ") {
            let value = field.dropFirst()
            switch field.first {
            case "W": width = Int(value) ?? 0
            case "H": height = Int(value) ?? 0
            case "C": subsampling = String(value)
            case "I" where !["p", "?"].contains(value):
                throw CommandFailure(.badData, "the Y4M video is interlaced (I\(value)); deinterlace it first")
            case "X" where value.hasPrefix("YSCSS="): extensionSubsampling = value.dropFirst(6).lowercased()
            case "X" where value == "COLORRANGE=FULL": range = .full
            case "X" where value == "COLORRANGE=LIMITED": range = .limited
            default: break
            }
        }
        // Those that differ from 4:2:0 in more than sample positions are rejected.
        let name = subsampling ?? extensionSubsampling ?? "420"
        guard ["420", "420jpeg", "420mpeg2", "420paldv", "mono"].contains(name) else {
            throw CommandFailure(
                .badData,
                "Y4M format C\(name) is not supported; convert it to 8-bit 4:2:0 (-pix_fmt yuv420p)"
            )
        }
        guard 1...65_500 ~= width, 1...65_500 ~= height else {
            throw CommandFailure(.badData, "the Y4M header states no size from 1x1 to 65500x65500: \"\(line)\"")
        }
        (size, self.range, isMono) = (BufferSize(width: width, height: height), range, name == "mono")
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
}
