internal import Locking

/// A block of memory of our own.
@unsafe struct MemoryBlock {
    let base: UnsafeMutableRawPointer
    let byteCount: Int
}

/// Where the memory of a pool's pictures waits between two uses.
///
/// The pictures keep the shelf alive and not the pool, so that the last of them can be released after the pool: the shelf
/// is closed then, and frees what comes back.
///
/// Sendable: the lock guards every stored variable.
@safe final class BlockShelf: @unchecked Sendable {
    private let lock = Locked(())
    private let maximumIdle: Int
    private var idle: [MemoryBlock] = unsafe []
    private var isOpen = true
    private var allocatedCount = 0
    private var recycledCount = 0

    init(maximumIdle: Int) {
        self.maximumIdle = max(0, maximumIdle)
    }

    deinit {
        unsafe idle.forEach { unsafe freeMemory($0.base, byteCount: $0.byteCount) }
    }

    /// A block of just this size, recycled where there is one, or nil where the system has no memory.
    @unsafe func take(byteCount: Int) -> MemoryBlock? {
        let recycled: MemoryBlock? = unsafe lock.withLock { _ in
            // The one that came last is the one whose bytes are still in the cache.
            guard let index = unsafe idle.lastIndex(where: { unsafe $0.byteCount == byteCount }) else {
                allocatedCount += 1
                return nil
            }
            recycledCount += 1
            return unsafe idle.remove(at: index)
        }
        if let recycled = unsafe recycled { return unsafe recycled }
        guard let base = unsafe allocateMemory(byteCount: byteCount, alignment: PixelLayout.alignment) else {
            lock.withLock { _ in allocatedCount -= 1 }
            return nil
        }
        return unsafe MemoryBlock(base: base, byteCount: byteCount)
    }

    /// Keeps a block for the next use; where there is no place, the oldest one goes, so that a new size drives out the old.
    func giveBack(_ block: MemoryBlock) {
        let surplus: MemoryBlock? = unsafe lock.withLock { _ in
            guard isOpen, maximumIdle > 0 else { return unsafe block }
            unsafe idle.append(block)
            return unsafe idle.count > maximumIdle ? idle.removeFirst() : nil
        }
        if let surplus = unsafe surplus { unsafe freeMemory(surplus.base, byteCount: surplus.byteCount) }
    }

    /// Frees what waits, and from now on what comes back.
    func close() {
        let blocks: [MemoryBlock] = unsafe lock.withLock { _ in
            isOpen = false
            let blocks = unsafe idle
            unsafe idle = []
            return unsafe blocks
        }
        unsafe blocks.forEach { unsafe freeMemory($0.base, byteCount: $0.byteCount) }
    }

    /// How many blocks came from the system and from here, and how many wait.
    var counts: (allocated: Int, recycled: Int, idle: Int) {
        lock.withLock { _ in unsafe (allocatedCount, recycledCount, idle.count) }
    }
}
