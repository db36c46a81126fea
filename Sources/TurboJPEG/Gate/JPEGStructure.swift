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
