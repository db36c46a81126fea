internal import CTurboJPEG

extension JPEGEncoder {
    /// Compresses a planar image without a color conversion.
    ///
    /// - Returns: The library's status, 0 on success.
    @unsafe func compressPlanes(
        of image: PixelBuffer,
        with handle: borrowing CodecHandle,
        to output: inout UnsafeMutablePointer<UInt8>?,
        _ byteCount: inout UInt
    ) throws(TurboJPEGError) -> Int32 {
        let subsampling = codedSubsampling(of: image.format)
        var planes = try [image.evenLuma(for: subsampling, from: scratch)]
        if subsampling != .gray {
            planes += try image.chromaPlanes(from: scratch)
        }
        var strides = planes.map { Int32($0.plane(0).bytesPerRow) }
        // The buffers in `planes` own the memory, so they must outlive the call.
        defer { withExtendedLifetime(planes) {} }
        var bases: [UnsafePointer<UInt8>?] = unsafe planes.map { unsafe UnsafePointer($0.storage.bases[0]) }
        return unsafe tjCompressFromYUVPlanes(
            handle.raw,
            &bases,
            Int32(image.width),
            &strides,
            Int32(image.height),
            subsampling.rawValue,
            &output,
            &byteCount,
            Int32(quality),
            flags
        )
    }
}

extension PixelBuffer {
    /// Returns one plane as a gray image over the same memory.
    fileprivate func grayPlane(_ index: Int) throws(TurboJPEGError) -> PixelBuffer {
        let shape = plane(index)
        let storage = storage
        let base = unsafe UnsafePointer(storage.bases[index])
        return try unsafe PixelBuffer(
            adopting: [(base, shape.bytesPerRow)],
            width: shape.width,
            height: shape.height,
            format: .gray
        ) { withExtendedLifetime(storage) {} }
    }

    /// Returns the luma in the size that the library reads, which is whole chroma samples: for odd sizes, the last
    /// column and row are duplicated in memory of the pool.
    fileprivate func evenLuma(
        for subsampling: ChromaSubsampling,
        from pool: PixelBuffer.Pool
    ) throws(TurboJPEGError) -> PixelBuffer {
        let luma = try grayPlane(0)
        let paddedWidth = Int(tjPlaneWidth(0, Int32(width), subsampling.rawValue))
        let paddedHeight = Int(tjPlaneHeight(0, Int32(height), subsampling.rawValue))
        guard paddedWidth > width || paddedHeight > height else { return luma }
        var padded = try pool.buffer(width: paddedWidth, height: paddedHeight, format: .gray)
        unsafe try padded.withUnsafeMutablePlanes(preservingContents: false) { target throws(TurboJPEGError) in
            unsafe luma.withUnsafePlanes { source in
                for y in 0..<paddedHeight {
                    let row = unsafe target[0].row(y)
                    unsafe row.update(from: source[0].row(min(y, height - 1)), count: width)
                    unsafe (row + width).update(repeating: row[width - 1], count: paddedWidth - width)
                }
            }
        }
        return padded
    }

    /// Returns the two kinds of chroma in separate planes; those of `nv12` are in memory of the pool.
    fileprivate func chromaPlanes(from pool: PixelBuffer.Pool) throws(TurboJPEGError) -> [PixelBuffer] {
        guard format == .nv12 else { return try [grayPlane(1), grayPlane(2)] }
        let shape = plane(1)
        var blue = try pool.buffer(width: shape.width, height: shape.height, format: .gray)
        var red = try pool.buffer(width: shape.width, height: shape.height, format: .gray)
        unsafe try blue.withUnsafeMutablePlanes(preservingContents: false) { blue throws(TurboJPEGError) in
            try unsafe red.withUnsafeMutablePlanes(preservingContents: false) { red throws(TurboJPEGError) in
                unsafe withUnsafePlanes { source in
                    for y in 0..<shape.height {
                        let pairs = unsafe source[1].row(y)
                        let (blueRow, redRow) = unsafe (blue[0].row(y), red[0].row(y))
                        for x in 0..<shape.width {
                            unsafe blueRow[x] = pairs[2 * x]
                            unsafe redRow[x] = pairs[2 * x + 1]
                        }
                    }
                }
            }
        }
        return [blue, red]
    }
}

extension PixelFormat {
    /// The library's constant for a packed format; gray for planes.
    ///
    /// `bgrx` is `TJPF_BGRA`, because the library leaves the fourth byte of `TJPF_BGRX` undefined when decoding.
    var packedRawValue: Int32 {
        switch self {
        case .bgra, .bgrx: Int32(TJPF_BGRA.rawValue)
        case .rgba: Int32(TJPF_RGBA.rawValue)
        case .argb: Int32(TJPF_ARGB.rawValue)
        case .abgr: Int32(TJPF_ABGR.rawValue)
        case .rgb: Int32(TJPF_RGB.rawValue)
        case .bgr: Int32(TJPF_BGR.rawValue)
        case .gray, .i420, .nv12: Int32(TJPF_GRAY.rawValue)
        }
    }
}
