import FrameSocket

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
