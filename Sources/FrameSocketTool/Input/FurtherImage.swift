import FrameSocket
import JPEGStreams

/// An image behind the first of a file, which `send` does not send: programs write several into one file, and cameras append
/// previews that nobody wants to see as a frame.
enum FurtherImage {
    /// How much of a file is searched at once: the file is in memory already.
    private static let pieceByteCount = 1 << 20

    /// The offset of an image that begins at or behind `end`, where the first one ends.
    ///
    /// Images that a JPEG lists itself (multi-picture format) belong to it, as on standard input.
    ///
    /// - Parameters:
    ///   - bytes: The file.
    ///   - kind: The kind of its first image.
    ///   - end: Where the first image ends; nil if only the search can tell.
    /// - Returns: The offset; nil if there is no other image.
    static func offset(in bytes: [UInt8], _ kind: FileKind, behind end: Int?) -> Int? {
        guard end.map({ $0 < bytes.count }) ?? true else { return nil }
        if let end, let offset = nextPNG(in: bytes, from: end) { return offset }
        guard case .jpeg = kind else { return nil }
        return firstJPEG(in: bytes, from: end ?? 1)
    }

    /// Whether there is a JPEG somewhere.
    static func hasJPEG(_ bytes: [UInt8]) -> Bool { firstJPEG(in: bytes, from: 0) != nil }

    private static func firstJPEG(in bytes: [UInt8], from end: Int) -> Int? {
        var reader = JPEGStreamReader()
        for start in stride(from: 0, to: bytes.count, by: pieceByteCount) {
            _ = reader.fill { buffer in
                buffer += bytes[start..<min(start + pieceByteCount, bytes.count)]
                return true
            }
            if let offset = nextImage(of: &reader, from: end) { return offset }
        }
        reader.finish()
        return nextImage(of: &reader, from: end)
    }

    /// Where a PNG ends; nil if its chunks do not lead to an end.
    static func endOfPNG(_ bytes: [UInt8]) -> Int? {
        var offset = 8
        while offset + 12 <= bytes.count {
            let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
            let isLast = bytes[offset + 4..<offset + 8].elementsEqual("IEND".utf8)
            offset += 12 + length
            if isLast { return offset }
        }
        return nil
    }

    /// The offset of a PNG that nothing but padding separates from the first image.
    private static func nextPNG(in bytes: [UInt8], from end: Int) -> Int? {
        let rest = bytes[end...].drop { $0 == 0 || $0 == 0x20 || (0x09...0x0D).contains($0) }
        guard case .png = FileKind(rest) else { return nil }
        return rest.startIndex
    }

    private static func nextImage(of reader: inout JPEGStreamReader, from end: Int) -> Int? {
        while let part = reader.next() {
            if case .image = part.content, part.offset >= end { return part.offset }
        }
        return nil
    }
}
