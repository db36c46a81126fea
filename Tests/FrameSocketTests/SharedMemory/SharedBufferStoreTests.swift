import FrameTransport
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// The memory of shared buffers, claimed late.
@Suite(.enabled(if: SharedMemory.isSupported)) struct SharedBufferStoreTests {
    private let store = SharedBufferStore()

    private func claim(_ lease: SharedPool.Lease, isNew: Bool) throws -> SharedClaim {
        try store.claim(lease, isNew: isNew) { _ in }
    }

    /// Shows P277.
    @Test func `memory for a lease of an ended connection is not kept`() throws {
        var pool = SharedPool(owner: 1)
        pool.open(count: 1)
        let lease = pool.lease(0, byteCount: 4_096)
        pool.close()
        store.removeAll(before: pool.firstLease)
        weak let memory = try claim(lease, isNew: true).memory
        #expect(memory == nil)
    }

    /// Shows P277.
    @Test func `a job of an ended connection does not replace the memory of the next one`() throws {
        var pool = SharedPool(owner: 1)
        pool.open(count: 1)
        let old = pool.lease(0, byteCount: 4_096)
        pool.close()
        store.removeAll(before: pool.firstLease)
        pool.open(count: 1)
        let first = pool.lease(0, byteCount: 4_096)
        let memory = try claim(first, isNew: true).memory
        var late: SharedClaim? = try claim(old, isNew: true)
        #expect(late?.memory !== memory)
        let image = try testImage(32, 32, as: .gray)
        if let late { _ = try store.fill(late, with: image) }
        late = nil
        pool.ended(first)
        let next = pool.lease(0, byteCount: 4_096)
        let claim = try claim(next, isNew: false)
        #expect(claim.memory === memory, "the receiver has other memory")
        let filled = try store.fill(claim, with: image)
        #expect(filled.pixels.hasSamePixels(as: image))
    }

    @Test func `releasing the memory of an ended connection late spares that of the next one`() throws {
        var pool = SharedPool(owner: 1)
        pool.open(count: 1)
        _ = pool.lease(0, byteCount: 4_096)
        pool.close()
        let ended = pool.firstLease
        pool.open(count: 1)
        let first = pool.lease(0, byteCount: 4_096)
        let memory = try claim(first, isNew: true).memory
        store.removeAll(before: ended)
        pool.ended(first)
        #expect(try claim(pool.lease(0, byteCount: 4_096), isNew: false).memory === memory)
    }
}
