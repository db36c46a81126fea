/// Decides which of the buffers that are shared with a receiver is filled.
///
/// A buffer is the receiver's from the frame in it until its release. The memory belongs to one connection: the next one
/// gets its own.
package struct SharedPool: Sendable {
    /// A buffer to fill.
    package struct Place: Sendable, Hashable {
        /// The buffer's index, by which the receiver knows it.
        package let index: Int
        /// The generation of its memory.
        package let generation: UInt64
        /// Its size in bytes.
        package let byteCount: Int
    }

    private struct Buffer: Sendable {
        var byteCount = 0
        /// Whether the receiver knows its memory.
        var isAnnounced = false
        /// Whether the receiver has it, or is about to get it.
        var isWithReceiver = false
        /// When it was last filled, as a number; 0 before the first time.
        var lastUse: UInt64 = 0
    }

    /// The number of buffers: the receiver can hold one while the next is on its way and another is filled.
    package static let count = 3

    private var buffers = Array(repeating: Buffer(), count: Self.count)
    private var useCount: UInt64 = 0

    /// Whether the receiver accepts frames in shared memory.
    package private(set) var isOpen = false

    /// The generation of the memory, which is released as a whole.
    package private(set) var generation: UInt64 = 0

    /// The first generation of the connection, which may have had other memory before.
    private var firstGeneration: UInt64 = 0

    /// Creates a pool that is not shared.
    package init() {}

    /// Whether a buffer can be filled.
    package var hasFree: Bool { buffers.contains { !$0.isWithReceiver } }

    // MARK: The receiver

    /// Begins a connection, whose receiver has no buffer.
    mutating func connect() {
        close()
        firstGeneration = generation
        for index in buffers.indices { buffers[index].isWithReceiver = false }
    }

    /// Begins to share buffers with the receiver, which may still have some of those that it got before.
    package mutating func open() { isOpen = true }

    /// Ends sharing, and with it the memory.
    package mutating func close() {
        isOpen = false
        generation += 1
        for index in buffers.indices { buffers[index] = Buffer(isWithReceiver: buffers[index].isWithReceiver) }
    }

    /// Handles the receiver's release of a buffer, which has no effect if the receiver does not have the buffer.
    mutating func released(_ index: Int) {
        if buffers.indices.contains(index) { buffers[index].isWithReceiver = false }
    }

    // MARK: Images

    /// Returns the best buffer to fill with an image; nil while the receiver has every one.
    ///
    /// The most recently filled buffer of the right size comes first, because its content is the most similar, and the
    /// most likely to be in the processor's caches still. Otherwise, memory of another size is replaced before more is
    /// created.
    package func place(for byteCount: Int) -> Place? {
        func rank(_ buffer: Buffer) -> (Int, UInt64) {
            buffer.byteCount == byteCount ? (2, buffer.lastUse) : (buffer.byteCount > 0 ? 1 : 0, 0)
        }
        var best: Int?
        for index in buffers.indices where !buffers[index].isWithReceiver {
            if best.map({ rank(buffers[$0]) < rank(buffers[index]) }) ?? true { best = index }
        }
        return best.map { Place(index: $0, generation: generation, byteCount: byteCount) }
    }

    /// Whether a buffer's memory belongs to what is shared now.
    @inline(__always)
    package func isCurrent(_ place: Place) -> Bool { isOpen && place.generation == generation }

    /// Begins to fill a buffer.
    mutating func fill(_ place: Place) {
        if buffers[place.index].byteCount != place.byteCount {
            // New memory, which the receiver does not have.
            buffers[place.index] = Buffer(byteCount: place.byteCount)
        }
        useCount += 1
        buffers[place.index].lastUse = useCount
    }

    /// Whether the receiver has the memory of a buffer already.
    func isAnnounced(_ place: Place) -> Bool { buffers[place.index].isAnnounced }

    /// Handles the submission of an image, which the receiver may have from now on.
    mutating func submitted(_ place: Place) { buffers[place.index].isWithReceiver = true }

    /// Handles the outcome of a submission.
    mutating func settled(_ place: Place, isSent: Bool) {
        guard place.generation >= firstGeneration else { return }
        // A release may have come before this report.
        if !isSent { buffers[place.index].isWithReceiver = false }
        if isSent, isCurrent(place) { buffers[place.index].isAnnounced = true }
    }
}
