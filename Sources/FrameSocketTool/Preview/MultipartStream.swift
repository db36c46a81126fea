import FrameSocket

/// Images as a stream that browsers show in an `<img>`, each replacing the previous one (`multipart/x-mixed-replace`).
///
/// Each part states its length, which strict readers need, and the boundary after an image is sent with it, since some
/// readers show an image only then. Browsers built on Blink show it when the *header of the next part* has been read,
/// which cannot be sent before the next image's length is known: see decision 0020.
struct MultipartStream {
    /// What separates the images.
    ///
    /// A JPEG may contain any bytes, and its sender must not be able to start a part of its own.
    private let boundary: String

    /// What is still to be written, from ``offset`` on.
    private var pieces: [Piece] = []
    private var offset = 0

    private enum Piece {
        case text(ArraySlice<UInt8>)
        case jpeg(FrameBytes)
    }

    /// Creates a stream with an unpredictable boundary.
    init() {
        var generator = SystemRandomNumberGenerator()
        self.init(boundary: "image-" + String(generator.next() as UInt64, radix: 36))
    }

    /// Creates a stream with the given boundary.
    init(boundary: String) {
        self.boundary = boundary
        pieces = [.text(Array("--\(boundary)\r\n".utf8)[...])]
    }

    /// The value of the field `Content-Type`.
    var contentType: String { "multipart/x-mixed-replace; boundary=\(boundary)" }

    /// Whether everything has been written, so that the next image can be the latest.
    var isIdle: Bool { pieces.isEmpty }

    /// Adds an image.
    mutating func add(_ jpeg: FrameBytes) {
        let header = "Content-Type: image/jpeg\r\nContent-Length: \(jpeg.count)\r\n\r\n"
        pieces += [.text(Array(header.utf8)[...]), .jpeg(jpeg), .text(Array("\r\n--\(boundary)\r\n".utf8)[...])]
    }

    /// Writes as much as there is and as fits, and returns how many bytes that was.
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
                case .jpeg(let jpeg): jpeg.withSpan { unsafe copy($0, to: rest) }
                }
            written += count
            offset += count
            guard isWhole else { break }
            pieces.removeFirst()
            offset = 0
        }
        return written
    }

    /// Copies what has not been written of a piece; returns how much, and whether that was all of it.
    private func copy(_ bytes: Span<UInt8>, to room: UnsafeMutableRawBufferPointer) -> (count: Int, isWhole: Bool) {
        let count = min(bytes.count - offset, room.count)
        unsafe bytes.extracting(offset..<(offset + count)).withUnsafeBytes { unsafe room.copyMemory(from: $0) }
        return (count, offset + count == bytes.count)
    }
}
