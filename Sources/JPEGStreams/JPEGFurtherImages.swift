/// The further images of a file, such as the gain map of a photo, which the first image lists in its multi-picture index
/// (CIPA DC-007: a segment APP2 that begins with "MPF").
enum JPEGFurtherImages {
    /// The places in the stream at which they begin, by what the first image states.
    static func starts(of walk: JPEGWalk, in bytes: [UInt8]) -> Set<Int> {
        for segment in walk.segments where segment.code == 0xE2 {
            let content = (segment.range.lowerBound - walk.start + 4)..<(segment.range.upperBound - walk.start)
            guard content.upperBound <= bytes.count, content.count >= 4 else { continue }
            guard bytes[content].starts(with: [0x4D, 0x50, 0x46, 0x00]) else { continue }
            let index = Index(bytes: bytes[content].dropFirst(4))
            let offsets = index.offsets.map { $0 + walk.start + content.lowerBound + 4 }
            // None lies within the first.
            return Set(offsets.filter { $0 >= walk.start + bytes.count })
        }
        return []
    }

    /// An index: a TIFF structure of one directory.
    private struct Index {
        let bytes: ArraySlice<UInt8>

        private var isLittleEndian: Bool { bytes.first == 0x49 }

        /// The offsets of the images other than the first, from the start of the index.
        var offsets: [Int] {
            guard let directory = number(at: 4, 4), let count = number(at: directory, 2) else { return [] }
            for entry in 0..<count {
                let at = directory + 2 + 12 * entry
                guard let tag = number(at: at, 2) else { return [] }
                // MP entries: 16 bytes for each image, of which the offset is the third number.
                guard tag == 0xB002, let size = number(at: at + 4, 4), let first = number(at: at + 8, 4) else {
                    continue
                }
                return (0..<(size / 16)).compactMap { number(at: first + 16 * $0 + 8, 4) }.filter { $0 > 0 }
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
