internal import Locking

/// Memory for message bodies, recycled: a page of new memory costs more than filling an old one.
///
/// Chunks come in sizes of powers of two, from 4 KiB up; what is larger than a quarter of the pool's
/// limit is not kept. Idle chunks are bounded by their bytes, and the last one used is the first one
/// used again, so that many quiet connections share what one busy connection needs.
public final class BytePool: Sendable {
    /// The pool that is used if none is named.
    ///
    /// It keeps at most 64 MiB of idle memory.
    public static let shared = BytePool(maximumIdleBytes: 64 << 20)

    /// - Note: `@unchecked Sendable` holds because a chunk has one owner at a time: the pool, or one body.
    @safe struct Chunk: @unchecked Sendable {
        let memory: MemoryRun
    }

    private struct State {
        var idle: [Chunk] = []
        var idleBytes = 0
        var allocations = 0
    }

    private static let smallest = 4 << 10

    private let maximumIdleBytes: Int
    private let state = Locked(State())

    /// Makes a pool that keeps at most `maximumIdleBytes` bytes for later.
    public init(maximumIdleBytes: Int) {
        self.maximumIdleBytes = maximumIdleBytes
    }

    deinit {
        state.withLock { state in
            for chunk in state.idle { unsafe Syscalls.release(chunk.memory) }
        }
    }

    /// How many times memory was asked of the system.
    package var allocations: Int { state.withLock { $0.allocations } }

    /// Takes memory for at least `capacity` bytes; an empty chunk if the system has none.
    func take(_ capacity: Int) -> Chunk {
        guard let size = Self.chunkSize(for: capacity) else { return unsafe Chunk(memory: Self.nothing) }
        let idle = state.withLock { state -> Chunk? in
            guard let index = state.idle.lastIndex(where: { unsafe $0.memory.count == size }) else {
                state.allocations += 1
                return nil
            }
            state.idleBytes -= size
            return state.idle.remove(at: index)
        }
        if let idle { return idle }
        return unsafe Chunk(memory: Syscalls.allocate(byteCount: size) ?? Self.nothing)
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
        if !isKept { unsafe Syscalls.release(chunk.memory) }
    }

    private static var nothing: MemoryRun { unsafe MemoryRun(start: nil, count: 0) }

    /// The size of a chunk for so many bytes; nil if no system could give it.
    private static func chunkSize(for capacity: Int) -> Int? {
        guard capacity <= 1 << 40 else { return nil }
        var size = smallest
        while size < capacity { size *= 2 }
        return size
    }
}
