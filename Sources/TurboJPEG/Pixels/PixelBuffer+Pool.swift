internal import SystemMemory

extension PixelBuffer {
    /// A pool that reuses the memory of images that are no longer in use.
    ///
    /// Touching a fresh page costs more than decoding into it: decoding 1080p into a new buffer takes 1.9 times as long.
    /// Memory returns to the pool, on an arbitrary thread, when the last `PixelBuffer` that shares it is destroyed; if the
    /// pool no longer exists, the memory is freed. The content of a reused buffer is that of an earlier image.
    ///
    /// Thread safety: any thread may use a pool at any time.
    public final class Pool: Sendable {
        private let shelf: MemoryShelf

        /// Creates a pool that keeps the memory of at most `maximumIdleImages` unused images; 3 by default, and
        /// none if the number is negative.
        ///
        /// If more memory returns, that which has been idle longest is freed, so that after a change of size the memory
        /// of the old size is soon gone.
        public init(maximumIdleImages: Int = 3) {
            shelf = MemoryShelf(maximumIdle: maximumIdleImages, alignment: PixelLayout.alignment)
        }

        /// Creates a pool with limits on the number of idle images and on their total bytes.
        init(maximumIdleImages: Int, maximumIdleBytes: Int) {
            shelf = MemoryShelf(
                maximumIdle: maximumIdleImages,
                maximumIdleBytes: maximumIdleBytes,
                alignment: PixelLayout.alignment
            )
        }

        deinit {
            shelf.close()
        }

        /// Returns an image with undefined content, in reused memory if there is some of the same size.
        ///
        /// - Throws: `invalidSize`, `allocationFailed`.
        public func buffer(width: Int, height: Int, format: PixelFormat) throws(TurboJPEGError) -> PixelBuffer {
            let layout = try PixelLayout(width: width, height: height, format: format, bytesPerRow: nil)
            let storage = try PixelStorage(layout: layout, shelf: shelf)
            return PixelBuffer(width: width, height: height, format: format, storage: storage)
        }

        /// The number of buffers created in new memory.
        package var allocatedCount: Int { shelf.counts.allocated }

        /// The number of buffers created in reused memory.
        package var recycledCount: Int { shelf.counts.recycled }

        /// The number of idle memory blocks.
        package var idleCount: Int { shelf.counts.idle }
    }
}
