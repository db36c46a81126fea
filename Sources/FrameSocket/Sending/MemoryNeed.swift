internal import FrameTransport
internal import FrameWire
internal import TurboJPEG

/// The memory that a frame takes, in bytes.
struct MemoryNeed: Sendable, Hashable {
    /// While it waits.
    var content: Int
    /// At most, while it is encoded; at least ``content``.
    var total: Int
    /// In addition to its JPEG, once that exists: what the encoder keeps for the next frame.
    var workspace = 0
    /// Whether strips are kept for the next frame, and counted.
    var keepsStrips = false

    /// Returns the need with a total of at least `byteCount`.
    func atLeast(_ byteCount: Int) -> MemoryNeed {
        var need = self
        need.total = max(total, byteCount)
        return need
    }
}

extension EncodingRecipe.Settings {
    /// Returns the most that an image of this size takes while it is encoded, without strips.
    func need(of size: BufferSize, _ format: PixelFormat) -> Int {
        // An orientation with which images are rotated, if they ever are.
        let image = ImageRecipe(output(for: size, .down, format), format, .down, self)
        return need(content: EncodingMemory.bytes(of: size, format), image.keeping(format), 0).total
    }

    /// Returns the need of pixels, including the strips kept for the next frame if there is room.
    func need(content: Int, _ image: ImageRecipe, _ limit: Int) -> MemoryNeed {
        let planes = EncodingMemory.bytes(ofPlanesFor: image.output.canvas, image.format)
        return need(content: content, besides: image.bufferByteCount, planes + image.copyByteCount, image.output, limit)
    }

    func need(decoding jpeg: FrameBytes, _ image: ImageRecipe, _ limit: Int) -> MemoryNeed {
        let decoded = EncodingMemory.bytes(of: image.output.scaledDecoding().plan.image, .bgrx)
        let buffers = decoded + image.bufferByteCount
        let need = need(content: jpeg.count, besides: buffers, 0, image.output, limit)
        guard limit < .max else { return need }
        let coefficients = jpeg.withSpan { JPEGHeader.Coefficients(of: $0) }
        guard coefficients.areKeptToDecode else { return need }
        return need.atLeast(jpeg.count + decoded + coefficients.byteCount)
    }

    /// Returns the need of a JPEG that is rotated without loss, or else decoded.
    func need(rotating jpeg: FrameBytes, _ image: ImageRecipe, _ limit: Int) -> MemoryNeed {
        let need = need(decoding: jpeg, image, limit)
        guard limit < .max else { return need }
        // Those of both JPEGs, and the new one.
        let coefficients = jpeg.withSpan { JPEGHeader.Coefficients(of: $0) }
        return need.atLeast(2 * (jpeg.count + coefficients.byteCount))
    }

    /// Returns the need of content that is encoded.
    ///
    /// - Parameters:
    ///   - content: The bytes of the content.
    ///   - buffers: The bytes of the images between the content and the JPEG.
    ///   - planes: The bytes in which a whole planar image is rearranged, and those of a whole image to draw on.
    ///   - output: The size of the JPEG.
    ///   - limit: The memory there is; with less, strips are not kept.
    /// - Returns: The need.
    private func need(content: Int, besides buffers: Int, _ planes: Int, _ output: OutputPlan, _ limit: Int)
        -> MemoryNeed
    {
        let jpeg = EncodingMemory.bytes(ofJPEG: output.canvas, quality: quality, subsampling: subsampling)
        let total = content + buffers + jpeg
        guard allowsStrips, total + jpeg <= limit else {
            return MemoryNeed(content: content, total: total + planes, workspace: buffers + planes)
        }
        return MemoryNeed(content: content, total: total + jpeg, workspace: buffers + jpeg, keepsStrips: true)
    }
}
