/// The tables that a JPEG has defined so far.
struct JPEGTables: Sendable {
    private var quantization: UInt8 = 0
    /// The length of each Huffman table's shortest code, 1 to 16; 0 if the table is not defined.
    private var shortestDC: SIMD4<UInt8> = .zero
    private var shortestAC: SIMD4<UInt8> = .zero

    func hasQuantization(_ id: Int) -> Bool {
        id < 8 && quantization & 1 << UInt8(truncatingIfNeeded: id) != 0
    }

    /// Returns the length in bits of the shortest code of a DC table; nil if the table is not defined.
    func shortestCode(dc id: Int) -> Int? { Self.shortest(id, in: shortestDC) }

    /// Returns the length in bits of the shortest code of an AC table; nil if the table is not defined.
    func shortestCode(ac id: Int) -> Int? { Self.shortest(id, in: shortestAC) }

    private static func shortest(_ id: Int, in lengths: SIMD4<UInt8>) -> Int? {
        guard 0..<4 ~= id, lengths[id] > 0 else { return nil }
        return Int(lengths[id])
    }

    /// The length of the shortest code in the standard's typical Huffman tables (ITU-T T.81, K.3), for luma and for
    /// chroma.
    static let shortestStandardCode = 2

    /// Parses the tables of a DQT segment, which may be empty; returns false if it is invalid.
    mutating func takeQuantization(_ bytes: Span<UInt8>, _ content: Range<Int>) -> Bool {
        var index = content.lowerBound
        while index < content.upperBound {
            let (precision, id) = (bytes[index] >> 4, bytes[index] & 15)
            guard precision <= 1, id <= 3 else { return false }
            index += 1 + 64 * (Int(precision) + 1)
            quantization |= 1 << id
        }
        return index == content.upperBound
    }

    /// Parses the tables of a DHT segment, which may be empty; returns false if it or one of its tables is invalid.
    mutating func takeHuffman(_ bytes: Span<UInt8>, _ content: Range<Int>) -> Bool {
        var index = content.lowerBound
        while index < content.upperBound {
            guard index + 17 <= content.upperBound else { return false }
            let (kind, id) = (bytes[index] >> 4, Int(bytes[index] & 15))
            guard kind <= 1, id <= 3 else { return false }
            var (codes, space, shortest) = (0, 0, UInt8(0))
            for length in 1...16 {
                let count = Int(bytes[index + length])
                codes += count
                // The share of all 16-bit words that the codes of this length take.
                space += count << (16 - length)
                if count > 0, shortest == 0 { shortest = UInt8(truncatingIfNeeded: length) }
            }
            guard 1...256 ~= codes, space <= 1 << 16 else { return false }
            if kind == 0 { shortestDC[id] = shortest } else { shortestAC[id] = shortest }
            index += 17 + codes
        }
        return index == content.upperBound
    }
}
