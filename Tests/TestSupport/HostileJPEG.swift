package import TurboJPEG

/// A JPEG that must not be decoded, and what must be said of it.
package struct HostileJPEG: Sendable, CustomStringConvertible {
    package let name: String
    package let bytes: [UInt8]
    package let code: TurboJPEGError.Code

    package var description: String { name }

    private init(_ name: String, _ bytes: [UInt8], _ code: TurboJPEGError.Code) {
        self.name = name
        self.bytes = bytes
        self.code = code
    }

    /// A JPEG that can be decoded, of 75x51 pixels.
    package static let good = (try? JPEGEncoder().encode(testImage(75, 51))) ?? []

    private static let quantization = HandmadeJPEG.segment(0xDB, [0] + [UInt8](repeating: 1, count: 64))
    private static let gray: [(id: UInt8, sampling: UInt8)] = [(1, 0x11)]

    /// Those that are refused by their markers, before memory for pixels is asked for.
    package static let refusedByGate =
        form + kind + size + tables + scans + ends

    /// Those whose damage shows in the compressed data alone.
    package static let refusedByLibrary = [
        HostileJPEG("zeros for data", Array(good.prefix(700)) + zeros(800) + [0xFF, 0xD9], .corrupt),
        HostileJPEG("bits that are no code", good.prefix(640) + ones(60) + good.dropFirst(700), .corrupt),
        HostileJPEG("restart markers where none are due", restarted(good), .corrupt),
    ]

    package static let all = refusedByGate + refusedByLibrary

    private static let form = [
        HostileJPEG("no bytes", [], .notJPEG),
        HostileJPEG("one byte", [0xFF], .notJPEG),
        HostileJPEG("text", Array("HTTP/1.1 200 OK".utf8), .notJPEG),
        HostileJPEG("a PNG", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13], .notJPEG),
        HostileJPEG("a start alone", [0xFF, 0xD8], .truncated),
        HostileJPEG("a start and an end", [0xFF, 0xD8, 0xFF, 0xD9], .noPicture),
        HostileJPEG("a start and zeros", [0xFF, 0xD8] + zeros(500), .malformed),
        HostileJPEG("tables alone", [0xFF, 0xD8] + quantization + [0xFF, 0xD9], .noPicture),
        HostileJPEG("a frame header alone", HandmadeJPEG.repeating(0xC4, times: 0, in: cutBeforeScan), .noPicture),
        HostileJPEG("a header without data", HandmadeJPEG.header(width: 8, height: 8), .truncated),
        HostileJPEG("half of the data", Array(good.prefix(good.count / 2)), .truncated),
        HostileJPEG("all but the end", Array(good.dropLast(2)), .truncated),
        HostileJPEG("a segment that is cut", Array(good.prefix(30)), .truncated),
        HostileJPEG("a segment shorter than its length", inserted([0xFF, 0xE0, 0, 1]), .malformed),
        HostileJPEG("bytes between segments", inserted([0, 0, 0]), .malformed),
        HostileJPEG("a second start", inserted([0xFF, 0xD8]), .malformed),
        HostileJPEG("a marker that means nothing", inserted([0xFF, 0x02]), .malformed),
        HostileJPEG("a restart outside of a scan", inserted([0xFF, 0xD0]), .malformed),
    ]

    private static let kind = [
        HostileJPEG("490 progressive scans", progressive(scans: 490), .unsupported),
        HostileJPEG("arithmetic coding", HandmadeJPEG.header(width: 8, height: 8, frame: 0xC9), .unsupported),
        HostileJPEG("arithmetic conditioning", inserted(HandmadeJPEG.segment(0xCC, [0, 1])), .unsupported),
        HostileJPEG("12 bits a sample", HandmadeJPEG.header(width: 8, height: 8, precision: 12), .unsupported),
        HostileJPEG("lossless", HandmadeJPEG.header(width: 8, height: 8, frame: 0xC3), .unsupported),
        HostileJPEG("hierarchical", HandmadeJPEG.header(width: 8, height: 8, frame: 0xC5), .unsupported),
        HostileJPEG("hierarchical progression", inserted(HandmadeJPEG.segment(0xDE, [8])), .unsupported),
        HostileJPEG("a height that follows", inserted(HandmadeJPEG.segment(0xDC, [0, 8])), .unsupported),
        HostileJPEG("CMYK", fourComponents(adobeTransform: 0), .unsupported),
        HostileJPEG("YCCK", fourComponents(adobeTransform: 2), .unsupported),
        HostileJPEG(
            "two components",
            HandmadeJPEG.header(width: 8, height: 8, components: [(1, 0x11), (2, 0x11)]),
            .unsupported
        ),
    ]

    private static let size = [
        HostileJPEG("4096x4096 in no data", HandmadeJPEG.plain(width: 4096, height: 4096, bytes: 0), .truncated),
        HostileJPEG(
            "a byte less than it takes",
            HandmadeJPEG.plain(width: 80, height: 80, bytes: 24),
            .truncated
        ),
        HostileJPEG("65,500x65,500", HandmadeJPEG.header(width: 65_500, height: 65_500), .tooLarge),
        HostileJPEG("a width of 16,385", HandmadeJPEG.header(width: 16_385, height: 1), .tooLarge),
        HostileJPEG("a height of 16,385", HandmadeJPEG.header(width: 1, height: 16_385), .tooLarge),
        HostileJPEG("too many pixels", HandmadeJPEG.header(width: 8_192, height: 4_097), .tooLarge),
        HostileJPEG("a width of 65,535", HandmadeJPEG.header(width: 65_535, height: 1), .tooLarge),
        HostileJPEG("no width", HandmadeJPEG.header(width: 0, height: 8), .malformed),
        HostileJPEG("no height", HandmadeJPEG.header(width: 8, height: 0), .malformed),
    ]

    private static let tables = [
        HostileJPEG("no quantization table", HandmadeJPEG.repeating(0xDB, times: 0, in: good), .missingTable),
        HostileJPEG("no Huffman table", HandmadeJPEG.repeating(0xC4, times: 0, in: good), .missingTable),
        HostileJPEG(
            "a fifth quantization table",
            inserted(HandmadeJPEG.segment(0xDB, [4] + zeros(64))),
            .malformed
        ),
        HostileJPEG(
            "a short quantization table",
            inserted(HandmadeJPEG.segment(0xDB, [0] + zeros(63))),
            .malformed
        ),
        HostileJPEG("a fifth Huffman table", inserted(huffman(4, [1])), .malformed),
        HostileJPEG("more Huffman codes than bits allow", inserted(huffman(0, [3])), .malformed),
        HostileJPEG("300 Huffman codes", inserted(huffman(0, zeros(8) + [150, 150])), .malformed),
        HostileJPEG("a Huffman table without codes", inserted(huffman(0, [])), .malformed),
        HostileJPEG("a restart interval of three bytes", inserted(HandmadeJPEG.segment(0xDD, [0, 0, 1])), .malformed),
    ]

    private static let scans = [
        HostileJPEG("5,000 times the same scan", HandmadeJPEG.repeatingScan(5_000, in: good), .malformed),
        HostileJPEG("two frame headers", HandmadeJPEG.repeating(0xC0, times: 2, in: good), .malformed),
        HostileJPEG("a scan without a frame", HandmadeJPEG.repeating(0xC0, times: 0, in: good), .malformed),
        HostileJPEG(
            "sampling factors of 0",
            HandmadeJPEG.header(width: 8, height: 8, components: [(1, 0)]),
            .malformed
        ),
        HostileJPEG(
            "odd sampling of many blocks",
            HandmadeJPEG.header(width: 8, height: 8, components: [(1, 0x33), (2, 0x12), (3, 0x21)]),
            .malformed
        ),
        HostileJPEG(
            "components of one name",
            HandmadeJPEG.header(width: 8, height: 8, components: [(1, 0x11), (1, 0x11), (3, 0x11)]),
            .malformed
        ),
        HostileJPEG("a scan of another component", changedScan { $0[5] = 9 }, .malformed),
        HostileJPEG("a scan with another table", changedScan { $0[6] = 0x22 }, .missingTable),
        HostileJPEG("a scan of some coefficients", changedScan { $0[$0.count - 2] = 5 }, .malformed),
        HostileJPEG("a scan of five components", changedScan { $0[4] = 5 }, .malformed),
    ]

    private static let ends = [
        HostileJPEG("a byte after the end", good + [1], .trailingData),
        HostileJPEG("two images", good + good, .trailingData),
        HostileJPEG("too much padding", good + zeros(10_241), .trailingData),
    ]
}

