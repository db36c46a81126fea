internal import CTurboJPEG

/// What a JPEG says about its picture before the picture begins.
public struct JPEGHeader: Sendable, Hashable {
    /// The width in pixels, 1 to 65,500.
    public let width: Int
    /// The height in pixels, 1 to 65,500.
    public let height: Int
    /// How many pixels share a chroma sample.
    public let subsampling: ChromaSubsampling
    /// What the components mean.
    public let colorspace: JPEGColorspace

    /// Reads the header of a JPEG of any kind (`tjDecompressHeader3`); the compressed data are not looked at.
    ///
    /// - Throws: `notJPEG`, `noPicture` where there are tables only, `truncated` where the bytes end within the header,
    ///   `malformed` and `missingTable` for a header that breaks the format's rules, `decodeFailed` for what the library cannot
    ///   read, `unsupported` for a kind of JPEG or a subsampling that nothing here can decode.
    public init(inspecting jpeg: Span<UInt8>) throws(TurboJPEGError) {
        _ = try JPEGGate.structure(of: jpeg, limits: .any, extent: .header)
        try self.init(inspecting: jpeg, with: CodecHandle(for: .decompress))
    }

    /// Reads the header of a JPEG that has come through the gate.
    init(inspecting jpeg: Span<UInt8>, with handle: borrowing CodecHandle) throws(TurboJPEGError) {
        // The library leaves these as they are where a JPEG has tables only, and reports no error.
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
                "The JPEG of \(jpeg.count) bytes has no picture in it, only tables or an end."
            )
        }
        guard
            let subsampling = ChromaSubsampling(rawValue: subsampling),
            let colorspace = JPEGColorspace(rawValue: colorspace)
        else {
            throw TurboJPEGError(
                .unsupported,
                "The JPEG of \(jpeg.count) bytes has components whose sizes or meaning have no name here."
            )
        }
        self.width = Int(width)
        self.height = Int(height)
        self.subsampling = subsampling
        self.colorspace = colorspace
    }

    /// Where the first image of some bytes ends, behind its last marker; nil if they are no whole JPEG.
    package static func endOfImage(in jpeg: Span<UInt8>) -> Int? {
        var limits = JPEGLimits.any
        limits.acceptsTrailingData = true
        return try? JPEGGate.structure(of: jpeg, limits: limits).end
    }
}
