internal import FrameSocket

/// Copies the images of a source that uses their memory again, into memory of its own that it uses again itself.
///
/// ReplayKit draws the next image into a pixel buffer as soon as the callback that brought it has returned, held and locked or not:
/// https://github.com/twilio/video-quickstart-ios/issues/380.
final class SampleCopier: Sendable {
    private let pool = PixelBufferPool()

    /// The image with the samples that a JPEG holds, in memory of this object's pool.
    ///
    /// - Parameters:
    ///   - image: the image.
    ///   - color: what its samples mean.
    /// - Returns: the copy, in the same format.
    /// - Throws: `allocationFailed`.
    func copy(_ image: PixelBuffer, of color: VideoColor) throws(TurboJPEGError) -> PixelBuffer {
        color == .jpeg || !image.format.isPlanar
            ? try image.copied(pool: pool) : try image.converted(from: color, pool: pool)
    }
}
