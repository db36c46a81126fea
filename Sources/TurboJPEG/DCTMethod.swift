internal import CTurboJPEG

/// The method that computes the discrete cosine transform.
public enum DCTMethod: Sendable, Hashable, CaseIterable {
    /// The accurate integer method (`TJFLAG_ACCURATEDCT`).
    case accurate
    /// A less accurate method (`TJFLAG_FASTDCT`): 5% faster decoding and no faster encoding on current processors.
    case fast

    /// The library's flag for this method.
    var flag: Int32 {
        switch self {
        case .accurate: TJFLAG_ACCURATEDCT
        case .fast: TJFLAG_FASTDCT
        }
    }
}
