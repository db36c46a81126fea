/// The further images of a file, such as the gain map of a photo, which the first image lists in its multi-picture index
/// (CIPA DC-007: a segment APP2 that begins with "MPF").
struct JPEGImageList: Sendable {
    /// The index: a TIFF structure that has, for every image, its size and then its place.
    private var index: ArraySlice<UInt8> = []
    /// The place in the stream from which the index counts.
    private var base = 0

    init() {}

    /// Reads the list of an image with this header.
    init(in header: Range<Int>, of stream: inout JPEGStreamBuffer) {
        var from = header.lowerBound
        while let code = stream.first(0xE2, from: from, before: header.upperBound),
            let length = stream.number(at: code + 1)
        {
            from = code + 1
            guard stream[code - 1] == 0xFF, length > 6, code + length < header.upperBound else { continue }
            let content = stream[(code + 3)..<(code + 1 + length)]
            guard content.starts(with: [0x4D, 0x50, 0x46, 0x00]) else { continue }
            (index, base) = (ArraySlice(Array(content.dropFirst(4))), code + 7)
            return
        }
    }

    /// Whether an image is listed; nil if that takes more of the stream.
    ///
    /// It has to end where the list says, or to be padded with zeros up to there. Where programs have cut the further images
    /// off, and left the list, another file may begin.
    func contains(_ image: Range<Int>, isComplete: Bool, in stream: JPEGStreamBuffer, isFinished: Bool) -> Bool? {
        guard index.count > 16 else { return false }
        let offset = image.lowerBound - base
        for entry in index.indices.dropLast(7) where number(at: entry + 4) == offset {
            let padding = number(at: entry) - image.count
            if padding == 0 { return true }
            let limit = isComplete ? JPEGStreamReader.maximumRunByteCount : JPEGStreamReader.maximumImageByteCount
            guard padding > 0, padding <= limit else { continue }
            let zeros = stream[image.upperBound..<min(image.upperBound + padding, stream.end)]
            guard zeros.allSatisfy({ $0 == 0 }) else { continue }
            // It may be cut off with the stream.
            if zeros.count == padding || isFinished && !isComplete { return true }
            if !isFinished { return nil }
        }
        return false
    }

    /// The number in four bytes of the index, which states their order.
    private func number(at place: Int) -> Int {
        let bytes = index[place..<(place + 4)]
        return (index.first == 0x49 ? Array(bytes.reversed()) : Array(bytes)).reduce(0) { $0 << 8 | Int($1) }
    }
}
