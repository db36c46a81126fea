internal import CTurboJPEG

/// The properties of an image, as stated in the header of its JPEG.
public struct JPEGHeader: Sendable, Hashable {
    /// The width in pixels, 1 to 65,500.
    public let width: Int
    /// The height in pixels, 1 to 65,500.
    public let height: Int
    /// The chroma subsampling.
    public let subsampling: ChromaSubsampling
    /// Whether the components are red, green and blue, without conversion.
    package let isRGB: Bool

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
        guard width > 0, height > 0, status == 0 || handle.failedByWarning else {
            throw handle.decodingError(byteCount: jpeg.count)
        }
        guard let subsampling = ChromaSubsampling(rawValue: subsampling) else {
            throw TurboJPEGError(.unsupported, "the JPEG of \(jpeg.count) bytes has an unsupported chroma subsampling")
        }
        self.width = Int(width)
        self.height = Int(height)
        self.subsampling = subsampling
        isRGB = UInt32(bitPattern: colorspace) == TJCS_RGB.rawValue
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
    /// Finds the size that a JPEG of any kind states, whether it can be decoded here or not.
    ///
    /// For programs that pass JPEGs on: nothing is demanded of a JPEG but a frame header. A height of 0 is replaced by
    /// the one that follows the image (DNL).
    ///
    /// - Throws: `notJPEG`; `noPicture` if there is no frame header, or it states no size.
    package static func size(of jpeg: Span<UInt8>) throws(TurboJPEGError) -> (width: Int, height: Int) {
        try JPEGGate.checkStart(of: jpeg)
        var (width, height) = (0, 0)
        var index = 2
        while let found = nextFF(in: jpeg, from: index) {
            index = found + 1
            while index < jpeg.count, jpeg[index] == 0xFF { index += 1 }
            guard index < jpeg.count, jpeg[index] != JPEGMarker.end else { break }
            let marker = jpeg[index]
            index += 1
            if marker <= JPEGMarker.temporary || 0xD0...JPEGMarker.start ~= marker { continue }
            guard index + 2 <= jpeg.count else { break }
            let end = index + max(2, number(in: jpeg, at: index))
            guard end <= jpeg.count else { break }
            if width == 0, JPEGMarker.statesSize(marker), end - index >= 7 {
                (height, width) = (number(in: jpeg, at: index + 3), number(in: jpeg, at: index + 5))
            } else if marker == JPEGMarker.lineCount, end - index >= 4 {
                height = number(in: jpeg, at: index + 2)
            }
            if width > 0, height > 0 { return (width, height) }
            index = end
        }
        throw TurboJPEGError(.noPicture, "the JPEG of \(jpeg.count) bytes does not state the size of an image")
    }

    private static func number(in jpeg: Span<UInt8>, at index: Int) -> Int {
        Int(jpeg[index]) << 8 | Int(jpeg[index + 1])
    }

    private static func nextFF(in jpeg: Span<UInt8>, from index: Int) -> Int? {
        unsafe jpeg.withUnsafeBufferPointer { unsafe nextMarkedByte($0, in: min(index, $0.count)..<$0.count) }
    }
}
