internal import Locking
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

        /// - Note: `@unchecked Sendable` holds because a chunk has one owner at a time: the pool, or one body.
        @safe struct Chunk: @unchecked Sendable {
            let memory: MemoryRun

            static var none: Chunk { unsafe Chunk(memory: .empty) }

            /// Returns new memory from the system; none if it has none.
            static func allocated(_ size: Int) -> Chunk {
                guard let memory = unsafe SystemMemory.allocate(byteCount: size, alignment: 64) else { return .none }
                return unsafe Chunk(memory: MemoryRun(start: memory, count: size))
            }

            func release() {
                guard let memory = unsafe memory.baseAddress else { return }
                unsafe SystemMemory.release(memory, byteCount: self.memory.count)
            }
        }

        private struct State {
            var idle: [Chunk] = []
            var idleBytes = 0
            var allocations = 0
        }

        private static let smallest = 4 << 10

        private let maximumIdleBytes: Int
        private let allocate: @Sendable (_ byteCount: Int) -> Chunk
        private let state = Locked(State())

        /// Creates a pool that keeps at most `maximumIdleBytes` idle bytes; none if the number is negative.
        package init(maximumIdleBytes: Int) {
            self.maximumIdleBytes = maximumIdleBytes
            allocate = Chunk.allocated
        }

        /// Creates a pool of memory that `allocate` provides, or does not.
        init(maximumIdleBytes: Int, allocate: @escaping @Sendable (_ byteCount: Int) -> Chunk) {
            self.maximumIdleBytes = maximumIdleBytes
            self.allocate = allocate
        }

        deinit {
            state.withLock { state in
                for chunk in state.idle { chunk.release() }
            }
        }

        /// The number of allocations from the system.
        package var allocations: Int { state.withLock { $0.allocations } }

        /// Takes a chunk of at least `capacity` bytes; an empty one if the system has no memory.
        func take(_ capacity: Int) -> Chunk {
            guard let size = Self.chunkSize(for: capacity) else { return .none }
            let idle = state.withLock { state -> Chunk? in
                guard let index = state.idle.lastIndex(where: { unsafe $0.memory.count == size }) else {
                    state.allocations += 1
                    return nil
                }
                state.idleBytes -= size
                return state.idle.remove(at: index)
            }
            if let idle { return idle }
            return allocate(size)
        }

        func giveBack(_ chunk: Chunk) {
            let size = unsafe chunk.memory.count
            guard size > 0 else { return }
            let isKept = state.withLock { state in
                guard state.idleBytes + size <= maximumIdleBytes, size <= maximumIdleBytes / 4 else { return false }
                state.idle.append(chunk)
                state.idleBytes += size
                return true
            }
            if !isKept { chunk.release() }
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
