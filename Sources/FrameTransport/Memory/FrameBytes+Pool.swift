internal import SystemMemory

extension FrameBytes {
    /// A pool of memory for message bodies: allocating a page costs more than filling one.
    ///
    /// Chunk sizes are powers of two, from 4 KiB up; chunks larger than a quarter of the pool's limit are not kept. Idle
    /// chunks are limited by their total bytes and reused last in, first out, so that many quiet connections share what one
    /// busy connection needs.
    ///
    /// Thread safety: any thread may use a pool at any time.
    package final class Pool: Sendable {
        /// The default pool.
        ///
        /// It keeps at most 64 MiB of idle memory.
        package static let shared = Pool(maximumIdleBytes: 64 << 20)

        /// The memory of a body; none has no bytes.
        ///
        /// - Note: `@unchecked Sendable` holds because a chunk has one owner at a time: the pool, or one body.
        @safe struct Chunk: @unchecked Sendable {
            let memory: MemoryRun
        }

        private static let smallest = 4 << 10

        private let maximumIdleBytes: Int
        private let shelf: MemoryShelf

        /// Creates a pool that keeps at most `maximumIdleBytes` idle bytes; none if the number is negative.
        package convenience init(maximumIdleBytes: Int) {
            self.init(maximumIdleBytes: maximumIdleBytes, largestChunk: .max)
        }

        /// Creates a pool for which there is no memory in chunks that are larger than this.
        init(maximumIdleBytes: Int, largestChunk: Int) {
            self.maximumIdleBytes = maximumIdleBytes
            shelf = MemoryShelf(maximumIdleBytes: maximumIdleBytes, largestBlock: largestChunk, alignment: 64)
        }

        deinit {
            shelf.close()
        }

        /// The number of allocations from the system.
        package var allocations: Int { shelf.counts.allocated }

        /// Takes a chunk of at least `capacity` bytes; an empty one if the system has no memory.
        func take(_ capacity: Int) -> Chunk {
            guard let size = Self.chunkSize(for: capacity), let block = unsafe shelf.take(byteCount: size) else {
                return unsafe Chunk(memory: .empty)
            }
            return unsafe Chunk(memory: MemoryRun(start: block.base, count: size))
        }

        func giveBack(_ chunk: Chunk) {
            guard let base = unsafe chunk.memory.baseAddress else { return }
            let size = unsafe chunk.memory.count
            if size > maximumIdleBytes / 4 {
                unsafe SystemMemory.release(base, byteCount: size)
            } else {
                unsafe shelf.giveBack(MemoryBlock(base: base, byteCount: size))
            }
        }

        /// Returns the chunk size for a number of bytes; nil if it is too large for any system.
        private static func chunkSize(for capacity: Int) -> Int? {
            guard capacity <= 1 << 40 else { return nil }
            var size = smallest
            while size < capacity { size *= 2 }
            return size
        }
    }
}
