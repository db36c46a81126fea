/// What programs write behind the frames of a stream: zeros up to a size, and the headers of a multipart stream.
///
/// An end marker shows where a frame ends; without one, this does.
struct JPEGEnvelope: Sendable {
    /// More than the headers of a part have.
    private static let maximumTextByteCount = 4096

    /// The line that separates the parts of a multipart stream, once one has come.
    private var separator: [UInt8]?

    /// Learns from the bytes before a frame that the stream is a multipart stream.
    mutating func note(before bytes: ArraySlice<UInt8>) {
        if let headers = headers(of: bytes) { separator = Array(headers.separator) }
    }

    /// Returns where the envelope begins that coded data ends with, and whether zeros are a part of it.
    mutating func start(in data: ArraySlice<UInt8>) -> (end: Int, hasZeros: Bool) {
        let padded = Self.withoutZeros(data)
        let bare: ArraySlice<UInt8>
        if let headers = headers(of: padded) {
            separator = Array(headers.separator)
            bare = Self.withoutZeros(padded[..<headers.start])
        } else {
            bare = Self.withoutZeros(padded[..<rest(of: padded)])
        }
        // A byte FF of data is followed by a zero.
        let isStuffed = bare.last == 0xFF && bare.endIndex < data.endIndex && data[bare.endIndex] == 0
        let hasZeros = !isStuffed && bare.endIndex < data.endIndex && data[bare.endIndex] == 0
        return (bare.endIndex + (isStuffed ? 1 : 0), hasZeros)
    }

    private static func withoutZeros(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        bytes[..<((bytes.lastIndex { $0 != 0 } ?? bytes.startIndex - 1) + 1)]
    }

    /// The headers that some bytes end with, and the separator before them: lines of text, the last of which is empty.
    private func headers(of bytes: ArraySlice<UInt8>) -> (start: Int, separator: ArraySlice<UInt8>)? {
        let text = Self.text(of: bytes)
        var lines = Lines(text)
        guard let last = lines.previous(), last.isEmpty else { return nil }
        var line = lines.previous()
        guard line.map(Self.isHeader) ?? false else { return nil }
        while let header = line, Self.isHeader(header) { line = lines.previous() }
        guard let line, !line.isEmpty else { return nil }
        guard line.startIndex == text.startIndex else { return (Self.withoutLineEnd(text[..<line.startIndex]), line) }
        // Nothing separates it from the data, which may seem to be text.
        if let separator, line.count >= separator.count, line.suffix(separator.count).elementsEqual(separator) {
            return (line.endIndex - separator.count, line.suffix(separator.count))
        }
        guard let dashes = line.indices.dropLast().first(where: { line[$0...].starts(with: Self.dashes) }) else {
            return nil
        }
        return (dashes, line[dashes...])
    }

    /// Where the end of a multipart stream, or what has come of the next headers, begins in some bytes.
    private func rest(of bytes: ArraySlice<UInt8>) -> Int {
        guard let separator else { return bytes.endIndex }
        let text = Self.text(of: bytes)
        let start = text.indices.last { text[$0...].starts(with: separator) }
        return Self.withoutLineEnd(bytes[..<(start ?? bytes.endIndex)])
    }

    private static let dashes: [UInt8] = [0x2D, 0x2D]

    /// The text that some bytes end with.
    private static func text(of bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let end = bytes.suffix(maximumTextByteCount)
        let other = end.lastIndex { !(0x20...0x7E).contains($0) && $0 != 0x0D && $0 != 0x0A && $0 != 0x09 }
        return end[((other ?? end.startIndex - 1) + 1)...]
    }

    /// Whether a line is a name, a colon and a value.
    private static func isHeader(_ line: ArraySlice<UInt8>) -> Bool {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { return false }
        return line[..<colon].allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    private static func withoutLineEnd(_ bytes: ArraySlice<UInt8>) -> Int {
        guard bytes.last == 0x0A else { return bytes.endIndex }
        let rest = bytes.dropLast()
        return rest.last == 0x0D ? rest.endIndex - 1 : rest.endIndex
    }

    /// The lines of a text, from the last to the first; of what follows the last line end, there is none.
    private struct Lines {
        private var rest: ArraySlice<UInt8>

        init(_ text: ArraySlice<UInt8>) {
            rest = text
        }

        /// The line before the ones that were returned; nil if no line end is left.
        mutating func previous() -> ArraySlice<UInt8>? {
            guard rest.last == 0x0A else { return nil }
            let whole = rest[..<JPEGEnvelope.withoutLineEnd(rest)]
            let start = (whole.lastIndex(of: 0x0A) ?? whole.startIndex - 1) + 1
            rest = rest[..<start]
            return whole[start...]
        }
    }
}
