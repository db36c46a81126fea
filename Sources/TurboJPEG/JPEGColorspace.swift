internal import CTurboJPEG

/// What the components of a JPEG mean.
public enum JPEGColorspace: Sendable, Hashable, CaseIterable {
    /// Red, green and blue, without a conversion.
    case rgb
    /// Luma and two chroma components: what nearly all JPEGs have.
    case ycbcr
    /// Luma alone.
    case gray
    /// Cyan, magenta, yellow and black, for print; not decoded here.
    case cmyk
    /// The same after conversion to luma and chroma; not decoded here.
    case ycck

    /// The one that has this number in the library.
    init?(rawValue: Int32) {
        switch UInt32(bitPattern: rawValue) {
        case TJCS_RGB.rawValue: self = .rgb
        case TJCS_YCbCr.rawValue: self = .ycbcr
        case TJCS_GRAY.rawValue: self = .gray
        case TJCS_CMYK.rawValue: self = .cmyk
        case TJCS_YCCK.rawValue: self = .ycck
        default: return nil
        }
    }
}
