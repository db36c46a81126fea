import FrameSocket

/// What a JPEG's own Exif data say about its image, which browsers obey and this protocol does not.
enum JPEGExif {
    /// The range of the first Exif segment (APP1) at or after `start`, including marker and length; nil if there is none.
    ///
    /// With `withAnyFirstLetter`, the first letter of its name may be any byte.
    static func segment(
        of jpeg: Span<UInt8>,
        from start: Int = 2,
        withAnyFirstLetter: Bool = false
    ) -> Range<Int>? {
        // After FF D8, each segment is FF, its kind, and two bytes of length, which include themselves.
        var start = start
        while start + 4 <= jpeg.count {
            let kind = jpeg[start + 1]
            // A stray or fill byte, and then a marker without a segment: decoders skip these.
            guard jpeg[start] == 0xFF, kind != 0xFF, kind > 1, !(0xD0...0xD7).contains(kind) else {
                start += 1
                continue
            }
            // The beginning of the coded data, or the end.
            if kind == 0xDA || kind == 0xD9 { return nil }
            let end = start + 2 + max(2, Int(jpeg[start + 2]) << 8 + Int(jpeg[start + 3]))
            guard end <= jpeg.count else { return nil }
            if kind == 0xE1, isExif(jpeg.extracting((start + 4)..<end), withAnyFirstLetter) { return start..<end }
            start = end
        }
        return nil
    }

    private static func isExif(_ content: Span<UInt8>, _ withAnyFirstLetter: Bool) -> Bool {
        let name = Array("Exif\0\0".utf8)
        guard content.count >= name.count else { return false }
        return name.indices.dropFirst(withAnyFirstLetter ? 1 : 0).allSatisfy { content[$0] == name[$0] }
    }

    /// The JPEG without its Exif segments; the same bytes if it has none.
    static func removed(from jpeg: FrameBytes) -> FrameBytes {
        guard var segment = jpeg.withSpan({ segment(of: $0) }) else { return jpeg }
        let bytes = jpeg.array()[...]
        var kept = Array(bytes[..<segment.lowerBound])
        // However many there are, every byte is moved once.
        while let next = Self.segment(of: bytes.span, from: segment.upperBound) {
            kept += bytes[segment.upperBound..<next.lowerBound]
            segment = next
        }
        kept += bytes[segment.upperBound...]
        return FrameBytes(kept)
    }
}
