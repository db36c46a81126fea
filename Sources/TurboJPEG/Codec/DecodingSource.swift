internal import CTurboJPEG

/// The header of a JPEG, checked against a decoder's limits, and the size of the decoded image.
struct DecodingSource {
    let header: JPEGHeader
    /// The width after scaling.
    let width: Int
    /// The height after scaling.
    let height: Int

    /// Reads the header of a JPEG that ``JPEGGate`` has accepted, and rejects images that are too large or have no
    /// meaning in the pixel formats.
    init(
        _ jpeg: Span<UInt8>,
        scale: JPEGDecoder.ScalingFactor,
        limits: JPEGDecoder.Limits,
        handle: borrowing CodecHandle
    ) throws(TurboJPEGError) {
        header = try JPEGHeader(inspecting: jpeg, with: handle)
        (width, height) = scale.scaled(width: header.width, height: header.height)
        try limits.check(width: width, height: height)
    }

    /// Whether the library may decode to planes.
    ///
    /// The library (`tjDecompressToYUVPlanes`) copies each row of luma, rounded up to whole chroma samples, from memory
    /// that holds whole blocks. If a block is scaled to few samples, those can be fewer, and it reads past its memory.
    var hasRoomForPlanes: Bool {
        // The library uses the largest scale that yields an image of this size.
        let scale = JPEGDecoder.ScalingFactor.allSupported.first {
            let size = $0.scaled(width: header.width, height: header.height)
            return size.width <= width && size.height <= height
        }
        guard let scale else { return false }
        let samplesPerBlock = 8 * scale.numerator / scale.denominator
        let needed = Int(tjPlaneWidth(0, Int32(width), header.subsampling.rawValue))
        return needed <= (header.width + 7) / 8 * samplesPerBlock
    }
}
