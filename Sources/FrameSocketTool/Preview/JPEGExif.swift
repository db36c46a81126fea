import FrameSocket

/// What a JPEG's own Exif data say about its image, which browsers heed and this protocol does not.
enum JPEGExif {
    /// The range of the Exif segment (APP1), including marker and length; nil if there is none.
    static func segment(of jpeg: Span<UInt8>) -> Range<Int>? {
        // After FF D8, each segment is FF, its kind, and two bytes of length, which include themselves.
        var start = 2
        while start + 4 <= jpeg.count, jpeg[start] == 0xFF {
            let kind = jpeg[start + 1]
            // A fill byte; the beginning of the coded data, or the end.
            if kind == 0xFF {
                start += 1
                continue
            }
            if kind == 0xDA || kind == 0xD9 { return nil }
            let end = start + 2 + Int(jpeg[start + 2]) << 8 + Int(jpeg[start + 3])
            guard end >= start + 4, end <= jpeg.count else { return nil }
            if kind == 0xE1, isExif(jpeg.extracting((start + 4)..<end)) { return start..<end }
            start = end
        }
        return nil
    }

    private static func isExif(_ content: Span<UInt8>) -> Bool {
        let name = Array("Exif\0\0".utf8)
        return content.count >= name.count && name.indices.allSatisfy { content[$0] == name[$0] }
    }

    /// The JPEG without its Exif segments; the same bytes if it has none.
    static func removed(from jpeg: FrameBytes) -> FrameBytes {
        guard jpeg.withBytes({ segment(of: $0) }) != nil else { return jpeg }
        var bytes = jpeg.array()
        while let segment = segment(of: bytes.span) { bytes.removeSubrange(segment) }
        return FrameBytes(copying: bytes.span)
    }
}
