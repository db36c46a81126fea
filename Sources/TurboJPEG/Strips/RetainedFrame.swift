/// The latest frame that a `StripDecoder` has decoded.
struct RetainedFrame: Sendable {
    /// The JPEG, without what follows its end.
    private var jpeg: [UInt8]
    /// The length of the JPEG with what followed it.
    private var byteCount: Int
    let format: PixelFormat
    private(set) var intervals: RestartIntervals
    private(set) var canvases: [StripCanvas] = []
    /// The index of the canvas that was returned last.
    private(set) var current = 0
    /// Memory for resampled chroma; discarded when the size changes.
    private(set) var scratch: PixelBuffer.Pool

    init(_ intervals: RestartIntervals, of jpeg: Span<UInt8>, as format: PixelFormat) {
        self.jpeg = Array(copying: jpeg.extracting(..<intervals.ending.upperBound))
        byteCount = jpeg.count
        self.format = format
        self.intervals = intervals
        scratch = Self.scratch(for: intervals)
    }

    private static func scratch(for intervals: RestartIntervals) -> PixelBuffer.Pool {
        let pixels = intervals.structure.width * intervals.structure.height
        return PixelBuffer.Pool(maximumIdleImages: .max, maximumIdleBytes: 4 * pixels)
    }

    /// The image that was returned last.
    var image: PixelBuffer? {
        canvases.indices.contains(current) ? canvases[current].image : nil
    }

    /// Returns whether a JPEG is identical to the one that was decoded last, and followed by as many zeros, if by anything.
    func isSame(_ other: Span<UInt8>) -> Bool {
        guard byteCount == other.count, hasSame(jpeg.indices, as: jpeg.indices, of: other) else { return false }
        return other.extracting(jpeg.count...).countWithoutPadding == 0
    }

    /// Makes another JPEG the latest one, and returns which of its strips have different data.
    mutating func advance(to next: RestartIntervals, of other: Span<UInt8>) -> [Bool] {
        let (old, new) = (intervals, next)
        let (oldHeader, newHeader) = (0..<old.data[0].lowerBound, 0..<new.data[0].lowerBound)
        let isComparable = old.layout == new.layout && hasSame(oldHeader, as: newHeader, of: other)
        var changed = [Bool](repeating: true, count: new.layout.count)
        if isComparable {
            for index in changed.indices { changed[index] = !hasSame(old.data[index], as: new.data[index], of: other) }
            // The bytes after the last strip, together with it, decide whether the JPEG is valid.
            if !hasSame(old.ending, as: new.ending, of: other) { changed[changed.count - 1] = true }
        }
        if old.structure.width != new.structure.width || old.structure.height != new.structure.height {
            (canvases, current, scratch) = ([], 0, Self.scratch(for: new))
        }
        for index in canvases.indices {
            if isComparable { canvases[index].addStale(changed) } else { canvases[index].isStale = changed }
        }
        intervals = new
        jpeg.replace(with: other.extracting(..<next.ending.upperBound))
        byteCount = other.count
        return changed
    }

    private func hasSame(_ mine: Range<Int>, as theirs: Range<Int>, of other: Span<UInt8>) -> Bool {
        guard mine.count == theirs.count, !mine.isEmpty else { return mine.count == theirs.count }
        return unsafe jpeg.withUnsafeBufferPointer { first in
            unsafe other.withUnsafeBufferPointer { second in
                guard let first = first.baseAddress, let second = second.baseAddress else { return false }
                return unsafe equalBytes(first + mine.lowerBound, second + theirs.lowerBound, count: mine.count)
            }
        }
    }

    /// Makes an unused canvas the current one: the one with the least to decode, or a new one.
    ///
    /// An image that was returned before never changes for its holder.
    mutating func takeCanvas(from pool: PixelBuffer.Pool) throws(TurboJPEGError) {
        var best: Int?
        for index in canvases.indices where canvases[index].image.isAlone {
            if let found = best, canvases[found].staleCount <= canvases[index].staleCount { continue }
            best = index
        }
        if let best {
            current = best
            return
        }
        let structure = intervals.structure
        let strips = intervals.layout.count
        let image = try pool.buffer(width: structure.width, height: structure.height, format: format)
        var canvas = StripCanvas(image, strips: strips)
        if let latest = canvases.indices.contains(current) ? canvases[current] : nil, 2 * latest.staleCount < strips {
            unsafe UnsafePlanes(image).copySamples(from: UnsafePlanes(latest.image))
            canvas.isStale = latest.isStale
        }
        if canvases.count > 1 { canvases.remove(at: 1 - current) }
        canvases.append(canvas)
        current = canvases.count - 1
    }

    /// Returns the strips of the current canvas to decode, including those between two of them if that costs nothing.
    func wantedRuns() -> [Range<Int>] {
        var runs: [Range<Int>] = []
        for index in canvases[current].isStale.indices where canvases[current].isStale[index] {
            if let last = runs.last, index - last.upperBound <= 2 {
                runs[runs.count - 1] = last.lowerBound..<(index + 1)
            } else {
                runs.append(index..<(index + 1))
            }
        }
        return runs
    }

    /// Marks the current canvas as up to date.
    mutating func settle() {
        canvases[current].isStale = [Bool](repeating: false, count: intervals.layout.count)
    }
}

extension [UInt8] {
    /// Creates an array with the bytes of a span.
    fileprivate init(copying bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// Replaces all bytes, in the same memory if it is large enough.
    fileprivate mutating func replace(with bytes: Span<UInt8>) {
        removeAll(keepingCapacity: true)
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}

/// An image that persists from one frame to the next, and the strips of it that are out of date.
struct StripCanvas: Sendable {
    var image: PixelBuffer
    var isStale: [Bool]

    /// Creates a canvas of which nothing has been decoded.
    init(_ image: PixelBuffer, strips: Int) {
        self.image = image
        isStale = [Bool](repeating: true, count: strips)
    }

    /// Adds strips that are out of date.
    mutating func addStale(_ changed: [Bool]) {
        for index in isStale.indices where changed[index] { isStale[index] = true }
    }

    /// The number of strips that are out of date.
    var staleCount: Int { isStale.count { $0 } }
}
