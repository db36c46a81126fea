internal import Locking
internal import SystemMemory

/// A block of memory allocated by this module.
@unsafe struct MemoryBlock {
    let base: UnsafeMutableRawPointer
    let byteCount: Int
}

/// Holds the memory of a pool's images between two uses.
///
/// Images keep the shelf alive, not the pool, so the last of them can be released after the pool. The shelf is then
/// closed, and frees the blocks that come back.
///
/// Sendable: the mutable state is behind the lock.
@safe final class BlockShelf: @unchecked Sendable {
    @safe private struct State {
        var idle: [MemoryBlock] = unsafe []
        var idleBytes = 0
        var isOpen = true
        var allocatedCount = 0
        var recycledCount = 0
    }

    private let state = Locked(State())
    private let maximumIdle: Int
    private let maximumIdleBytes: Int

    init(maximumIdle: Int, maximumIdleBytes: Int = .max) {
        self.maximumIdle = max(0, maximumIdle)
        self.maximumIdleBytes = maximumIdleBytes
    }

    deinit {
        close()
    }

    /// Returns a block of exactly this size, reused if there is one; nil if the system has no memory.
    @unsafe func take(byteCount: Int) -> MemoryBlock? {
        let recycled: MemoryBlock? = unsafe state.withLock { state in
            // The bytes of the block that came back last are still in the cache.
            guard let index = unsafe state.idle.lastIndex(where: { unsafe $0.byteCount == byteCount }) else {
                state.allocatedCount += 1
                return nil
            }
            state.recycledCount += 1
            state.idleBytes -= byteCount
            return unsafe state.idle.remove(at: index)
        }
        if let recycled = unsafe recycled { return unsafe recycled }
        guard let base = unsafe SystemMemory.allocate(byteCount: byteCount, alignment: PixelLayout.alignment) else {
            state.withLock { $0.allocatedCount -= 1 }
            return nil
        }
        return unsafe MemoryBlock(base: base, byteCount: byteCount)
    }

    /// Keeps a block for the next use; if there is no room, the oldest ones are freed, so blocks of a new size replace
    /// the old.
    func giveBack(_ block: MemoryBlock) {
        let surplus: [MemoryBlock] = unsafe state.withLock { state in
            var surplus: [MemoryBlock] = unsafe []
            unsafe state.idle.append(block)
            unsafe state.idleBytes += block.byteCount
            while unsafe !state.isOpen || state.idle.count > maximumIdle || state.idleBytes > maximumIdleBytes {
                guard let oldest = unsafe state.idle.first else { break }
                unsafe state.idle.removeFirst()
                unsafe state.idleBytes -= oldest.byteCount
                unsafe surplus.append(oldest)
            }
            return unsafe surplus
        }
        unsafe surplus.forEach { unsafe SystemMemory.release($0.base, byteCount: $0.byteCount) }
    }

    /// Frees the idle blocks, and from now on every block that comes back.
    func close() {
        let blocks: [MemoryBlock] = unsafe state.withLock { state in
            state.isOpen = false
            defer { unsafe (state.idle, state.idleBytes) = ([], 0) }
            return unsafe state.idle
        }
        unsafe blocks.forEach { unsafe SystemMemory.release($0.base, byteCount: $0.byteCount) }
    }

    /// The numbers of blocks allocated from the system, reused, and idle.
    var counts: (allocated: Int, recycled: Int, idle: Int) {
        state.withLock { unsafe ($0.allocatedCount, $0.recycledCount, $0.idle.count) }
    }
}