extension HostileJPEG {
    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
    private static func ones(_ count: Int) -> [UInt8] { (0..<count).map { $0 % 2 == 0 ? 0xFF : 0 } }

    /// The good one with bytes before its frame header.
    private static func inserted(_ bytes: [UInt8]) -> [UInt8] {
        HandmadeJPEG.inserting(bytes, before: 0xC0, in: good)
    }

    private static var cutBeforeScan: [UInt8] {
        good[..<(good.firstIndex(ofMarker: 0xDA, from: 2) ?? 0)] + [0xFF, 0xD9]
    }

    /// A Huffman table for DC with so many codes of 1 bit, 2 bits, and so on.
    private static func huffman(_ id: UInt8, _ counts: [UInt8]) -> [UInt8] {
        let symbols = zeros(counts.reduce(0) { $0 + Int($1) })
        return HandmadeJPEG.segment(0xC4, [id] + counts + zeros(16 - counts.count) + symbols)
    }

    private static func changedScan(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
        guard let start = good.firstIndex(ofMarker: 0xDA, from: 2) else { return [] }
        var scan = Array(good[start..<(start + 14)])
        change(&scan)
        return good[..<start] + scan + good[(start + 14)...]
    }

    private static func restarted(_ jpeg: [UInt8]) -> [UInt8] {
        jpeg.prefix(jpeg.count - 300) + [0xFF, 0xD3] + jpeg.suffix(300)
    }

    private static func fourComponents(adobeTransform: UInt8) -> [UInt8] {
        let components = (1...4).map { (id: UInt8($0), sampling: UInt8(0x11)) }
        return HandmadeJPEG.header(width: 8, height: 8, components: components, adobeTransform: adobeTransform)
            + [0, 0xFF, 0xD9]
    }

    /// A progressive image, whose scans refine the same bits again and again.
    package static func progressive(scans: Int) -> [UInt8] {
        let header = HandmadeJPEG.header(width: 64, height: 64, components: gray, frame: 0xC2)
        let start = header.firstIndex(ofMarker: 0xDA, from: 2) ?? 0
        let scan = HandmadeJPEG.segment(0xDA, [1, 1, 0, 0, 0, 0]) + zeros(8)
        return header[..<start] + (0..<scans).flatMap { _ in scan } + [0xFF, 0xD9]
    }
}
