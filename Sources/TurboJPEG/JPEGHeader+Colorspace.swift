internal import CTurboJPEG

extension JPEGHeader {
    /// The meaning of a JPEG's components.
    public enum Colorspace: Sendable, Hashable, CaseIterable {
        /// Red, green and blue, without conversion.
        case rgb
        /// Luma and two chroma components, as in nearly all JPEGs.
        case ycbcr
        /// Luma only.
        case gray
        /// Cyan, magenta, yellow and black, for print; this module does not decode it.
        case cmyk
        /// CMYK converted to luma and chroma; this module does not decode it.
        case ycck

        /// Creates the color space with the library's constant.
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
}
