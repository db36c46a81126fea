internal import SystemMemory

/// The bytes of one message body, in memory that returns to its pool with the last reference.
///
/// A body is read from the socket directly into this memory, and written to the socket directly from it. It is
/// immutable once initialized, so tasks and threads may share it.
///
/// - Note: `@unchecked Sendable` holds because only `init(capacity:pool:initializingWith:)` and the receiver that
///   fills a new body write to it, before anything else can access it.
public final class FrameBytes: @unchecked Sendable {
    /// The number of bytes.
    public var count: Int { unsafe filled }

    // A receiver alone changes them, and a check of that at each use took 800 instructions a frame.
    @exclusivity(unchecked) private var filled = 0
    @exclusivity(unchecked) private var chunk: Pool.Chunk
    private let pool: Pool

    /// Allocates memory for a body to be filled in place.
    init(capacity: Int, pool: Pool) {
        unsafe chunk = pool.take(capacity)
        self.pool = pool
    }

    /// A body of no bytes.
    static let none = FrameBytes(capacity: 0, pool: Pool(maximumIdleBytes: 0))

    deinit {
        unsafe pool.giveBack(chunk)
    }

    /// Creates a body by writing it in place, without zeroing the memory first.
    ///
    /// If the system does not have enough memory, the output span has no capacity.
    ///
    /// - Parameters:
    ///   - capacity: The number of bytes for which `initialize` finds room; there may be more.
    ///   - initialize: A closure that appends the bytes.
    /// - Throws: The error that `initialize` throws.
    public convenience init<Failure: Error>(
        capacity: Int,
        initializingWith initialize: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        try self.init(capacity: capacity, pool: .shared, initializingWith: initialize)
    }

    /// The same, in memory of a pool.
    package convenience init<Failure: Error>(
        capacity: Int,
        pool: Pool,
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
        unsafe filled = output.finalize(for: memory)
    }

    /// Creates a body by copying `bytes`, such as those of an encoder; an empty one if the system has no memory for them.
    public convenience init(_ bytes: [UInt8]) {
        // An array itself has a span only since iOS 26 and macOS 26.
        let bytes = bytes[...]
        self.init(copying: bytes.span)
    }

    /// The same for a span, in memory of a pool.
    package convenience init(copying bytes: Span<UInt8>, pool: Pool = .shared) {
        self.init(capacity: bytes.count, pool: pool)
        guard capacity >= bytes.count else { return }
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe chunk.memory.copyMemory(from: bytes)
        }
        unsafe filled = bytes.count
    }

    /// Calls a closure with the bytes in place.
    public func withSpan<Result: ~Copyable, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let memory = unsafe UnsafeRawBufferPointer(rebasing: chunk.memory[..<count])
        return try unsafe body(Span<UInt8>(_unsafeBytes: memory))
    }

    /// Returns a copy of the bytes as an array.
    public func array() -> [UInt8] {
        unsafe Array(chunk.memory[..<count])
    }
}

/// Filling by a receiver and reading by a sender, without copies.
extension FrameBytes {
    /// Returns the memory after the filled bytes, at most `limit` bytes.
    func freeRun(limit: Int) -> MemoryRun {
        let end = unsafe min(chunk.memory.count, count + limit)
        return unsafe MemoryRun(rebasing: chunk.memory[count..<end])
    }

    /// Counts the next `added` bytes as filled.
    func advance(by added: Int) {
        unsafe filled += added
    }

    /// Appends a copy of `bytes`, for which there is room.
    func append(_ bytes: UnsafeRawBufferPointer) {
        unsafe freeRun(limit: bytes.count).copyMemory(from: bytes)
        unsafe filled += bytes.count
    }

    /// Grows to a total of `capacity` bytes, keeping the filled ones; to none if the system has no memory.
    func grow(to capacity: Int) {
        guard capacity > self.capacity else { return }
        let larger = pool.take(capacity)
        guard unsafe larger.memory.count > 0 else { return }
        unsafe larger.memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: chunk.memory[..<count]))
        unsafe pool.giveBack(chunk)
        unsafe chunk = larger
    }

    var capacity: Int { unsafe chunk.memory.count }

    /// Returns the bytes from `offset` on.
    func run(from offset: Int) -> MemoryRun {
        unsafe MemoryRun(rebasing: chunk.memory[min(offset, count)..<count])
    }
}

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
            return unsafe Chunk(memory: block)
        }

        func giveBack(_ chunk: Chunk) {
            let memory = unsafe chunk.memory
            guard memory.count > 0 else { return }
            if memory.count > maximumIdleBytes / 4 {
                unsafe SystemMemory.release(memory.baseAddress, byteCount: memory.count)
            } else {
                unsafe shelf.giveBack(memory)
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
