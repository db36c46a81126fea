import FrameSocket

/// The first line of a YUV4MPEG2 stream, which states size, rate, subsampling and range of the video.
///
/// The format is that of the mjpegtools (`yuv4mpeg(5)`); the range stands in the extension that ffmpeg reads and writes.
struct Y4MHeader: Sendable, Equatable {
    static let magic = "YUV4MPEG2"
    /// The longest line, without its end, that is read.
    static let maximumByteCount = 1024

    var size: BufferSize
    /// The frames a second; nil if the stream does not say.
    var framesPerSecond: Double?
    /// The range of the samples: limited unless the stream says something else.
    var range: VideoColor.Range
    /// Whether there is luma alone.
    var isMono = false

    init(size: BufferSize, framesPerSecond: Double?, range: VideoColor.Range) {
        (self.size, self.framesPerSecond, self.range) = (size, framesPerSecond, range)
    }

    /// The header as it is written, with the end of the line.
    var text: String {
        let rate = framesPerSecond.map { " F\(Int(($0 * 1000).rounded())):1000" } ?? ""
        let range = range == .full ? "FULL" : "LIMITED"
        return
            "\(Self.magic) W\(size.width) H\(size.height)\(rate) Ip A1:1 C420jpeg XYSCSS=420JPEG XCOLORRANGE=\(range)\n"
    }

    /// Reads a header, with or without its magic, and without the end of the line.
    ///
    /// - Throws: a failure that says what in it cannot be taken.
    init(parsing line: String) throws(CommandFailure) {
        var (width, height) = (0, 0)
        range = .limited
        size = BufferSize(width: 1, height: 1)
        for field in line.split(separator: " ") {
            let value = field.dropFirst()
            switch field.first {
            case "W": width = Int(value) ?? 0
            case "H": height = Int(value) ?? 0
            case "F": framesPerSecond = Self.rate(value)
            case "C": isMono = try Self.isMono(value)
            case "I" where !["p", "?"].contains(value):
                throw CommandFailure(.badData, "the Y4M video is interlaced (I\(value)): deinterlace it first")
            case "X" where value == "COLORRANGE=FULL": range = .full
            case "X" where value == "COLORRANGE=LIMITED": range = .limited
            default: break
            }
        }
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

    /// Whether a subsampling is none at all; those that differ from 4:2:0 in more than where samples lie are refused.
    private static func isMono(_ name: Substring) throws(CommandFailure) -> Bool {
        if name == "mono" { return true }
        guard ["420", "420jpeg", "420mpeg2", "420paldv"].contains(name) else {
            throw CommandFailure(
                .badData,
                "Y4M of C\(name) cannot be read: make it 4:2:0 with 8 bits (-pix_fmt yuv420p)"
            )
        }
        return false
    }
}
