internal import CTurboJPEG

/// How the discrete cosine transform is computed.
public enum DCTMethod: Sendable, Hashable, CaseIterable {
    /// The exact integer method (`TJFLAG_ACCURATEDCT`).
    case accurate
    /// A rougher one (`TJFLAG_FASTDCT`), 5 % faster decoding and no faster encoding on current processors.
    case fast

    /// The library's flag for it.
    var flag: Int32 {
        switch self {
        case .accurate: TJFLAG_ACCURATEDCT
        case .fast: TJFLAG_FASTDCT
        }
    }
}
