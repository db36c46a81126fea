import FrameSocket

/// Gives out the pictures of one command, one after the other.
///
/// Reading blocks, so it happens on a thread of the command's own and never on Swift's pool.
protocol PictureSource: Sendable {
    /// The next picture; nil at the end.
    mutating func next() throws(CommandFailure) -> Picture?
}

/// The pictures of files, as often as is wished.
struct FileSource: PictureSource {
    private let paths: [String]
    private var loopsLeft: Int
    private var index = 0
    /// The picture read last, for a single file that is sent many times.
    private var last: Picture?

    init(_ paths: [String], loops: Int) {
        self.paths = paths
        loopsLeft = loops
    }

    mutating func next() throws(CommandFailure) -> Picture? {
        if index == paths.endIndex {
            index = 0
            loopsLeft -= 1
        }
        guard loopsLeft > 0 else { return nil }
        defer { index += 1 }
        if let last, last.name == paths[index] { return last }
        last = nil
        last = Picture(name: paths[index], content: try PictureFile(paths[index]).content)
        return last
    }
}

/// Raw video on standard input: frames of one size, one after the other, without anything between them.
struct RawSource: PictureSource {
    private let width: Int
    private let height: Int
    private let format: PixelFormat
    private let byteCount: Int
    private var bytes: [UInt8] = []
    private var index = 0

    init(width: Int, height: Int, format: PixelFormat) throws(CommandFailure) {
        self.width = width
        self.height = height
        self.format = format
        do {
            byteCount = try PixelBuffer(width: width, height: height, format: format).packedByteCount
        } catch {
            throw CommandFailure(.usage, "\(error)")
        }
    }

    mutating func next() throws(CommandFailure) -> Picture? {
        bytes.removeAll(keepingCapacity: true)
        while bytes.count < byteCount, try StandardInput.read(into: &bytes, upTo: byteCount) {}
        guard !bytes.isEmpty else { return nil }
        guard bytes.count == byteCount else {
            throw CommandFailure(
                .badData,
                "standard input ends in frame \(index) after \(bytes.count) of \(byteCount) bytes; are --size and --format right?"
            )
        }
        defer { index += 1 }
        do {
            let pixels = try PixelBuffer(copying: bytes.span, width: width, height: height, format: format)
            return Picture(name: "frame \(index)", content: .pixels(pixels))
        } catch {
            throw CommandFailure(.badData, "\(error)")
        }
    }
}

/// JPEGs on standard input, one after the other.
struct MJPEGSource: PictureSource {
    private var splitter = JPEGSplitter()
    private var bytes: [UInt8] = []
    private var position = 0
    private var index = 0

    mutating func next() throws(CommandFailure) -> Picture? {
        while true {
            while position < bytes.count {
                defer { position += 1 }
                guard let jpeg = splitter.take(bytes[position]) else { continue }
                defer { index += 1 }
                return Picture(name: "frame \(index)", content: .jpeg(jpeg))
            }
            bytes.removeAll(keepingCapacity: true)
            position = 0
            guard try StandardInput.read(into: &bytes, upTo: Files.pipeCapacity) else { break }
        }
        guard !splitter.isInPicture else {
            throw CommandFailure(.badData, "standard input ends within frame \(index)")
        }
        guard index > 0 else { throw CommandFailure(.badData, "there is no JPEG on standard input") }
        return nil
    }
}

private enum StandardInput {
    /// Reads once, so that `bytes` has at most `count` bytes; false at the end.
    static func read(into bytes: inout [UInt8], upTo count: Int) throws(CommandFailure) -> Bool {
        do {
            return try Files.read(from: 0, into: &bytes, atMost: count - bytes.count, name: "standard input")
        } catch {
            throw CommandFailure(.noInput, error.message)
        }
    }
}
