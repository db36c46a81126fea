import TestDescriptions
import Testing

@testable import FrameSocket

/// Which shared buffer is filled next.
@Suite(.tags(.computes)) struct SharedPoolTests {
    private var pool = SharedPool()

    /// Three buffers, of which each has been filled, the last one last.
    init() {
        pool.connect()
        pool.open()
        for index in 0..<SharedPool.count { pool.fill(place(index)) }
    }

    private func place(_ index: Int, byteCount: Int = 4_096) -> SharedPool.Place {
        SharedPool.Place(index: index, generation: pool.generation, byteCount: byteCount)
    }

    @Test mutating func `of the free buffers, the one that was filled last is used first`() {
        #expect(pool.place(for: 4_096)?.index == 2)
        pool.submitted(place(2))
        #expect(pool.place(for: 4_096)?.index == 1)
        pool.fill(place(0))
        pool.released(2)
        #expect(pool.place(for: 4_096)?.index == 0)
    }

    @Test mutating func `a buffer of another size is replaced before a new one is made`() {
        pool.close()
        pool.open()
        pool.fill(place(1))
        #expect(pool.place(for: 100)?.index == 1)
    }

    @Test mutating func `there is no buffer while the receiver has each`() {
        for index in 0..<SharedPool.count {
            #expect(pool.hasFree)
            pool.submitted(place(index))
        }
        #expect(!pool.hasFree && pool.place(for: 4_096) == nil)
        // A receiver may name buffers that there are not.
        pool.released(7)
        #expect(!pool.hasFree)
        pool.released(1)
        #expect(pool.place(for: 4_096)?.index == 1)
    }

    @Test mutating func `what is released late says nothing about the memory of the next connection`() {
        let old = place(0)
        pool.submitted(old)
        pool.connect()
        pool.open()
        #expect(!pool.isCurrent(old))
        pool.fill(place(0))
        pool.submitted(place(0))
        pool.settled(old, isSent: false)
        #expect(pool.place(for: 4_096)?.index != 0 && !pool.isAnnounced(place(0)))
        pool.settled(place(0), isSent: true)
        #expect(pool.isAnnounced(place(0)))
    }
}
