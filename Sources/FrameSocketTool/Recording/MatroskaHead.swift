/// How an element begins: its ID, and the size of its content.
struct MatroskaHead {
    /// What some bytes are as the beginning of an element.
    enum Parsed {
        case head(MatroskaHead)
        /// The bytes end within it.
        case incomplete
        /// No element begins so.
        case malformed
    }

    let id: UInt32
    /// nil if it is unknown.
    let size: UInt64?
    /// The number of bytes of ID and size.
    let length: Int

    static let maximumLength = 12

    var element: EBML? { EBML(rawValue: id) }

    static func parse(_ bytes: ArraySlice<UInt8>) -> Parsed {
        guard let first = bytes.first else { return .incomplete }
        let idLength = first.leadingZeroBitCount + 1
        guard idLength <= 4 else { return .malformed }
        let id = bytes.prefix(idLength)
        let rest = bytes.dropFirst(idLength)
        guard let sizeStart = rest.first else { return .incomplete }
        guard sizeStart != 0 else { return .malformed }
        guard let (size, sizeLength) = MatroskaBlock.number(in: rest) else { return .incomplete }
        let isUnknown = size == (1 << (7 * UInt64(sizeLength))) - 1
        return .head(
            MatroskaHead(
                id: id.reduce(0) { $0 << 8 | UInt32($1) },
                size: isUnknown ? nil : size,
                length: idLength + sizeLength
            )
        )
    }

    // MARK: Kinds

    /// A file's and a segment's own elements (RFC 9559, 5.1), which are never within another one.
    private static let top: Set<EBML> = [
        .header, .segment, .seekHead, .info, .tracks, .cluster, .cues, .attachments, .chapters, .tags,
    ]
    /// Elements that may be anywhere.
    private static let global: Set<EBML> = [.void, .checksum]

    /// The IDs, as they are written, of what may be in a segment.
    static let segmentIDs = top.union(global).map(\.id)

    var isTop: Bool { element.map(Self.top.contains) ?? false }
    var isGlobal: Bool { element.map(Self.global.contains) ?? false }

    /// Whether its content is read as that of what contains it, which does not take its size.
    var isEntered: Bool {
        switch element {
        case .segment, .cluster, .info, .tracks, .trackEntry, .blockGroup, .contentEncodings, .contentEncoding,
            .contentCompression:
            true
        default: false
        }
    }
}
