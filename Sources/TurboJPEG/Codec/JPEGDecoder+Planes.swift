internal import CTurboJPEG

extension JPEGDecoder {
    /// Decodes to luma and chroma, directly into the target if the JPEG's planes have the target's shape.
    ///
    /// With `mayWritePadding`, the target's luma has room for whole chroma samples, which may be overwritten: the
    /// library rounds odd widths and heights up.
    @unsafe func decodePlanar(
        _ jpeg: Span<UInt8>,
        _ source: DecodingSource,
        to target: UnsafePlanes,
        mayWritePadding: Bool,
        with handle: borrowing CodecHandle
    ) throws(TurboJPEGError) {
        let subsampling = source.header.subsampling
        let luma = PlaneSize(0, of: source)
        let isLumaDirect = mayWritePadding || (luma.width == source.width && luma.height == source.height)
        let isChromaDirect = unsafe subsampling == .gray || (subsampling == .yuv420 && target.format == .i420)

        // Planes of the JPEG's shape, for data that cannot be written directly into the target.
        let lumaScratch = isLumaDirect ? nil : try scratch.buffer(width: luma.width, height: luma.height, format: .gray)
        var chromaScratch: (blue: PixelBuffer, red: PixelBuffer)?
        if !isChromaDirect {
            let chroma = PlaneSize(1, of: source)
            chromaScratch = (
                try scratch.buffer(width: chroma.width, height: chroma.height, format: .gray),
                try scratch.buffer(width: chroma.width, height: chroma.height, format: .gray)
            )
        }
        defer { withExtendedLifetime((lumaScratch, chromaScratch)) {} }
        let planes = unsafe [
            lumaScratch.map { unsafe UnsafePlanes($0)[0] } ?? target[0],
            chromaScratch.map { unsafe UnsafePlanes($0.blue)[0] } ?? target[1],
            chromaScratch.map { unsafe UnsafePlanes($0.red)[0] } ?? target[2],
        ]

        var bases: [UnsafeMutablePointer<UInt8>?] = unsafe planes.map { unsafe $0.base }
        var strides = unsafe planes.map { unsafe Int32($0.shape.bytesPerRow) }
        let status = unsafe jpeg.withUnsafeBufferPointer { bytes in
            unsafe tjDecompressToYUVPlanes(
                handle.raw,
                bytes.baseAddress,
                UInt(bytes.count),
                &bases,
                Int32(source.width),
                &strides,
                Int32(source.height),
                flags
            )
        }
        try check(status, handle, byteCount: jpeg.count)

        if lumaScratch != nil { unsafe target.copyLuma(from: planes[0]) }
        if chromaScratch != nil {
            unsafe target.resampleChroma(blue: planes[1], red: planes[2], from: subsampling)
        } else if subsampling == .gray {
            unsafe target.clearChroma()
        }
    }
}

/// The size of one of a JPEG's planes, as the library reads and writes it.
private struct PlaneSize {
    let width: Int
    let height: Int

    init(_ plane: Int32, of source: DecodingSource) {
        width = Int(tjPlaneWidth(plane, Int32(source.width), source.header.subsampling.rawValue))
        height = Int(tjPlaneHeight(plane, Int32(source.height), source.header.subsampling.rawValue))
    }
}
