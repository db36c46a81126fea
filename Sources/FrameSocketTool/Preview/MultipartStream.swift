import FrameSocket

/// Pictures as a stream that browsers show in an `<img>`, each in place of the one before (`multipart/x-mixed-replace`).
///
/// Browsers built on Blink show a part when the *head of the next one* has been read, so that head goes out right behind
/// each picture. That is why no part states its length: nobody knows the next picture's yet.
struct MultipartStream {
    /// What stands between the pictures.
    ///
    /// A JPEG may hold any bytes, and its sender must not be able to begin a part of its own.
    private let boundary: String

    /// What is still to be written, from ``offset`` on.
    private var pieces: [Piece] = []
    private var offset = 0

    private enum Piece {
        case text([UInt8])
        case jpeg(FrameBytes)
    }

    /// A stream with a boundary that nobody can foresee.
    init() {
        var generator = SystemRandomNumberGenerator()
        self.init(boundary: "picture-" + String(generator.next() as UInt64, radix: 36))
    }

    /// A stream with the given boundary.
    init(boundary: String) {
        self.boundary = boundary
        pieces = [.text(Array("--\(boundary)\r\n\(Self.partHead)".utf8))]
    }

    private static let partHead = "Content-Type: image/jpeg\r\n\r\n"

    /// The value of the field `Content-Type`.
    var contentType: String { "multipart/x-mixed-replace; boundary=\(boundary)" }

    /// Whether everything has been written, so that the next picture can be the latest.
    var isIdle: Bool { pieces.isEmpty }

    /// Adds a picture.
    mutating func add(_ jpeg: FrameBytes) {
        pieces.append(.jpeg(jpeg))
        pieces.append(.text(Array("\r\n--\(boundary)\r\n\(Self.partHead)".utf8)))
    }

    /// Writes as much as there is and as fits, and returns how many bytes that were.
    mutating func write(to room: inout MutableSpan<UInt8>) -> Int {
        unsafe room.withUnsafeMutableBytes { room in unsafe write(to: room) }
    }

    private mutating func write(to room: UnsafeMutableRawBufferPointer) -> Int {
        var written = 0
        while written < room.count, let piece = pieces.first {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[written...])
            let (count, isWhole) =
                switch piece {
                case .text(let text): unsafe copy(text.span, to: rest)
                case .jpeg(let jpeg): jpeg.withBytes { unsafe copy($0, to: rest) }
                }
            written += count
            offset += count
            guard isWhole else { break }
            pieces.removeFirst()
            offset = 0
        }
        return written
    }

    /// Copies what has not been written of a piece; how much, and whether that was all of it.
    private func copy(_ bytes: Span<UInt8>, to room: UnsafeMutableRawBufferPointer) -> (count: Int, isWhole: Bool) {
        let count = min(bytes.count - offset, room.count)
        unsafe bytes.extracting(offset..<(offset + count)).withUnsafeBytes { unsafe room.copyMemory(from: $0) }
        return (count, offset + count == bytes.count)
    }
}
