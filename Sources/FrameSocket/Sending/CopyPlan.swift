package import FrameWire
package import TurboJPEG

/// How an image is copied out of memory that its source reuses: in the size that is sent, and in the format that is
/// encoded or, if frames are shared, in its own.
package struct CopyPlan: Sendable {
    /// Which part of the image is sent, and in what size.
    let output: OutputPlan

    /// The size of the copy.
    package var outputSize: BufferSize { output.canvas }

    /// Whether the image is converted to planes.
    let isPlanar: Bool

    /// The maximum number of bytes that the copy takes, while it is made and while it is encoded.
    let byteCount: Int

    init(
        _ image: borrowing PixelBuffer,
        _ orientation: FrameOrientation,
        _ settings: EncodingPlan.Settings,
        color: VideoColor = .jpeg,
        isShared: Bool = false,
        limit: Int
    ) {
        output = settings.output(for: BufferSize(width: image.width, height: image.height), orientation, image.format)
        isPlanar = !isShared && settings.subsampling == .yuv420 && image.canBecomePlanes(by: output)
        let isTurning = settings.appliesOrientation && orientation.isTurning
        let format = isPlanar ? .i420 : image.format
        let need = settings.need(scaled: output, format, isTurning: isTurning, limit: limit)
        let isConverted = color != .jpeg && image.format.isPlanar
        byteCount = max(need.total, EncodingMemory.bytes(ofCopyBy: output, format, isConverted: isConverted))
    }

    /// Returns a copy of the image in pooled memory, with samples in a JPEG's color space.
    ///
    /// - Parameters:
    ///   - image: The image that the plan was made for.
    ///   - color: The color space of its samples.
    ///   - pool: The pool that provides the memory.
    /// - Returns: The copy, which does not refer to the memory of `image`.
    /// - Throws: `allocationFailed`, or `invalidSize` if the result has more pixels than the library can scale.
    package func copy(
        _ image: PixelBuffer,
        of color: VideoColor,
        pool: PixelBuffer.Pool
    ) throws(TurboJPEGError) -> PixelBuffer {
        let scaled = isPlanar ? try image.planes(by: output, pool: pool) : try image.applying(output, pool: pool)
        // The smaller image is converted: the conversion is linear, and so is scaling.
        if color != .jpeg, image.format.isPlanar { return try scaled.converted(from: color, pool: pool) }
        return scaled.sharesMemory(with: image) ? try scaled.copied(pool: pool) : scaled
    }
}
