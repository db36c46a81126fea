/// A block of a Matroska file: the frames of one track, most often a single one (RFC 9559, 10).
struct MatroskaBlock {
    /// The time of the first frame, relative to the cluster's.
    let time: Int16
    /// The frames as they are in the file; one without bytes if the lengths of several contradict each other.
    let frames: [[UInt8]]

    /// Parses a block; nil if it is too short to be one.
    init?(_ bytes: [UInt8]) {
        guard let track = Self.number(in: bytes[...]), bytes.count >= track.length + 3 else { return nil }
        let header = bytes.dropFirst(track.length).prefix(3).map(UInt16.init)
        time = Int16(bitPattern: header[0] << 8 | header[1])
        let content = bytes.dropFirst(track.length + 3)
        switch header[2] & 0x06 {
        case 0: frames = [Array(content)]
        case 0x04: frames = Self.equalFrames(content) ?? [[]]
        case 0x02: frames = Self.frames(content, sizes: Self.plainSizes) ?? [[]]
        default: frames = Self.frames(content, sizes: Self.differences) ?? [[]]
        }
    }

    /// The number at the beginning of bytes whose first one states its length; nil if they are too few.
    static func number(in bytes: ArraySlice<UInt8>) -> (value: UInt64, length: Int)? {
        guard let first = bytes.first, first != 0 else { return nil }
        let length = first.leadingZeroBitCount + 1
        guard bytes.count >= length else { return nil }
        let start = UInt64(first) & (0x7F >> UInt64(length - 1))
        return (bytes.dropFirst().prefix(length - 1).reduce(start) { $0 << 8 | UInt64($1) }, length)
    }

    // MARK: Several frames

    /// Frames of one length: their number less one, and then all of them.
    private static func equalFrames(_ content: ArraySlice<UInt8>) -> [[UInt8]]? {
        guard let count = content.first.map({ Int($0) + 1 }) else { return nil }
        let frames = content.dropFirst()
        let length = frames.count / count
        guard length > 0, frames.count.isMultiple(of: count) else { return nil }
        return (0..<count).map { Array(frames.dropFirst($0 * length).prefix(length)) }
    }

    /// Frames whose lengths precede them, but for the last one's, which takes what is left.
    private static func frames(
        _ content: ArraySlice<UInt8>,
        sizes: (_ count: Int, _ rest: inout ArraySlice<UInt8>) -> [Int]?
    ) -> [[UInt8]]? {
        var rest = content
        guard let count = rest.popFirst().map({ Int($0) + 1 }), let lengths = sizes(count - 1, &rest) else {
            return nil
        }
        var frames: [[UInt8]] = []
        for length in lengths {
            guard length > 0, length < rest.count else { return nil }
            frames.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return rest.isEmpty ? nil : frames + [Array(rest)]
    }

    /// Lengths as sums of bytes, of which every 255 continues (as in Ogg, by Xiph).
    private static func plainSizes(_ count: Int, _ rest: inout ArraySlice<UInt8>) -> [Int]? {
        var sizes: [Int] = []
        for _ in 0..<count {
            var size = 0
            var last = UInt8.max
            while last == .max {
                guard let byte = rest.popFirst() else { return nil }
                last = byte
                size += Int(byte)
            }
            sizes.append(size)
        }
        return sizes
    }

    /// The first length, and from each to the next the difference, all in EBML's numbers.
    private static func differences(_ count: Int, _ rest: inout ArraySlice<UInt8>) -> [Int]? {
        var sizes: [Int] = []
        for index in 0..<count {
            guard let (value, length) = number(in: rest), let size = Int(exactly: value) else { return nil }
            rest = rest.dropFirst(length)
            // Differences are shifted by half of what their length can hold, so that they are never negative.
            let shift = index == 0 ? 0 : 1 << (7 * length - 1) - 1
            let next = (sizes.last ?? 0) + size - shift
            guard next > 0, next <= MatroskaReader.maximumFrameLength else { return nil }
            sizes.append(next)
        }
        return sizes
    }
}
