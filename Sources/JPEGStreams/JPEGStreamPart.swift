/// A part of a stream.
package struct JPEGStreamPart: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        case image(JPEGStreamImage)
        /// A further image of a file, such as a gain map, or what programs write between images.
        ///
        /// They write zeros, white space, up to 4,096 bytes of text such as the headers of a multipart stream, and, before a
        /// marker, fill bytes (FF; ITU-T T.81, B.1.1.2).
        case padding
        /// Bytes that belong to no image.
        case damage
    }

    /// The place of its first byte in the stream.
    package let offset: Int
    package let byteCount: Int
    package let content: Content
}

/// A JPEG in a stream.
package struct JPEGStreamImage: Sendable, Equatable {
    /// The JPEG; if the stream has no end marker of it, one is appended.
    package let bytes: [UInt8]
    /// Whether the stream has its end marker.
    package let isComplete: Bool
    /// Whether zeros follow the data of a JPEG without an end marker: one of them may belong to it, which only a decoder can
    /// tell.
    package let isBeforeZeros: Bool
}

/// What programs write around frames: zeros up to a size, the headers of a multipart stream, fill bytes.
extension ArraySlice<UInt8> {
    /// More than the headers of a part have.
    private static var maximumTextByteCount: Int { 4096 }

    /// Whether bytes between two images are nothing else.
    var isPadding: Bool {
        let text = trimmingSuffix { $0 == 0xFF }.trimmingSuffix { $0 == 0 }.drop { $0 == 0 }
        return text.count <= Self.maximumTextByteCount && text.allSatisfy { $0 == 0 || Self.isText($0) }
    }

    /// The number of bytes of coded data before the padding at its end, and whether zeros are a part of that.
    var withoutPadding: (byteCount: Int, hasZeros: Bool) {
        let bare = trimmingSuffix { $0 == 0 }.withoutHeaders.trimmingSuffix { $0 == 0 }
        guard bare.endIndex < endIndex, self[bare.endIndex] == 0 else { return (bare.count, false) }
        // A byte FF of data is followed by a zero.
        return bare.last == 0xFF ? (bare.count + 1, false) : (bare.count, true)
    }

    /// The data without the headers at its end, or as much of them as there is: text from the dashes of a boundary on.
    private var withoutHeaders: Self {
        let text = self[suffix(Self.maximumTextByteCount).trimmingSuffix(while: Self.isText).endIndex...]
        let dashes: [UInt8] = [0x2D, 0x2D]
        guard let start = text.indices.first(where: { text[$0...].starts(with: dashes) }) else { return self }
        guard text[start...].contains(0x0A) || text[start...].dropFirst(3).suffix(2) == dashes[...] else { return self }
        let rest = self[..<start]
        return rest.last == 0x0A ? rest.dropLast(rest.dropLast().last == 0x0D ? 2 : 1) : rest
    }

    private static func isText(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) || (0x09...0x0D).contains(byte) }

    /// The elements without the last ones that satisfy a condition.
    private func trimmingSuffix(while condition: (UInt8) -> Bool) -> Self {
        self[..<((lastIndex { !condition($0) } ?? startIndex - 1) + 1)]
    }
}
