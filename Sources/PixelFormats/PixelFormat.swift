/// The arrangement of an image's bytes in memory: of the images that are encoded and decoded, and of those in a shared
/// buffer, where its raw value is the word in the field `Shared-Format`.
///
/// Packed formats store all channels of a pixel together, in the order in which the name lists them, from the lowest to
/// the highest address. Planar formats are full-range YCbCr as defined by JFIF, with chroma at half the size in both
/// directions; odd sizes round up.
///
/// Decoding sets the fourth byte of every four-byte pixel to 255: alpha, and the unused byte of `bgrx` as well.
/// Encoding ignores it.
public enum PixelFormat: String, Sendable, Hashable, CaseIterable {
    /// Blue, green, red, alpha; 4 bytes per pixel.
    case bgra
    /// Red, green, blue, alpha; 4 bytes per pixel.
    case rgba
    /// Alpha, red, green, blue; 4 bytes per pixel.
    case argb
    /// Alpha, blue, green, red; 4 bytes per pixel.
    case abgr
    /// Blue, green, red and an unused byte, which decoding sets to 255; 4 bytes per pixel.
    case bgrx
    /// Red, green, blue; 3 bytes per pixel.
    case rgb
    /// Blue, green, red; 3 bytes per pixel.
    case bgr
    /// Luma only; 1 byte per pixel.
    case gray
    /// Three planes, Y, Cb and Cr; chroma at half the size.
    case i420
    /// Two planes, Y and interleaved Cb and Cr; chroma at half the size.
    case nv12

    /// Whether luma and chroma are in separate planes.
    @inlinable
    public var isPlanar: Bool { planeCount > 1 }

    /// The number of planes: 1 for packed formats, 2 for `nv12`, 3 for `i420`.
    @inlinable
    public var planeCount: Int {
        switch self {
        case .i420: 3
        case .nv12: 2
        default: 1
        }
    }

    /// The number of bytes of one sample of the first plane: a whole pixel in packed formats, 1 in planar ones.
    @inlinable
    public var bytesPerPixel: Int {
        switch self {
        case .bgra, .rgba, .argb, .abgr, .bgrx: 4
        case .rgb, .bgr: 3
        case .gray, .i420, .nv12: 1
        }
    }

    /// Returns the number of bytes of one sample of a plane; the chroma plane of `nv12` has pairs.
    @inlinable package func bytesPerSample(plane: Int) -> Int {
        self == .nv12 && plane == 1 ? 2 : bytesPerPixel
    }

    /// Returns the width of a plane in samples, for an image of this width.
    @inlinable package func planeWidth(_ plane: Int, width: Int) -> Int {
        plane == 0 ? width : width / 2 + width % 2
    }

    /// Returns the height of a plane in rows, for an image of this height.
    @inlinable package func planeHeight(_ plane: Int, height: Int) -> Int {
        plane == 0 ? height : height / 2 + height % 2
    }

    /// The offsets of red, green and blue in a packed pixel; all the same for gray and for luma planes.
    package var channelOffsets: (red: Int, green: Int, blue: Int) {
        switch self {
        case .bgra, .bgrx, .bgr: (2, 1, 0)
        case .rgba, .rgb: (0, 1, 2)
        case .argb: (1, 2, 3)
        case .abgr: (3, 2, 1)
        case .gray, .i420, .nv12: (0, 0, 0)
        }
    }

    /// The offset of the byte that is 255 in an opaque pixel; nil if there is none.
    package var opaqueOffset: Int? {
        switch self {
        case .bgra, .rgba, .bgrx: 3
        case .argb, .abgr: 0
        case .rgb, .bgr, .gray, .i420, .nv12: nil
        }
    }
}
