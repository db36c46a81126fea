/// The tables that a JPEG has defined so far.
struct JPEGTables: Sendable {
    /// What a segment with tables is worth.
    enum Verdict {
        case valid
        /// Not valid, but the library reads it, provided that the image uses none of its invalid tables.
        case deviating
        case invalid
    }

    /// In place of the length of a Huffman table's shortest code: the table was defined, and cannot be used.
    private static let unusable = UInt8.max

    private var quantization: UInt8 = 0
    /// The length of each Huffman table's shortest code, 1 to 16, or `unusable`; 0 if the table is not defined.
    private var shortestDC: SIMD4<UInt8> = .zero
    private var shortestAC: SIMD4<UInt8> = .zero

    func hasQuantization(_ id: Int) -> Bool {
        id < 8 && quantization & 1 << UInt8(truncatingIfNeeded: id) != 0
    }

    /// Returns the length in bits of the shortest code of a DC table; nil if the table cannot be used.
    ///
    /// With `hasStandard`, the standard's typical tables replace the first two if nothing defines those.
    func shortestCode(dc id: Int, orStandard hasStandard: Bool) -> Int? {
        Self.shortest(id, in: shortestDC, orStandard: hasStandard)
    }

    /// Returns the length in bits of the shortest code of an AC table; nil if the table cannot be used.
    func shortestCode(ac id: Int, orStandard hasStandard: Bool) -> Int? {
        Self.shortest(id, in: shortestAC, orStandard: hasStandard)
    }

    private static func shortest(_ id: Int, in lengths: SIMD4<UInt8>, orStandard hasStandard: Bool) -> Int? {
        guard 0..<4 ~= id, lengths[id] != unusable else { return nil }
        guard lengths[id] == 0 else { return Int(lengths[id]) }
        return hasStandard && id < 2 ? shortestStandardCode : nil
    }

    /// The length of the shortest code in the standard's typical Huffman tables (ITU-T T.81, K.3), for luma and for
    /// chroma.
    private static let shortestStandardCode = 2

    /// Parses the tables of a DQT segment, which may be empty.
    mutating func takeQuantization(_ bytes: Span<UInt8>, _ content: Range<Int>) -> Verdict {
        var verdict = Verdict.valid
        var index = content.lowerBound
        while index < content.upperBound {
            let (precision, id) = (bytes[index] >> 4, bytes[index] & 15)
            guard id <= 3 else { return .invalid }
            // The library takes any other precision for 1: two bytes a value.
            if precision > 1 { verdict = .deviating }
            index += 1 + (precision == 0 ? 64 : 128)
            quantization |= 1 << id
        }
        return index == content.upperBound ? verdict : .invalid
    }

    /// Parses the tables of a DHT segment, which may be empty.
    mutating func takeHuffman(_ bytes: Span<UInt8>, _ content: Range<Int>) -> Verdict {
        var verdict = Verdict.valid
        var index = content.lowerBound
        while index < content.upperBound {
            guard index + 17 <= content.upperBound else { return .invalid }
            let (kind, id) = (bytes[index] >> 4, Int(bytes[index] & 15))
            guard kind <= 1, id <= 3 else { return .invalid }
            var (codes, space, shortest) = (0, 0, UInt8(0))
            for length in 1...16 {
                let count = Int(bytes[index + length])
                codes += count
                // The share of all 16-bit words that the codes of this length take.
                space += count << (16 - length)
                if count > 0, shortest == 0 { shortest = UInt8(truncatingIfNeeded: length) }
            }
            guard codes <= 256 else { return .invalid }
            if codes == 0 || space > 1 << 16 { (verdict, shortest) = (.deviating, Self.unusable) }
            if kind == 0 { shortestDC[id] = shortest } else { shortestAC[id] = shortest }
            index += 17 + codes
        }
        return index == content.upperBound ? verdict : .invalid
    }
}
