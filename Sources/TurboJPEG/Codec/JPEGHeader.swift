internal import CTurboJPEG

/// The properties of an image, as stated in the header of its JPEG.
public struct JPEGHeader: Sendable, Hashable {
    /// The width in pixels, 1 to 65,500.
    public let width: Int
    /// The height in pixels, 1 to 65,500.
    public let height: Int
    /// The chroma subsampling.
    public let subsampling: ChromaSubsampling
    /// The meaning of the components.
    package let colorspace: Colorspace

    /// Reads the header of a JPEG of any kind (`tjDecompressHeader3`), without reading the compressed data.
    ///
    /// Deviations from the format that the library reads are accepted: see ``JPEGDecoder/Limits/acceptsDeviations``.
    ///
    /// - Throws: `notJPEG`; `noPicture` if there are only tables; `truncated` if the bytes end within the header;
    ///   `malformed` and `missingTable` for a header that violates the format; `tooLarge` for a side of more than
    ///   65,500 pixels; `decodeFailed` if the library cannot read it; `unsupported` for a kind of JPEG or a subsampling
    ///   that this module cannot decode.
    public init(inspecting jpeg: Span<UInt8>) throws(TurboJPEGError) {
        _ = try JPEGGate.structure(of: jpeg, limits: .any, extent: .header)
        try self.init(inspecting: jpeg, with: CodecHandle(for: .decompress))
    }

    /// Reads the header of a JPEG that ``JPEGGate`` has accepted.
    init(inspecting jpeg: Span<UInt8>, with handle: borrowing CodecHandle) throws(TurboJPEGError) {
        // If a JPEG has only tables, the library leaves these unchanged and reports no error.
        var (width, height, subsampling, colorspace): (Int32, Int32, Int32, Int32) = (0, 0, -1, -1)
        let status = unsafe jpeg.withUnsafeBufferPointer { bytes in
            unsafe tjDecompressHeader3(
                handle.raw,
                bytes.baseAddress,
                UInt(bytes.count),
                &width,
                &height,
                &subsampling,
                &colorspace
            )
        }
        guard status == 0 || (width > 0 && handle.failedByWarning) else {
            throw handle.decodingError(byteCount: jpeg.count)
        }
        guard width > 0, height > 0 else {
            if handle.failedByWarning { throw handle.decodingError(byteCount: jpeg.count) }
            throw TurboJPEGError(
                .noPicture,
                "the JPEG of \(jpeg.count) bytes contains no image, only tables or an end"
            )
        }
        guard
            let subsampling = ChromaSubsampling(rawValue: subsampling),
            let colorspace = Colorspace(rawValue: colorspace)
        else {
            throw TurboJPEGError(
                .unsupported,
                "the JPEG of \(jpeg.count) bytes has an unsupported chroma subsampling or color space"
            )
        }
        self.width = Int(width)
        self.height = Int(height)
        self.subsampling = subsampling
        self.colorspace = colorspace
    }

    /// Returns the end of the first image in `jpeg`, after its last marker; nil if the bytes are not a complete JPEG.
    package static func endOfImage(in jpeg: Span<UInt8>) -> Int? {
        var limits = JPEGDecoder.Limits.any
        limits.acceptsTrailingData = true
        guard let structure = try? JPEGGate.structure(of: jpeg, limits: limits) else { return nil }
        return structure.repair.missingEnd == nil ? structure.end : nil
    }
}

extension JPEGHeader {
    /// The meaning of a JPEG's components.
    package enum Colorspace: Sendable, Hashable, CaseIterable {
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
