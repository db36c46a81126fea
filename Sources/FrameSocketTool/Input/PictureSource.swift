import FrameSocket

/// Gives out the pictures of one command, one after the other.
///
/// Reading blocks, so it happens on a thread of the command's own and never on Swift's pool.
protocol PictureSource: Sendable {
    /// The next picture; nil at the end.
    mutating func next() throws(CommandFailure) -> Picture?

    /// Leaves the latest picture out from now on, because it cannot be sent; false if there is nothing else.
    mutating func skipLast() -> Bool
}

extension PictureSource {
    mutating func skipLast() -> Bool { false }
}

/// The pictures of files, as often as is wished.
struct FileSource: PictureSource {
    /// The files, without those that were found to be bad.
    private var paths: [String]
    private let hasSeveral: Bool
    private var loopsLeft: Int
    private var index = 0
    /// One picture's memory, from one to the next.
    private let pool = PixelBufferPool(maximumIdle: 1)
    /// The picture read last, for a single file that is sent many times.
    private var last: Picture?

    init(_ paths: [String], loops: Int) {
        self.paths = paths
        hasSeveral = paths.count > 1
        loopsLeft = loops
    }

    mutating func skipLast() -> Bool {
        guard hasSeveral, index > 0 else { return false }
        index -= 1
        paths.remove(at: index)
        last = nil
        return true
    }

    mutating func next() throws(CommandFailure) -> Picture? {
        if index == paths.endIndex {
            index = 0
            loopsLeft -= 1
        }
        guard loopsLeft > 0, !paths.isEmpty else { return nil }
        defer { index += 1 }
        if let last, last.name == paths[index] { return last }
        last = nil
        last = Picture(name: paths[index], content: try PictureFile(paths[index], pool: pool).content)
        return last
    }
}

/// Raw video on standard input: frames of one size, one after the other, without anything between them.
struct RawSource: PictureSource {
    private let width: Int
    private let height: Int
    private let format: PixelFormat
    private let byteCount: Int
    /// The memory of the picture that is read, and of the one before, which its sender may let go of a moment later.
    private let pool = PixelBufferPool(maximumIdle: 2)
    private var index = 0

    init(width: Int, height: Int, format: PixelFormat) throws(CommandFailure) {
        self.width = width
        self.height = height
        self.format = format
        do {
            byteCount = try pool.buffer(width: width, height: height, format: format).packedByteCount
        } catch {
            throw CommandFailure(.usage, "\(error)")
        }
    }

    mutating func next() throws(CommandFailure) -> Picture? {
        do {
            var pixels = try pool.buffer(width: width, height: height, format: format)
            let count = try read(into: &pixels)
            guard count > 0 else { return nil }
            guard count == byteCount else {
                throw CommandFailure(
                    .badData,
                    "standard input ends in frame \(index) after \(count) of \(byteCount) bytes; are --size and --format right?"
                )
            }
            defer { index += 1 }
            return Picture(name: "frame \(index)", content: .pixels(pixels))
        } catch let failure as CommandFailure {
            throw failure
        } catch let failure as Files.Failure {
            throw CommandFailure(.noInput, failure.message)
        } catch {
            throw CommandFailure(.badData, "\(error)")
        }
    }

    /// Reads one picture, and returns how many bytes of it there were.
    private func read(into pixels: inout PixelBuffer) throws -> Int {
        var count = 0
        for index in 0..<pixels.planeCount {
            let plane = pixels.plane(index)
            // In one go where there is no padding between the rows.
            let isWhole = plane.bytesPerRow == plane.visibleBytesPerRow
            for row in 0..<(isWhole ? 1 : plane.height) {
                let fill = { (bytes: inout MutableSpan<UInt8>) in
                    let wanted = bytes.count
                    let result = Result { () throws(Files.Failure) in try StandardInput.fill(&bytes) }
                    return result.map { (count: $0, isShort: $0 < wanted) }
                }
                let piece =
                    isWhole
                    ? try pixels.withMutablePlane(index, fill) : try pixels.withMutableRow(row, ofPlane: index, fill)
                let read = try piece.get()
                count += read.count
                if read.isShort { return count }
            }
        }
        return count
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
    /// Reads until `bytes` is full or the input ends, and returns how many there were.
    static func fill(_ bytes: inout MutableSpan<UInt8>) throws(Files.Failure) -> Int {
        try Files.read(from: 0, filling: &bytes, name: "standard input")
    }

    /// Reads once, so that `bytes` has at most `count` bytes; false at the end.
    static func read(into bytes: inout [UInt8], upTo count: Int) throws(CommandFailure) -> Bool {
        do {
            return try Files.read(from: 0, into: &bytes, atMost: count - bytes.count, name: "standard input")
        } catch {
            throw CommandFailure(.noInput, error.message)
        }
    }
}
