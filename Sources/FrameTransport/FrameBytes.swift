/// The bytes of one message body, in memory that is used again when the last holder lets go.
///
/// A body is read from the socket straight into this memory, and written to it from this memory.
/// It does not change once it has been handed over, so it may be shared between tasks and threads.
///
/// - Note: `@unchecked Sendable` holds because only ``init(capacity:pool:initializingWith:)`` and the
///   receiver that fills a new body write to it, before anybody else can see it.
public final class FrameBytes: @unchecked Sendable {
    /// How many bytes there are.
    public private(set) var count: Int

    private var chunk: BytePool.Chunk
    private let pool: BytePool

    /// Takes memory for a body that is to be filled in place.
    init(capacity: Int, pool: BytePool) {
        count = 0
        chunk = pool.take(capacity)
        self.pool = pool
    }

    deinit {
        pool.giveBack(chunk)
    }

    /// Makes a body by writing it in place, without filling the memory with zeroes first.
    ///
    /// Where the system has not so much memory there is no room at all to write to.
    ///
    /// - Parameters:
    ///   - capacity: The most bytes that `initialize` may append.
    ///   - pool: Where the memory comes from and goes back to.
    ///   - initialize: Appends the bytes.
    /// - Throws: What `initialize` throws.
    public convenience init<Failure: Error>(
        capacity: Int,
        pool: BytePool = .shared,
        initializingWith initialize: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        self.init(capacity: capacity, pool: pool)
        guard self.capacity > 0 else {
            var noRoom = OutputSpan<UInt8>()
            try initialize(&noRoom)
            return
        }
        let memory = unsafe chunk.memory.bindMemory(to: UInt8.self)
        var output = unsafe OutputSpan(buffer: memory, initializedCount: 0)
        try initialize(&output)
        count = unsafe output.finalize(for: memory)
    }

    /// Makes a body by copying `bytes`; an empty one if the system has no memory for them.
    public convenience init(copying bytes: Span<UInt8>, pool: BytePool = .shared) {
        self.init(capacity: bytes.count, pool: pool)
        guard capacity >= bytes.count else { return }
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe chunk.memory.copyMemory(from: bytes)
        }
        count = bytes.count
    }

    /// Calls `body` with the bytes, where they lie.
    public func withBytes<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let memory = unsafe UnsafeRawBufferPointer(rebasing: chunk.memory[..<count])
        return try unsafe body(Span<UInt8>(_unsafeBytes: memory))
    }

    /// The bytes as an array: a copy.
    public func array() -> [UInt8] {
        unsafe Array(chunk.memory[..<count])
    }
}

/// How a receiver fills a body, and a sender reads it, without copies.
extension FrameBytes {
    /// The memory behind what has been filled, at most `limit` bytes.
    func freeRun(limit: Int) -> MemoryRun {
        let end = unsafe min(chunk.memory.count, count + limit)
        return unsafe MemoryRun(rebasing: chunk.memory[count..<end])
    }

    /// Says that the next `added` bytes behind what has been filled were written.
    func advance(by added: Int) {
        count += added
    }

    /// Copies `bytes` behind what has been filled; there is room for them.
    func append(_ bytes: UnsafeRawBufferPointer) {
        unsafe freeRun(limit: bytes.count).copyMemory(from: bytes)
        count += bytes.count
    }

    /// Makes room for `capacity` bytes in all, keeping what has been filled; none if the system has no memory.
    func grow(to capacity: Int) {
        guard capacity > self.capacity else { return }
        let larger = pool.take(capacity)
        guard unsafe larger.memory.count > 0 else { return }
        unsafe larger.memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: chunk.memory[..<count]))
        pool.giveBack(chunk)
        chunk = larger
    }

    var capacity: Int { unsafe chunk.memory.count }

    /// The bytes from `offset` on.
    func run(from offset: Int) -> MemoryRun {
        unsafe MemoryRun(rebasing: chunk.memory[min(offset, count)..<count])
    }
}
