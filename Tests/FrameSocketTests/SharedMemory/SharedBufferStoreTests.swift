import FrameTransport
import TestSupport
import Testing

@testable import FrameSocket
@testable import TurboJPEG

/// The memory of shared buffers, needed late.
@Suite(.enabled(if: SharedMemory.isSupported)) struct SharedBufferStoreTests {
    private let store = SharedBufferStore()

    private func place(_ generation: UInt64) -> Sharing.Place {
        Sharing.Place(index: 0, generation: generation, byteCount: 4_096)
    }

    /// Shows P277.
    @Test func `memory for a buffer of an ended connection is not kept`() throws {
        store.removeAll(before: 2)
        weak let memory = try store.memory(of: place(1))
        #expect(memory == nil)
    }

    /// Shows P277.
    @Test func `a job of an ended connection does not replace the memory of the next one`() throws {
        store.removeAll(before: 2)
        let memory = try store.memory(of: place(2))
        var late: SharedMemory? = try store.memory(of: place(1))
        #expect(late !== memory)
        let image = try testImage(32, 32, as: .gray)
        if let late { _ = try store.copy(image, .up, to: place(1), in: late) }
        late = nil
        #expect(try store.memory(of: place(2)) === memory, "the receiver has other memory")
        #expect(try store.copy(image, .up, to: place(2), in: memory).pixels.hasSamePixels(as: image))
    }

    @Test func `releasing the memory of an ended connection late spares that of the next one`() throws {
        let memory = try store.memory(of: place(2))
        store.removeAll(before: 2)
        #expect(try store.memory(of: place(2)) === memory)
    }

    /// The last row of chroma belongs to one row alone.
    ///
    /// Shows P117, P351.
    @Test func `of an image copied over the one before, changed rows are stated, and damaged ones compared`()
        throws
    {
        var image = try testImage(64, 47, as: .nv12)
        let place = Sharing.Place(index: 0, generation: 1, byteCount: 8_192)
        let memory = try store.memory(of: place)
        func copy(_ damage: RowSet? = nil) throws -> SharedCopy {
            try store.copy(image, .up, to: place, in: memory, damage)
        }
        #expect(try copy().changedRows == nil)
        for (row, plane, rows) in [(5, 0, 5..<6), (11, 1, 22..<24), (23, 1, 46..<47)] {
            try image.withMutableRow(row, ofPlane: plane) { $0[3] ^= 1 }
            let copy = try copy()
            #expect(copy.changedRows == rows && copy.pixels.hasSamePixels(as: image))
        }
        try image.withMutableRow(7) { $0[3] ^= 1 }
        let old = try copy(RowSet(height: 47))
        #expect(old.changedRows == 0..<0 && !old.pixels.hasSamePixels(as: image))
        #expect(try copy(RowSet(allOf: 47)).changedRows == 7..<8)
        #expect(try copy().pixels.hasSamePixels(as: image))
    }
}
