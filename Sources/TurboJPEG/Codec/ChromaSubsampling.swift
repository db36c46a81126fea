internal import CTurboJPEG

/// The number of pixels that share a chroma sample in a JPEG.
public enum ChromaSubsampling: Sendable, Hashable, CaseIterable {
    /// One chroma sample per pixel (`4:4:4`).
    case yuv444
    /// One chroma sample per 2x1 pixels (`4:2:2`).
    case yuv422
    /// One chroma sample per 2x2 pixels (`4:2:0`).
    case yuv420
    /// One chroma sample per 1x2 pixels (`4:4:0`).
    case yuv440
    /// One chroma sample per 4x1 pixels (`4:1:1`).
    case yuv411
    /// No chroma (`gray`).
    case gray

    /// The name that the command line uses, such as `4:2:0` or `gray`.
    public var name: String {
        switch self {
        case .yuv444: "4:4:4"
        case .yuv422: "4:2:2"
        case .yuv420: "4:2:0"
        case .yuv440: "4:4:0"
        case .yuv411: "4:1:1"
        case .gray: "gray"
        }
    }

    /// Creates the subsampling with a name; nil if there is none.
    public init?(name: String) {
        guard let subsampling = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = subsampling
    }

    /// The width in pixels of an MCU, the smallest unit that is coded as a whole (`tjMCUWidth`).
    package var mcuWidth: Int { 8 * pixelsPerChromaSample.width }

    /// The height in pixels of an MCU, the smallest unit that is coded as a whole (`tjMCUHeight`).
    package var mcuHeight: Int { 8 * pixelsPerChromaSample.height }

    /// The number of pixels that one chroma sample covers; one if there is no chroma.
    var pixelsPerChromaSample: (width: Int, height: Int) {
        switch self {
        case .yuv444, .gray: (1, 1)
        case .yuv422: (2, 1)
        case .yuv420: (2, 2)
        case .yuv440: (1, 2)
        case .yuv411: (4, 1)
        }
    }

    /// The library's constant for this subsampling.
    var rawValue: Int32 {
        switch self {
        case .yuv444: Int32(TJSAMP_444.rawValue)
        case .yuv422: Int32(TJSAMP_422.rawValue)
        case .yuv420: Int32(TJSAMP_420.rawValue)
        case .yuv440: Int32(TJSAMP_440.rawValue)
        case .yuv411: Int32(TJSAMP_411.rawValue)
        case .gray: Int32(TJSAMP_GRAY.rawValue)
        }
    }

    /// Creates the subsampling with the library's constant; nil for those that newer versions add.
    init?(rawValue: Int32) {
        guard let subsampling = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = subsampling
    }
}
