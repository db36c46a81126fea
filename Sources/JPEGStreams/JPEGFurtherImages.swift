/// The further images of a file, such as the gain map of a photo, which the first image lists in its multi-picture index
/// (CIPA DC-007: a segment APP2 that begins with "MPF").
enum JPEGFurtherImages {
    /// The places in the stream at which they end, by those at which they begin, as the first image states both.
    static func listed(by walk: JPEGWalk, in bytes: [UInt8]) -> [Int: Int] {
        for segment in walk.segments where segment.code == 0xE2 {
            let content = (segment.range.lowerBound - walk.start + 4)..<(segment.range.upperBound - walk.start)
            guard content.upperBound <= bytes.count, content.count >= 4 else { continue }
            guard bytes[content].starts(with: [0x4D, 0x50, 0x46, 0x00]) else { continue }
            let index = Index(bytes: bytes[content].dropFirst(4))
            let ranges = index.ranges.map { range in
                let start = range.offset + walk.start + content.lowerBound + 4
                return (start, start + range.size)
            }
            // None lies within the first.
            return Dictionary(ranges.filter { $0.0 >= walk.start + bytes.count }, uniquingKeysWith: max)
        }
        return [:]
    }

    /// An index: a TIFF structure of one directory.
    private struct Index {
        let bytes: ArraySlice<UInt8>

        private var isLittleEndian: Bool { bytes.first == 0x49 }

        /// Where the images other than the first are, from the start of the index.
        var ranges: [(offset: Int, size: Int)] {
            guard let directory = number(at: 4, 4), let count = number(at: directory, 2) else { return [] }
            for entry in 0..<count {
                let at = directory + 2 + 12 * entry
                guard let tag = number(at: at, 2) else { return [] }
                // MP entries: 16 bytes for each image, of which the size is the second number, and the offset the third.
                guard tag == 0xB002, let size = number(at: at + 4, 4), let first = number(at: at + 8, 4) else {
                    continue
                }
                return (0..<(size / 16)).compactMap { image in
                    let entry = first + 16 * image
                    guard let offset = number(at: entry + 8, 4), offset > 0 else { return nil }
                    return number(at: entry + 4, 4).map { (offset, $0) }
                }
            }
            return []
        }

        /// The number of `size` bytes at `offset`; nil outside of the index.
        private func number(at offset: Int, _ size: Int) -> Int? {
            guard offset >= 0, offset + size <= bytes.count else { return nil }
            let field = bytes.dropFirst(offset).prefix(size)
            return (isLittleEndian ? Array(field.reversed()) : Array(field)).reduce(0) { $0 << 8 | Int($1) }
        }
    }
}
