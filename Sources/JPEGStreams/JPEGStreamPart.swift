/// A part of a stream: an image, or bytes that belong to none.
package enum JPEGStreamPart: Sendable, Equatable {
    case image(JPEGStreamImage)
    /// The second or a later image of one file, such as a gain map, as the first image of the file states it.
    case furtherImage(offset: Int, byteCount: Int)
    case run(JPEGStreamRun)

    /// The number of bytes of the stream.
    package var byteCount: Int {
        switch self {
        case .image(let image): image.byteCount
        case .furtherImage(_, let byteCount): byteCount
        case .run(let run): run.byteCount
        }
    }
}

/// A JPEG in a stream.
package struct JPEGStreamImage: Sendable, Equatable {
    /// The JPEG; if the stream has no end marker of it, one is appended.
    package let bytes: [UInt8]
    /// The place of its first byte in the stream.
    package let offset: Int
    /// The number of bytes of the stream that belong to it.
    package let byteCount: Int
    /// The size that its frame header states, in pixels; the height may be 0.
    package let width: Int
    package let height: Int
    /// Whether the stream has its end marker.
    package let isComplete: Bool
    /// Whether zeros follow the data of a JPEG without an end marker: one of them may belong to it, which only a decoder can
    /// tell.
    package let isBeforeZeros: Bool
}

/// Bytes of a stream that belong to no image.
package struct JPEGStreamRun: Sendable, Equatable {
    /// The place of the first byte in the stream.
    package let offset: Int
    package let byteCount: Int
    /// Whether this is what programs write between images: zeros, and between them white space, or up to 4,096 bytes of text,
    /// such as the headers of a multipart stream.
    package let isSeparator: Bool

    private static let maximumTextByteCount = 4096

    static func isSeparator(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let last = bytes.lastIndex(where: { $0 != 0 }) else { return true }
        let text = bytes[...last].drop { $0 == 0 }
        return text.count <= maximumTextByteCount
            && text.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0 || (0x09...0x0D).contains($0) }
    }
}
