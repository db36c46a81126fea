/// Recycles the memory of pictures that are no longer in use.
///
/// A fresh page costs more to touch than to decode into: decoding 1080p into a new buffer takes 1.9 times as long. Memory
/// comes back when the last `PixelBuffer` that shares it goes, on whatever thread that is, and is freed where the pool is
/// gone by then. The content of a recycled buffer is that of an earlier picture.
public final class PixelBufferPool: Sendable {
    private let shelf: BlockShelf

    /// A pool that keeps at most `maximumIdle` pictures' memory in waiting, by default 3.
    ///
    /// Where more come back, the one that has waited longest is freed, so that a change of size costs nothing for long.
    public init(maximumIdle: Int = 3) {
        shelf = BlockShelf(maximumIdle: maximumIdle)
    }

    /// A pool that keeps at most so many pictures' memory in waiting, and at most so many bytes of it.
    init(maximumIdle: Int, maximumIdleBytes: Int) {
        shelf = BlockShelf(maximumIdle: maximumIdle, maximumIdleBytes: maximumIdleBytes)
    }

    deinit {
        shelf.close()
    }

    /// A picture whose content is undefined, in recycled memory where there is some of the same size.
    ///
    /// - Throws: `invalidSize`, `allocationFailed`.
    public func buffer(width: Int, height: Int, format: PixelFormat) throws(TurboJPEGError) -> PixelBuffer {
        let layout = try PixelLayout(width: width, height: height, format: format, bytesPerRow: nil)
        let storage = try PixelStorage(layout: layout, shelf: shelf)
        return PixelBuffer(width: width, height: height, format: format, storage: storage)
    }

    /// How many buffers were made of new memory.
    package var allocatedCount: Int { shelf.counts.allocated }

    /// How many buffers were made of memory that had come back.
    package var recycledCount: Int { shelf.counts.recycled }

    /// How many blocks of memory wait for use.
    package var idleCount: Int { shelf.counts.idle }
}
