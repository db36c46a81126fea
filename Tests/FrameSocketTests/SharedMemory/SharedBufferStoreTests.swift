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

    /// Shows P117.
    @Test func `an image that is copied over the one before differs from that in the rows that changed`() throws {
        var image = try testImage(32, 32, as: .gray)
        let memory = try store.memory(of: place(1))
        #expect(try store.copy(image, .up, to: place(1), in: memory).changedRows == nil)
        try image.withMutableRow(5) { $0[3] ^= 1 }
        let copy = try store.copy(image, .up, to: place(1), in: memory)
        #expect(copy.changedRows == 5..<6 && copy.pixels.hasSamePixels(as: image))
    }
}
