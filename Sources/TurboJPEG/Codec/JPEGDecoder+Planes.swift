internal import CTurboJPEG

extension JPEGDecoder {
    /// Decodes to luma and chroma, directly into the target if the JPEG's planes have the target's shape.
    ///
    /// The target's luma has room for whole chroma samples, which may be overwritten: the library rounds odd widths and
    /// heights up.
    @unsafe func decodePlanar(
        _ jpeg: Span<UInt8>,
        _ source: DecodingSource,
        to target: UnsafePlanes,
        with handle: borrowing CodecHandle
    ) throws(TurboJPEGError) {
        let subsampling = source.header.subsampling
        let isChromaDirect = unsafe subsampling == .gray || (subsampling == .yuv420 && target.format == .i420)

        // Planes of the JPEG's shape, for data that cannot be written directly into the target.
        var chromaScratch: (blue: PixelBuffer, red: PixelBuffer)?
        if !isChromaDirect {
            let width = Int(tjPlaneWidth(1, Int32(source.width), subsampling.rawValue))
            let height = Int(tjPlaneHeight(1, Int32(source.height), subsampling.rawValue))
            chromaScratch = (
                try scratch.buffer(width: width, height: height, format: .gray),
                try scratch.buffer(width: width, height: height, format: .gray)
            )
        }
        defer { withExtendedLifetime(chromaScratch) {} }
        let planes = unsafe [
            target[0],
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
        guard status == 0 else { throw handle.decodingError(byteCount: jpeg.count) }

        if chromaScratch != nil {
            unsafe target.resampleChroma(blue: planes[1], red: planes[2], from: subsampling)
        } else if subsampling == .gray {
            unsafe target.clearChroma()
        }
    }
}
