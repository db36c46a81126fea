import TestDescriptions
import Testing

@testable import FrameSocket

/// Which shared buffer is filled next.
@Suite(.tags(.computes)) struct SharedPoolTests {
    private var pool = SharedPool(owner: 1)

    /// Three buffers, of which each has been filled, the last one last.
    init() {
        pool.connect()
        pool.open(count: 3)
        let leases = (0..<3).map { pool.lease($0, byteCount: 4_096) }
        for lease in leases { pool.ended(lease) }
    }

    @Test mutating func `of the free buffers, the one that was filled last is used first`() {
        #expect(pool.freeIndex(for: 4_096) == 2)
        let last = pool.lease(2, byteCount: 4_096)
        #expect(pool.freeIndex(for: 4_096) == 1)
        let other = pool.lease(0, byteCount: 4_096)
        pool.ended(last)
        pool.ended(other)
        #expect(pool.freeIndex(for: 4_096) == 0)
    }

    @Test mutating func `a buffer of another size is replaced before a new one is made`() {
        pool.open(count: 3)
        pool.ended(pool.lease(1, byteCount: 4_096))
        #expect(pool.freeIndex(for: 100) == 1 && pool.growth(of: 1, for: 100) == 0)
    }

    @Test mutating func `there is no buffer while each is lent or with the receiver`() {
        pool.submitted(pool.lease(0, byteCount: 4_096))
        _ = pool.lease(1, byteCount: 4_096)
        #expect(pool.hasFree)
        _ = pool.lease(2, byteCount: 4_096)
        #expect(!pool.hasFree && pool.freeIndex(for: 4_096) == nil && pool.usedCount == 3)
    }
}
