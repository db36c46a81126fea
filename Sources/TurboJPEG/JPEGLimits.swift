/// What a JPEG may be to be decoded or transformed.
///
/// Each is checked on the JPEG's markers, before the library sees a byte and before memory for pixels is asked for. A value
/// that equals a limit is accepted.
public struct JPEGLimits: Sendable, Hashable {
    /// The largest width and height, of the JPEG and of the picture after scaling; 16,384 by default.
    public var maximumDimension = 16_384

    /// The largest product of width and height, of the JPEG and of the picture after scaling; 2^25 by default.
    public var maximumPixels = 1 << 25

    /// How many scans a progressive JPEG may have; 0, the default, refuses all progressive ones.
    ///
    /// Each scan goes over the whole picture: 94 kB with 490 of them take seconds and 190 MB. No sender of this wire makes
    /// progressive JPEGs. Sequential ones have a scan for each component at most, whatever is said here.
    public var maximumProgressiveScans = 0

    /// How many zero bytes may stand behind the JPEG's end; 10,240 by default, what senders pad short frames with.
    ///
    /// Other bytes may not, unless ``acceptsTrailingData`` says so.
    public var maximumPaddingBytes = 10_240

    /// Whether anything may stand behind the JPEG's end, which is ignored then; no by default.
    ///
    /// Cameras put further pictures there.
    public var acceptsTrailingData = false

    /// Whether a JPEG may use the standard's typical Huffman tables (ITU-T T.81, K.3) without defining any; no by default.
    ///
    /// The motion JPEG of webcams and of AVI files does.
    public var acceptsMissingHuffmanTables = false

    /// The defaults, for JPEGs that come from somebody else.
    public init() {}

    /// For files that the user has chosen: as the defaults, but with up to 100 progressive scans, with trailing data, and without
    /// Huffman tables.
    ///
    /// The progressive JPEGs of common programs have about ten scans.
    public static let ownFiles = {
        var limits = JPEGLimits()
        limits.maximumProgressiveScans = 100
        limits.acceptsTrailingData = true
        limits.acceptsMissingHuffmanTables = true
        return limits
    }()

    /// For looking at a header alone: whatever the library can read.
    static let any = {
        var limits = JPEGLimits()
        limits.maximumDimension = PixelLayout.maximumDimension
        limits.maximumPixels = .max
        limits.maximumProgressiveScans = .max
        limits.acceptsMissingHuffmanTables = true
        return limits
    }()
}
