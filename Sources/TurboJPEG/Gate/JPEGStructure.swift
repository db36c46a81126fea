/// The positions of a JPEG's parts and the content of its markers, known before the library sees a byte.
struct JPEGStructure: Sendable, Equatable {
    /// A component, as stated in the frame header.
    struct Component: Sendable, Equatable {
        let id: UInt8
        /// Sampling factors, 1 to 4.
        let horizontal: Int
        let vertical: Int
        let quantizationTable: Int
    }

    /// A scan: its header, and the compressed data after it.
    struct Scan: Sendable, Equatable {
        /// The segment, including its marker.
        let header: Range<Int>
        /// The compressed data, including restart markers.
        var data: Range<Int>
        /// The number of MCUs between two restart markers; 0 if there are none.
        let restartInterval: Int
    }

    /// The marker of the frame header: C0 for baseline, C1 for extended sequential, C2 for progressive.
    var process: UInt8 = 0
    /// The segment of the frame header, including its marker.
    var frameHeader = 0..<0
    var width = 0
    var height = 0
    var components: [Component] = []
    var scans: [Scan] = []
    /// The offset after the marker that ends the JPEG, or after the last byte if there is none.
    var end = 0
    /// What to change so that the library reads the JPEG without a warning.
    var repair = JPEGRepair()

    var isProgressive: Bool { process == JPEGMarker.progressiveFrame }

    /// The largest sampling factors, which determine the pixels that an MCU covers: 8 for each.
    var maximumHorizontal: Int { components.reduce(1) { max($0, $1.horizontal) } }
    var maximumVertical: Int { components.reduce(1) { max($0, $1.vertical) } }

    /// The height in pixels of an MCU, in a scan of all components.
    var mcuHeight: Int { 8 * maximumVertical }

    /// The subsampling, if it is stated as encoders do: factors of 1 for chroma, and those of an MCU for luma.
    var subsampling: ChromaSubsampling? {
        guard components.count == 3 else { return components.count == 1 ? .gray : nil }
        let luma = (width: components[0].horizontal, height: components[0].vertical)
        guard components.dropFirst().allSatisfy({ $0.horizontal == 1 && $0.vertical == 1 }) else { return nil }
        return ChromaSubsampling.allCases.first { $0 != .gray && $0.pixelsPerChromaSample == luma }
    }

    /// Returns the number of 8x8 blocks of a component in a scan, in whole MCUs if the scan codes other components too.
    func blockCount(of component: Component, isAlone: Bool) -> Int {
        if isAlone {
            let columns = Self.ceiling(width * component.horizontal, by: 8 * maximumHorizontal)
            let rows = Self.ceiling(height * component.vertical, by: 8 * maximumVertical)
            return columns * rows
        }
        let columns = Self.ceiling(width, by: 8 * maximumHorizontal)
        let rows = Self.ceiling(height, by: 8 * maximumVertical)
        return columns * rows * component.horizontal * component.vertical
    }

    private static func ceiling(_ dividend: Int, by divisor: Int) -> Int {
        (dividend + divisor - 1) / divisor
    }
}

/// The second bytes of markers.
enum JPEGMarker {
    static let temporary: UInt8 = 0x01
    static let start: UInt8 = 0xD8
    static let end: UInt8 = 0xD9
    static let scan: UInt8 = 0xDA
    static let quantizationTables: UInt8 = 0xDB
    static let huffmanTables: UInt8 = 0xC4
    static let restartInterval: UInt8 = 0xDD
    /// The height of the image (DNL).
    static let lineCount: UInt8 = 0xDC
    static let jfif: UInt8 = 0xE0
    static let adobe: UInt8 = 0xEE
    static let progressiveFrame: UInt8 = 0xC2
    static let sequentialFrames: ClosedRange<UInt8> = 0xC0...0xC1
    static let restarts: ClosedRange<UInt8> = 0xD0...0xD7

    /// Whether a segment states the size of an image: a frame header of any kind, or what precedes a hierarchy of them.
    static func statesSize(_ marker: UInt8) -> Bool {
        marker == 0xDE || (0xC0...0xCF ~= marker && ![0xC4, 0xC8, 0xCC].contains(marker))
    }

    /// Whether a segment's content is of no interest to the library, which skips it: DNL, APP and COM.
    static func isSkipped(_ marker: UInt8) -> Bool { marker == lineCount || marker == 0xFE || 0xE0...0xEF ~= marker }

    /// Whether the library reads a JPEG all the same if it is neither arithmetic nor of unknown height: DAC and DNL.
    static func isHarmless(_ marker: UInt8) -> Bool { marker == 0xCC || marker == lineCount }

    /// Returns the unsupported feature that a marker requires; nil for all other markers.
    static func unsupportedFeature(_ marker: UInt8) -> String? {
        switch marker {
        case 0xC3: "lossless coding"
        case 0xC5...0xC7, 0xDE, 0xDF: "hierarchical coding"
        case 0xC9...0xCC, 0xCD...0xCF: "arithmetic coding"
        case 0xDC: "a height that follows the image (DNL)"
        case 0xC8, 0xF0...0xFD: "an extension of the format"
        default: nil
        }
    }
}

/// The changes that make a JPEG that deviates from the format one that the library reads without a warning.
///
/// With a warning the library could not be told to stop at damaged data. What it decodes is the same with the changes
/// as without them.
struct JPEGRepair: Sendable, Equatable {
    /// Bytes to overwrite.
    private struct Patch: Sendable, Equatable {
        let range: Range<Int>
        let byte: UInt8
    }

    /// The maximum number of patches: nothing that a camera writes has nearly as many, and each takes memory.
    private static let maximumPatches = 1_000

    private var patches: [Patch] = []
    /// The offset at which the marker that ends the image is missing.
    var missingEnd: Int?

    /// Whether there are more changes than anybody should have to make.
    var isTooMuch: Bool { patches.count > Self.maximumPatches }

    /// Adds bytes to overwrite with others.
    mutating func set(_ range: Range<Int>, to byte: UInt8) {
        patches.append(Patch(range: range, byte: byte))
    }

    /// Calls a closure with the changed bytes; with the same ones if there is nothing to change.
    func apply<Result>(
        to jpeg: Span<UInt8>,
        _ body: (Span<UInt8>) throws(TurboJPEGError) -> Result
    ) throws(TurboJPEGError) -> Result {
        guard self != JPEGRepair() else { return try body(jpeg) }
        let kept = missingEnd ?? jpeg.count
        var bytes: [UInt8] = []
        bytes.reserveCapacity(kept + 2)
        unsafe jpeg.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0[..<kept]) }
        for patch in patches {
            for index in patch.range { bytes[index] = patch.byte }
        }
        if missingEnd != nil { bytes += [0xFF, JPEGMarker.end] }
        let changed = bytes[...]
        return try body(changed.span)
    }
}

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
