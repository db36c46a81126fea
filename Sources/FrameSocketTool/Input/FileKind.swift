import FrameSocket

/// The kind of a file, detected from its first bytes.
enum FileKind {
    case jpeg
    case png
    case empty
    /// A format that is not supported, with its name.
    case foreign(String)
    case unknown

    /// The number of bytes that tell one kind from another.
    static let byteCount = 16

    init(_ bytes: some Sequence<UInt8>) {
        let start = Array(bytes.prefix(Self.byteCount))
        func begins(_ signature: String, at offset: Int = 0) -> Bool {
            start.dropFirst(offset).starts(with: Array(signature.utf8))
        }
        if start.isEmpty {
            self = .empty
        } else if start.starts(with: [0xFF, 0xD8]) {
            self = .jpeg
        } else if start.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if start.count > 1, start[0] == UInt8(ascii: "P"), (0x31...0x37).contains(start[1]) {
            self = .foreign("PNM")
        } else if let format = Self.formats.first(where: { begins($0.signature, at: $0.offset) }) {
            self = .foreign(format.name)
        } else if start.starts(with: [0x49, 0x49, 0x2A, 0]) || start.starts(with: [0x4D, 0x4D, 0, 0x2A]) {
            self = .foreign("TIFF")
        } else if start.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) {
            self = .foreign("Matroska")
        } else {
            self = .unknown
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
        guard case .png = self else { return "framesocket send PATH - < \(path.shellWord)" }
        return
            "ffmpeg -f image2pipe -c:v png -i \(path.shellWord) -c:v mjpeg -q:v 2 -f mjpeg - | framesocket send PATH -"
    }

    private static let containers = ["AVI", "MP4", "QuickTime", "MPEG-TS", "FLV", "Ogg"]

    private static let formats: [(signature: String, offset: Int, name: String)] = [
        ("YUV4MPEG2", 0, "Y4M"), ("GIF8", 0, "GIF"), ("WEBP", 8, "WebP"),
        ("BM", 0, "BMP"), ("%PDF", 0, "PDF"),
        ("qoif", 0, "QOI"),
        ("ftypavif", 4, "AVIF"), ("ftyphei", 4, "HEIF"), ("ftypmif1", 4, "HEIF"), ("ftypqt", 4, "QuickTime"),
        ("ftyp", 4, "MP4"),
        ("moov", 4, "QuickTime"), ("mdat", 4, "QuickTime"), ("wide", 4, "QuickTime"), ("AVI ", 8, "AVI"),
        ("FLV\u{1}", 0, "FLV"), ("OggS", 0, "Ogg"), ("<svg", 0, "SVG"), ("<?xml", 0, "XML"), ("JXL ", 4, "JPEG XL"),
    ]
}
