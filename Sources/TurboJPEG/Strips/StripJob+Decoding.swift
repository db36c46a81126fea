internal import CJPEGStrips

extension StripJob {
    /// Decodes the wanted rows into a canvas whose other rows other threads may write meanwhile.
    ///
    /// Nothing is copied: the library reads the strips in place from the JPEG, and writes the rows to their places.
    @unsafe func decode(
        _ intervals: RestartIntervals,
        of jpeg: UnsafeBufferPointer<UInt8>,
        into canvas: PixelBuffer,
        scratch: PixelBuffer.Pool
    ) throws(TurboJPEGError) {
        let layout = intervals.layout
        let first = layout.rows(of: strips.lowerBound).lowerBound
        var source = unsafe jpeg_strips_source()
        unsafe source.jpeg = jpeg.baseAddress
        unsafe source.count = jpeg.count
        unsafe source.height_offset = intervals.structure.frameHeader.lowerBound + 5
        unsafe source.data_offset = intervals.data[0].lowerBound
        unsafe source.height = UInt32(layout.height - first)
        unsafe source.start = intervals.data[strips.lowerBound].lowerBound
        let isFollowed = strips.upperBound < layout.count
        unsafe source.end = isFollowed && !looksOverEdges ? intervals.data[strips.upperBound].lowerBound : jpeg.count

        var target = jpeg_strips_target()
        target.skipped = UInt32(rows.lowerBound - first)
        target.count = UInt32(rows.count)
        guard canvas.format.isPlanar else {
            target.format = canvas.format.stripFormat
            unsafe target.pixels = UnsafePlanes(canvas).rows(rows).stripPixels
            return try unsafe decode(source, target)
        }
        try unsafe decodePlanes(source, target, intervals, into: canvas, scratch: scratch)
    }

    /// Decodes to luma and chroma, directly into the canvas if the JPEG's planes have its shape.
    @unsafe private func decodePlanes(
        _ source: jpeg_strips_source,
        _ target: jpeg_strips_target,
        _ intervals: RestartIntervals,
        into canvas: PixelBuffer,
        scratch: PixelBuffer.Pool
    ) throws(TurboJPEGError) {
        let subsampling = intervals.subsampling
        var target = target
        let planes = unsafe UnsafePlanes(canvas).rows(rows)
        let (width, height) = unsafe (planes.width, planes.height)
        target.format = JPEG_STRIPS_PLANES
        unsafe target.pixels = planes.stripPixels
        target.plane_count = subsampling == .gray ? 1 : 3
        let chroma = subsampling.pixelsPerChromaSample
        let chromaWidth = (width + chroma.width - 1) / chroma.width
        let chromaHeight = (height + chroma.height - 1) / chroma.height
        target.plane_width = (UInt32(width), UInt32(chromaWidth), UInt32(chromaWidth))
        target.plane_height = (UInt32(height), UInt32(chromaHeight), UInt32(chromaHeight))
        switch subsampling {
        case .gray:
            try unsafe decode(source, target)
            unsafe planes.clearChroma()
        case .yuv420:
            target.format = canvas.format.stripFormat
            try unsafe decode(source, target)
        default:
            let blue = try scratch.buffer(width: chromaWidth, height: chromaHeight, format: .gray)
            let red = try scratch.buffer(width: chromaWidth, height: chromaHeight, format: .gray)
            defer { withExtendedLifetime((blue, red)) {} }
            let (bluePlane, redPlane) = unsafe (UnsafePlanes(blue)[0], UnsafePlanes(red)[0])
            unsafe (target.pixels.base.1, target.pixels.stride.1) = (bluePlane.base, bluePlane.shape.bytesPerRow)
            unsafe (target.pixels.base.2, target.pixels.stride.2) = (redPlane.base, redPlane.shape.bytesPerRow)
            try unsafe decode(source, target)
            unsafe planes.resampleChroma(blue: bluePlane, red: redPlane, from: subsampling)
        }
    }

    @unsafe private func decode(
        _ source: jpeg_strips_source,
        _ target: jpeg_strips_target
    ) throws(TurboJPEGError) {
        var (source, target) = unsafe (source, target)
        let message = StripMessage()
        let status = unsafe jpeg_strips_decode(&source, &target, message.bytes)
        guard status == 0 else {
            throw TurboJPEGError(.corrupt, "a part of the JPEG cannot be decoded", libraryMessage: message.text)
        }
    }
}
