package import TurboJPEG

/// A way in which a JPEG deviates from the format, that libjpeg-turbo reads with a warning at most.
package struct DeviatingJPEG: Sendable, CustomStringConvertible {
    package let description: String
    /// The error without lenient limits.
    package let code: TurboJPEGError.Code
    /// Whether it needs three components.
    package let isForColor: Bool
    /// Whether it is found in sequential JPEGs only.
    package let isSequential: Bool
    /// Makes a JPEG that is as it should be deviate.
    package let apply: @Sendable ([UInt8]) -> [UInt8]

    private init(
        _ description: String,
        _ code: TurboJPEGError.Code = .malformed,
        isForColor: Bool = false,
        isSequential: Bool = false,
        _ apply: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) {
        self.description = description
        self.code = code
        self.isForColor = isForColor
        self.isSequential = isSequential
        self.apply = apply
    }

    package static let all = selections + identifiers + strayBytes + tables + segments + ends

    // MARK: The kinds

    private static let selections = [
        [0, 0, 0], [0, 1, 0], [0, 62, 0], [1, 63, 0], [63, 0, 0], [0, 255, 0], [0, 63, 1], [0, 63, 0x10],
    ].map { (selection: [UInt8]) in
        DeviatingJPEG("a scan of coefficients \(selection)", isSequential: true) { jpeg in
            edited(jpeg, 0xDA) { $0.replaceSubrange(($0.count - 3)..., with: selection) }
        }
    }

    private static let identifiers = [[1, 1, 1], [0, 0, 0], [1, 1, 3], [1, 2, 2], [1, 2, 1], [7, 7, 1]].map {
        (ids: [UInt8]) in
        DeviatingJPEG("components named \(ids)", isForColor: true, isSequential: true) { jpeg in
            let renamed = edited(jpeg, 0xC0) { header in
                for (number, id) in ids.enumerated() { header[10 + 3 * number] = id }
            }
            return edited(renamed, 0xDA) { scan in
                for (number, id) in ids.enumerated() { scan[5 + 2 * number] = id }
            }
        }
    }

    private static let strayBytes =
        [0xDB, 0xC4, 0xDA].flatMap { (marker: UInt8) in
            [[0], [0, 0, 0], [0xFF, 0], [0xFF, 0xD3], [1, 0xFF, 0, 0xFF, 0xD0, 0xFF, 0xFF, 1, 2]].map {
                (bytes: [UInt8]) in
                DeviatingJPEG("\(bytes) before marker \(String(marker, radix: 16))") {
                    HandmadeJPEG.inserting(bytes, before: marker, in: $0)
                }
            }
        } + [
            DeviatingJPEG("zeros between a comment after the image and its end") { jpeg in
                withoutEnd(jpeg) + HandmadeJPEG.segment(0xFE, [1]) + zeros(7) + [0xFF, 0xD9]
            }
        ]

    private static let tables = [
        DeviatingJPEG("an unused Huffman table without codes") {
            HandmadeJPEG.inserting(HandmadeJPEG.segment(0xC4, [3] + zeros(16)), before: 0xC4, in: $0)
        },
        DeviatingJPEG("an unused Huffman table with too many codes") {
            let table = HandmadeJPEG.segment(0xC4, [0x13, 3] + zeros(15) + zeros(3))
            return HandmadeJPEG.inserting(table, before: 0xDA, in: $0)
        },
        DeviatingJPEG("a Huffman table without codes that is defined again") {
            HandmadeJPEG.inserting(HandmadeJPEG.segment(0xC4, [0] + zeros(16)), before: 0xDB, in: $0)
        },
        DeviatingJPEG("an unused quantization table of precision 2") {
            let table = HandmadeJPEG.segment(0xDB, [0x23] + zeros(128))
            return HandmadeJPEG.inserting(table, before: 0xDA, in: $0)
        },
        DeviatingJPEG("a quantization table of precision 15") { jpeg in
            edited(jpeg, 0xDB) { segment in
                let values = segment[5..<69].flatMap { [0, $0] as [UInt8] }
                segment = HandmadeJPEG.segment(0xDB, [0xF0 | segment[4]] + values)
            }
        },
    ]

    private static let segments =
        [[0xFF, 0xFE, 0, 0], [0xFF, 0xFE, 0, 1], [0xFF, 0xE5, 0, 1], [0xFF, 0xDC, 0, 0]].map { (bytes: [UInt8]) in
            DeviatingJPEG("a segment that is too short, \(bytes)", bytes[1] == 0xDC ? .unsupported : .malformed) {
                HandmadeJPEG.inserting(bytes, before: 0xDB, in: $0)
            }
        } + [
            DeviatingJPEG("another height after the image", .unsupported) { jpeg in
                withoutEnd(jpeg) + HandmadeJPEG.segment(0xDC, [0, 9]) + [0xFF, 0xD9]
            },
            DeviatingJPEG("a conditioning of arithmetic coding", .unsupported) {
                HandmadeJPEG.inserting(HandmadeJPEG.segment(0xCC, [0, 0x10]), before: 0xC4, in: $0)
            },
            DeviatingJPEG("version 2 of JFIF") { jpeg in
                edited(jpeg, 0xE0) { $0[9] = 2 }
            },
            DeviatingJPEG("version 0 of JFIF, after the tables") { jpeg in
                let segment = HandmadeJPEG.segment(0xE0, Array("JFIF\0".utf8) + [0, 1, 0, 0, 1, 0, 1, 0, 0])
                return HandmadeJPEG.inserting(segment, before: 0xDA, in: jpeg)
            },
            DeviatingJPEG("transform 2 of Adobe", isForColor: true) { jpeg in
                let segment = HandmadeJPEG.segment(0xEE, Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, 2])
                return HandmadeJPEG.inserting(segment, before: 0xDB, in: edited(jpeg, 0xE0) { $0 = [] })
            },
        ]

    private static let ends = [
        DeviatingJPEG("no end", .truncated) { withoutEnd($0) },
        DeviatingJPEG("half of the end", .truncated) { Array($0.dropLast()) },
        DeviatingJPEG("padding in place of the end", .truncated) { withoutEnd($0) + zeros(500) },
        DeviatingJPEG("a comment in place of the end", .truncated) {
            withoutEnd($0) + HandmadeJPEG.segment(0xFE, [1, 2, 3])
        },
    ]

    // MARK: Making them

    private static func withoutEnd(_ jpeg: [UInt8]) -> [UInt8] { Array(jpeg.dropLast(2)) }

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    /// The same JPEG with its first segment of a kind changed.
    private static func edited(_ jpeg: [UInt8], _ marker: UInt8, _ change: (inout [UInt8]) -> Void) -> [UInt8] {
        guard let start = jpeg.firstIndex(ofMarker: marker, from: 2) else { return jpeg }
        let end = start + 2 + Int(jpeg[start + 2]) << 8 + Int(jpeg[start + 3])
        var segment = Array(jpeg[start..<end])
        change(&segment)
        return jpeg[..<start] + segment + jpeg[end...]
    }
}
