/// JPEGs put together marker by marker, most of them wrong.
package enum HandmadeJPEG {
    /// Huffman tables with a single code each, `0`: a block without any differences.
    package static let huffmanTables =
        segment(0xC4, [0x00, 1] + [UInt8](repeating: 0, count: 15) + [0])
        + segment(0xC4, [0x10, 1] + [UInt8](repeating: 0, count: 15) + [0])

    /// A header without any compressed data, up to and with the start of the scan.
    package static func header(
        width: Int,
        height: Int,
        components: [(id: UInt8, sampling: UInt8)] = [(1, 0x22), (2, 0x11), (3, 0x11)],
        precision: UInt8 = 8,
        frame: UInt8 = 0xC0,
        quantization: Bool = true,
        huffman: Bool = true,
        adobeTransform: UInt8? = nil
    ) -> [UInt8] {
        var bytes: [UInt8] = [0xFF, 0xD8]
        if let adobeTransform {
            bytes += segment(0xEE, Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, adobeTransform])
        }
        if quantization {
            bytes += segment(0xDB, [0] + [UInt8](repeating: 1, count: 64))
        }
        let size = [UInt8(height >> 8), UInt8(height & 255), UInt8(width >> 8), UInt8(width & 255)]
        bytes += segment(
            frame,
            [precision] + size + [UInt8(components.count)] + components.flatMap { [$0.id, $0.sampling, 0] }
        )
        if huffman { bytes += huffmanTables }
        bytes += segment(0xDA, [UInt8(components.count)] + components.flatMap { [$0.id, 0] } + [0, 63, 0])
        return bytes
    }

    /// A marker with its length and content.
    package static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        let length = content.count + 2
        return [0xFF, marker, UInt8(length >> 8), UInt8(length & 255)] + content
    }

    /// A gray image without any detail, in the fewest bytes there can be, two bits a block, or in others.
    package static func plain(width: Int, height: Int, bytes: Int? = nil) -> [UInt8] {
        let blocks = ((width + 7) / 8) * ((height + 7) / 8)
        let data = [UInt8](repeating: 0, count: bytes ?? (blocks + 3) / 4)
        return header(width: width, height: height, components: [(1, 0x11)]) + data + [0xFF, 0xD9]
    }

    /// The same JPEG with bytes put in before its first marker of a kind.
    package static func inserting(_ bytes: [UInt8], before marker: UInt8, in jpeg: [UInt8]) -> [UInt8] {
        guard let index = jpeg.firstIndex(ofMarker: marker, from: 2) else { return jpeg }
        return jpeg[..<index] + bytes + jpeg[index...]
    }

    /// The same JPEG with its scan written several times.
    package static func repeatingScan(_ times: Int, in jpeg: [UInt8]) -> [UInt8] {
        guard let start = jpeg.firstIndex(ofMarker: 0xDA, from: 2) else { return jpeg }
        let scan = jpeg[start..<(jpeg.count - 2)]
        return jpeg[..<start] + (0..<times).flatMap { _ in scan } + jpeg.suffix(2)
    }

    /// The same JPEG with its segments of one kind written several times, or not at all.
    package static func repeating(_ marker: UInt8, times: Int, in jpeg: [UInt8]) -> [UInt8] {
        var result = Array(jpeg.prefix(2))
        var position = 2
        while position + 3 < jpeg.count, jpeg[position] == 0xFF, jpeg[position + 1] != 0xDA {
            let end = position + 2 + Int(jpeg[position + 2]) << 8 + Int(jpeg[position + 3])
            let isMeant = jpeg[position + 1] == marker
            for _ in 0..<(isMeant ? times : 1) { result += jpeg[position..<end] }
            position = end
        }
        return result + jpeg[position...]
    }
}

extension [UInt8] {
    /// The position of the next marker of a kind, or nil if there is none.
    package func firstIndex(ofMarker marker: UInt8, from start: Int) -> Int? {
        (start..<Swift.max(start, count - 1)).first { self[$0] == 0xFF && self[$0 + 1] == marker }
    }
}
