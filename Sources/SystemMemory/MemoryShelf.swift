internal import Locking

/// Holds blocks of memory between two uses: touching a fresh page costs more than filling one.
///
/// This is the pool behind those of images and of messages. What is in use keeps the shelf alive, not the pool, so the last of
/// it can be released after the pool. The shelf is then closed, and frees the blocks that come back.
///
/// Sendable: the mutable state is behind the lock.
@safe package final class MemoryShelf: @unchecked Sendable {
    @safe private struct State {
        var idle: [UnsafeMutableRawBufferPointer] = unsafe []
        var idleBytes = 0
        var isOpen = true
        var allocatedCount = 0
        var recycledCount = 0
    }

    private let state = Locked(State())
    private let maximumIdle: Int
    private let maximumIdleBytes: Int
    private let largestBlock: Int
    private let alignment: Int

    /// Creates an empty shelf.
    ///
    /// - Parameters:
    ///   - maximumIdle: The maximum number of idle blocks.
    ///   - maximumIdleBytes: The maximum of their total size.
    ///   - largestBlock: The size from which on there is no memory.
    ///   - alignment: The alignment of each block.
    package init(maximumIdle: Int = .max, maximumIdleBytes: Int = .max, largestBlock: Int = .max, alignment: Int) {
        (self.maximumIdle, self.maximumIdleBytes) = (max(0, maximumIdle), max(0, maximumIdleBytes))
        (self.largestBlock, self.alignment) = (largestBlock, alignment)
    }

    deinit {
        close()
    }

    /// Returns a block of exactly this size, reused if there is one; nil if the system has no memory.
    @unsafe package func take(byteCount: Int) -> UnsafeMutableRawBufferPointer? {
        let recycled: UnsafeMutableRawBufferPointer? = unsafe state.withLock { state in
            // The bytes of the block that came back last are still in the cache.
            guard let index = unsafe state.idle.lastIndex(where: { $0.count == byteCount }) else {
                state.allocatedCount += 1
                return nil
            }
            state.recycledCount += 1
            state.idleBytes -= byteCount
            return unsafe state.idle.remove(at: index)
        }
        if let recycled = unsafe recycled { return unsafe recycled }
        guard byteCount <= largestBlock,
            let base = unsafe SystemMemory.allocate(byteCount: byteCount, alignment: alignment)
        else {
            state.withLock { $0.allocatedCount -= 1 }
            return nil
        }
        return unsafe UnsafeMutableRawBufferPointer(start: base, count: byteCount)
    }

    /// Keeps a block for the next use; if there is no room, the oldest ones are freed, so blocks of a new size replace
    /// the old.
    package func giveBack(_ block: UnsafeMutableRawBufferPointer) {
        unsafe release { state in
            var surplus: [UnsafeMutableRawBufferPointer] = unsafe []
            unsafe state.idle.append(block)
            state.idleBytes += block.count
            while unsafe !state.isOpen || state.idle.count > maximumIdle || state.idleBytes > maximumIdleBytes {
                guard let oldest = unsafe state.idle.first else { break }
                unsafe state.idle.removeFirst()
                state.idleBytes -= oldest.count
                unsafe surplus.append(oldest)
            }
            return unsafe surplus
        }
    }

    /// Frees the idle blocks, and from now on every block that comes back.
    package func close() {
        unsafe release { state in
            state.isOpen = false
            defer { unsafe (state.idle, state.idleBytes) = ([], 0) }
            return unsafe state.idle
        }
    }

    /// Frees the blocks that a closure takes out, once nothing is locked.
    private func release(_ blocks: (inout State) -> [UnsafeMutableRawBufferPointer]) {
        unsafe state.withLock(blocks).forEach { unsafe SystemMemory.release($0.baseAddress, byteCount: $0.count) }
    }

    /// The numbers of blocks allocated from the system, reused, and idle.
    package var counts: (allocated: Int, recycled: Int, idle: Int) {
        state.withLock { unsafe ($0.allocatedCount, $0.recycledCount, $0.idle.count) }
    }
}
