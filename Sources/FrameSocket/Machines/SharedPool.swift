/// Decides which of the buffers that are shared with a receiver holds what, and which can be filled.
///
/// A buffer is in use while an image in it is referred to on this side, and while the receiver has it. The buffers belong
/// to one connection: for the next one there are new ones.
package struct SharedPool: Sendable {
    /// A claim to a buffer, as long as this side refers to an image in it.
    package struct Lease: Sendable, Hashable {
        /// The buffer's index, by which the receiver knows it.
        package let index: Int
        /// Distinguishes the leases of one uploader.
        package let number: UInt64
        /// The size of the buffer in bytes.
        package let byteCount: Int
    }

    private struct Buffer: Sendable {
        var byteCount = 0
        var lease: UInt64?
        var isWithReceiver = false
        var isAnnounced = false

        var isFree: Bool { lease == nil && !isWithReceiver }
    }

    /// The buffers; empty if nothing is shared.
    private var buffers: [Buffer] = []
    private var lastLease: UInt64 = 0
    /// The number of the first lease of the connection.
    private(set) var firstLease: UInt64 = 0

    /// Whether the receiver accepts frames in shared memory.
    @inline(__always)
    package var isOpen: Bool { !buffers.isEmpty }

    /// The number of buffers.
    var count: Int { buffers.count }

    /// The bytes of every buffer.
    package var byteCount: Int { buffers.reduce(0) { $0 + $1.byteCount } }

    /// The number of buffers that cannot be filled.
    package var usedCount: Int { buffers.count { !$0.isFree } }

    /// Whether the receiver has any buffer, which it will release.
    var isAnyWithReceiver: Bool { buffers.contains { $0.isWithReceiver } }

    /// Begins to share a number of buffers with a receiver.
    mutating func open(count: Int) {
        firstLease = lastLease + 1
        buffers = Array(repeating: Buffer(), count: count)
    }

    /// Ends sharing: leases become those of ordinary memory.
    mutating func close() {
        firstLease = lastLease + 1
        buffers = []
    }

    /// The index of the best buffer to fill with an image; nil while every one is in use.
    ///
    /// The most recently used one of the right size comes first, for its content is the most similar.
    func freeIndex(for byteCount: Int) -> Int? {
        let free = buffers.indices.filter { buffers[$0].isFree }
        return free.first { buffers[$0].byteCount == byteCount } ?? free.first { buffers[$0].byteCount > 0 }
            ?? free.first
    }

    /// The bytes by which the pool grows if a buffer is filled with an image.
    func growth(of index: Int, for byteCount: Int) -> Int { max(0, byteCount - buffers[index].byteCount) }

    /// Takes a free buffer.
    mutating func lease(_ index: Int, byteCount: Int) -> Lease {
        lastLease += 1
        if buffers[index].byteCount != byteCount {
            // New memory, which the receiver does not have.
            buffers[index] = Buffer(byteCount: byteCount)
        }
        buffers[index].lease = lastLease
        return Lease(index: index, number: lastLease, byteCount: byteCount)
    }

    /// Whether a lease is of the current connection.
    @inline(__always)
    func isCurrent(_ lease: Lease) -> Bool { lease.number >= firstLease && isOpen }

    /// Whether the image of a lease can be sent in its buffer: the receiver does not have it.
    func canSend(_ lease: Lease) -> Bool { isCurrent(lease) && !buffers[lease.index].isWithReceiver }

    /// Whether the receiver has the memory of a lease already.
    func isAnnounced(_ lease: Lease) -> Bool { buffers[lease.index].isAnnounced }

    /// Handles the last reference to an image.
    mutating func ended(_ lease: Lease) {
        guard isCurrent(lease), buffers[lease.index].lease == lease.number else { return }
        buffers[lease.index].lease = nil
    }

    /// Handles the submission of an image, which the receiver may have from now on.
    mutating func submitted(_ lease: Lease) {
        buffers[lease.index].isWithReceiver = true
    }

    /// Handles the outcome of a submission.
    mutating func settled(_ lease: Lease, isSent: Bool) {
        guard isCurrent(lease) else { return }
        // A release may have come before this report.
        if isSent { buffers[lease.index].isAnnounced = true } else { buffers[lease.index].isWithReceiver = false }
    }

    /// Handles the receiver's release of a buffer, which has no effect if it does not have it.
    mutating func released(_ index: Int) {
        if buffers.indices.contains(index) { buffers[index].isWithReceiver = false }
    }

    /// Forgets the memory of a lease that could not be created.
    mutating func failed(_ lease: Lease) {
        guard isCurrent(lease) else { return }
        buffers[lease.index] = Buffer()
    }
}
