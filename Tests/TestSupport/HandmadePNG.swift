/// A PNG put together chunk by chunk, without compression.
package struct HandmadePNG {
    /// The color types of PNG, by their numbers.
    package enum Kind: UInt8, CaseIterable, CustomStringConvertible {
        case gray = 0
        case rgb = 2
        case palette = 3
        case grayAlpha = 4
        case rgba = 6

        /// The number of samples of a pixel.
        package var channels: Int { [1, 0, 3, 1, 2, 0, 4][Int(rawValue)] }

        package var description: String { ["gray", "", "rgb", "palette", "gray+alpha", "", "rgba"][Int(rawValue)] }
    }

    package var width: Int
    package var height: Int
    package var kind: Kind
    /// The bits of a sample.
    package var depth: Int
    package var isInterlaced: Bool
    /// What precedes the pixels, whole chunks.
    package var chunks: [[UInt8]] = []
    /// The sample of a channel at a column and a row.
    package var sample: (_ x: Int, _ y: Int, _ channel: Int) -> Int

    package init(
        width: Int,
        height: Int,
        kind: Kind,
        depth: Int,
        isInterlaced: Bool = false,
        sample: @escaping (_ x: Int, _ y: Int, _ channel: Int) -> Int
    ) {
        (self.width, self.height, self.kind, self.depth) = (width, height, kind, depth)
        (self.isInterlaced, self.sample) = (isInterlaced, sample)
    }

    package var bytes: [UInt8] {
        Self.signature + header + chunks.joined() + Self.chunk("IDAT", data) + Self.chunk("IEND", [])
    }

    package static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    package var header: [UInt8] {
        Self.chunk(
            "IHDR",
            Self.number(width) + Self.number(height) + [UInt8(depth), kind.rawValue, 0, 0, isInterlaced ? 1 : 0]
        )
    }

    /// What the IDAT chunk contains.
    package var data: [UInt8] {
        guard isInterlaced else { return Self.deflated(rows(x: 0, y: 0, 1, 1)) }
        // The passes of Adam7: where each begins, and its steps.
        let passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
        return Self.deflated(passes.flatMap { rows(x: $0.0, y: $0.1, $0.2, $0.3) })
    }

    /// The rows of one pass, each with the filter that changes nothing.
    private func rows(x: Int, y: Int, _ stepX: Int, _ stepY: Int) -> [UInt8] {
        guard x < width, y < height else { return [] }
        return stride(from: y, to: height, by: stepY).flatMap { row in
            let samples = stride(from: x, to: width, by: stepX).flatMap { column in
                (0..<kind.channels).map { sample(column, row, $0) }
            }
            return [0] + pack(samples)
        }
    }

    private func pack(_ samples: [Int]) -> [UInt8] {
        if depth == 16 { return samples.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } }
        var bytes = [UInt8](repeating: 0, count: (samples.count * depth + 7) / 8)
        for (index, sample) in samples.enumerated() {
            let bit = index * depth
            bytes[bit / 8] |= UInt8(sample) << UInt8(8 - depth - bit % 8)
        }
        return bytes
    }

    // MARK: Chunks

    package static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let covered = Array(name.utf8) + content
        return number(content.count) + covered + number(Int(crc(covered)))
    }

    package static func number(_ value: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }

    /// A zlib stream whose blocks are stored.
    package static func deflated(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = [0x78, 0x01]
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(65_535)
            rest = rest.dropFirst(block.count)
            let count = UInt16(block.count)
            result += [rest.isEmpty ? 1 : 0, UInt8(count & 0xFF), UInt8(count >> 8)]
            result += [UInt8(~count & 0xFF), UInt8(~count >> 8)] + block
        } while !rest.isEmpty
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return result + number(Int(high << 16 | low))
    }

    /// A zlib stream of zeros, one byte for more than a hundred of them.
    package static func deflatedZeros(_ runs: Int) -> [UInt8] {
        var bits: [UInt8] = [1, 1, 0]
        // The code of the byte 0; then, as many times, the code of 258 bytes from one place before.
        bits += [0, 0, 1, 1, 0, 0, 0, 0]
        for _ in 0..<runs { bits += [1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0] }
        bits += [0, 0, 0, 0, 0, 0, 0]
        var bytes: [UInt8] = [0x78, 0x01]
        for start in stride(from: 0, to: bits.count, by: 8) {
            bytes.append(bits[start...].prefix(8).reversed().reduce(0) { $0 << 1 | $1 })
        }
        return bytes + number((1 + 258 * runs) % 65_521 << 16 | 1)
    }

    private static let table: [UInt32] = (0..<256 as Range<UInt32>).map { start in
        (0..<8).reduce(start) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }

    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0) { table[Int(($0 ^ UInt32($1)) & 0xFF)] ^ $0 >> 8 }
    }
}
